// Tensors that come together from their owners, and go out to them.
#include "headlight/train/shared_state.h"

#include <algorithm>
#include <array>

namespace headlight::train {
namespace {

using optim::Optimizer;
using tensor::DType;
using tensor::Tensor;

Tensor gathered(Trainer& trainer, const Optimizer::Kept& kept) {
  ranks::Group& group = trainer.group();
  Tensor mine = kept.numbers->value().data();
  if (group.is_alone() || !kept.first) return mine;
  Tensor whole;
  if (group.is_first()) {
    whole = Tensor::uninitialized(DType::f32, kept.shape);
    std::copy_n(mine.data<float>(), mine.elements(),
                whole.mutable_data<float>() + kept.within.first);
  }
  for (int other = 1; other < group.count(); ++other) {
    const ranks::Range share = trainer.shares().of(other);
    const optim::Part part =
        optim::part_within({share.first, share.end}, *kept.first, kept.shape.elements());
    float* numbers =
        group.is_first() ? whole.mutable_data<float>() + part.first : mine.mutable_data<float>();
    group.pass(other, 0, {numbers, static_cast<size_t>(part.end - part.first)});
  }
  return whole;
}

}  // namespace

std::vector<io::PromisedTensor> promised_state(Trainer& trainer) {
  std::vector<io::PromisedTensor> tensors;
  for (const Optimizer::Kept& kept : trainer.optimizer().kept()) {
    tensors.push_back({.name = kept.name, .shape = kept.shape, .load = [&trainer, &kept] {
                         return gathered(trainer, kept);
                       }});
  }
  std::ranges::sort(tensors, {}, &io::PromisedTensor::name);
  return tensors;
}

void share_state(Trainer& trainer, const nn::StoredState& optimizer_state) {
  ranks::Group& group = trainer.group();
  if (group.is_alone()) {
    trainer.optimizer().load_state(optimizer_state);
    return;
  }
  for (const nn::ParameterHandle& parameter : trainer.model().parameters()) {
    Tensor numbers = parameter->change();
    group.from_first({numbers.mutable_data<float>(), static_cast<size_t>(numbers.elements())});
  }
  nn::StoredState state;
  if (group.is_first()) {
    state = optimizer_state;
    for (auto& [name, stored] : state) {
      stored.load = [&group, read = stored.load] {
        Tensor numbers = tensor::to_float32(read());
        group.from_first({numbers.mutable_data<float>(), static_cast<size_t>(numbers.elements())});
        return numbers;
      };
    }
  } else {
    for (const Optimizer::Kept& kept : trainer.optimizer().kept()) {
      state[kept.name] = {DType::f32, kept.shape, [&group, shape = kept.shape] {
                            Tensor numbers = Tensor::uninitialized(DType::f32, shape);
                            group.from_first({numbers.mutable_data<float>(),
                                              static_cast<size_t>(numbers.elements())});
                            return numbers;
                          }};
    }
  }
  trainer.optimizer().load_state(state);
}

std::optional<Progress> shared_progress(ranks::Group& group, const std::optional<Progress>& mine) {
  if (group.is_alone()) return mine;
  const Progress p = mine.value_or(Progress{});
  const std::array<double, 7> numbers = {mine ? 1.0 : 0.0,
                                         static_cast<double>(p.step),
                                         static_cast<double>(p.evaluated_step),
                                         p.valid_loss,
                                         p.best_loss,
                                         static_cast<double>(p.best_step),
                                         static_cast<double>(p.evaluations_since_best)};
  const std::vector<double> all = group.gather(numbers);
  if (all[0] == 0) return std::nullopt;
  return Progress{.step = static_cast<int64_t>(all[1]),
                  .evaluated_step = static_cast<int64_t>(all[2]),
                  .valid_loss = all[3],
                  .best_loss = all[4],
                  .best_step = static_cast<int64_t>(all[5]),
                  .evaluations_since_best = static_cast<int64_t>(all[6])};
}

}  // namespace headlight::train
