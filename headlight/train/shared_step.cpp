// What the ranks of a group do together in a step: gradients are added and shared out, each rank
// changes its part of the weights, and everybody gets them.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "headlight/train/trainer.h"

namespace headlight::train {
namespace {

// Which parameters have a gradient on any rank.
std::vector<bool> have_gradients(ranks::Group& group, const nn::Parameters& parameters) {
  std::string flags;
  for (const nn::ParameterHandle& parameter : parameters)
    flags += parameter->grad().defined() ? '1' : '0';
  std::vector<bool> any(parameters.size());
  for (const std::string& each : group.gather(flags)) {
    for (size_t i = 0; i < any.size(); ++i) any[i] = any[i] || each[i] == '1';
  }
  return any;
}

}  // namespace

// Afterwards each rank's part of the gradients is that of all shards.
void Trainer::share_gradients(const ShardedStep& step) {
  autograd::Context context{.threads = threads_, .arena = arena_};
  const std::vector<bool> wanted = have_gradients(group_, parameters_);
  ranks::Scattered gradients;
  std::vector<tensor::Tensor> held;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    // Numbers without a gradient anywhere are sent too, as zeros that nobody reads.
    tensor::Tensor tensor =
        wanted[i] ? parameters_[i]->value().gradient()->sum(context)
                  : tensor::Tensor::zeros(arena_, tensor::DType::f32, parameters_[i]->shape());
    gradients.add({tensor.mutable_data<float>(), static_cast<size_t>(tensor.elements())});
    held.push_back(std::move(tensor));
  }
  const int64_t each = options_.shards / group_.count();
  ranks::reduce_scatter(
      group_, shares_, gradients, adding_numbers({threads_, arena_}),
      [&](int first, int count) { return step.is_empty(first * each, count * each); });
}

// Returns the norm of all gradients; when that is not finite, nothing is changed.
double Trainer::change_weights(double learning_rate) {
  const kernels::Execution execution{threads_, arena_};
  if (group_.is_alone()) return optimizer_.step(execution, learning_rate);
  const std::vector<double> sums = shared_square_sums();
  const double norm = kernels::norm_of(sums);
  if (!std::isfinite(norm)) return norm;
  optimizer_.change(execution, learning_rate, norm);
  ranks::Scattered weights;
  for (const nn::ParameterHandle& parameter : parameters_) {
    tensor::Tensor numbers = parameter->change();
    weights.add({numbers.mutable_data<float>(), static_cast<size_t>(numbers.elements())});
  }
  ranks::all_gather(group_, shares_, weights);
  return norm;
}

// Of all ranks' gradients, block by block in the order of the weights.
std::vector<double> Trainer::shared_square_sums() {
  std::vector<double> mine = optimizer_.square_sums({threads_, arena_});
  const auto own = static_cast<double>(mine.size());
  const std::vector<double> counts = group_.gather(std::span(&own, 1));
  const auto longest = static_cast<size_t>(*std::ranges::max_element(counts));
  mine.resize(longest);
  const std::vector<double> all = group_.gather(mine);
  // Ranks in the order of their parts.
  std::vector<size_t> order(counts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t rank) {
    const ranks::Range part = shares_.of(static_cast<int>(rank));
    return std::pair(part.first, part.end);
  });
  std::vector<double> sums;
  for (const size_t rank : order) {
    const auto first = all.begin() + static_cast<int64_t>(rank * longest);
    sums.insert(sums.end(), first, first + static_cast<int64_t>(counts[rank]));
  }
  return sums;
}

}  // namespace headlight::train
