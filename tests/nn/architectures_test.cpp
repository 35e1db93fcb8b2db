// Five architectures that the project does not know, made of the block alone, whole and without
// some of their heads: they run, learn, decode and are explained without a line of code for them
// anywhere but in tests.
#include <cmath>

#include "headlight/explain/explain.h"
#include "tests/nn/block_model.h"
#include "tests/nn/plain_block.h"

namespace headlight::nn {
namespace {

// Key/value heads with one reader and with two, a layer without heads.
Design grouped_and_pruned() {
  return with_left(rotary_and_grouped(), {{"decoder.0.self", {1, 2, 3}}});
}
Design grouped_without_a_layer() {
  return with_left(rotary_and_grouped(), {{"decoder.0.self", {}}, {"decoder.1.self", {1, 3}}});
}
Design parallel_and_pruned() {
  return with_left(parallel_and_partial(), {{"decoder.0.self", {2}}, {"decoder.1.self", {}}});
}
Design with_slopes_and_pruned() {
  return with_left(with_slopes(), {{"decoder.0.self", {0, 2, 3}}, {"decoder.1.self", {1}}});
}
Design with_buckets_and_pruned() {
  return with_left(with_buckets(), {{"encoder.0.self", {}},
                                    {"encoder.1.self", {3}},
                                    {"decoder.0.self", {0, 3}},
                                    {"decoder.0.cross", {}},
                                    {"decoder.1.cross", {1, 2}}});
}
Design with_windows_and_pruned() {
  return with_left(with_windows(), {{"decoder.0.self", {0, 3}}, {"decoder.1.self", {2}}});
}

// The loss once more, in doubles.
class PlainModel {
 public:
  PlainModel(const Design& design, PlainState state) : design_(design), state_(std::move(state)) {}

  double loss(const Batch& batch) const {
    Matrix memory;
    if (!design_.encoder.empty()) {
      memory = stack("encoder", design_.encoder, rows_of(batch.source_ids), {});
    }
    const Matrix x = stack("decoder", design_.decoder, rows_of(batch.ids), memory);
    const std::vector<double>& head = state_.at("head");
    double sum = 0;
    for (int64_t t = 0; t < x.rows; ++t) {
      double largest = -1e300;
      std::vector<double> logits;
      for (int64_t v = 0; v < kVocabulary; ++v) {
        double logit = 0;
        for (int64_t c = 0; c < kWidth; ++c) {
          logit += x.at(t, c) * head[static_cast<size_t>(v * kWidth + c)];
        }
        logits.push_back(logit);
        largest = std::max(largest, logit);
      }
      double total = 0;
      for (const double logit : logits) total += std::exp(logit - largest);
      const auto target = static_cast<size_t>(batch.targets.data<int64_t>()[t]);
      sum += std::log(total) + largest - logits[target];
    }
    return sum / static_cast<double>(x.rows);
  }
  PlainState& state() { return state_; }

 private:
  Matrix rows_of(const tensor::Tensor& ids) const {
    Matrix x(ids.size(1), kWidth);
    const std::vector<double>& words = state_.at("words.weight");
    for (int64_t t = 0; t < x.rows; ++t) {
      for (int64_t c = 0; c < kWidth; ++c) {
        x.at(t, c) = words[static_cast<size_t>(ids.data<int64_t>()[t] * kWidth + c)];
      }
    }
    return x;
  }

  Matrix stack(const std::string& place, const std::vector<TransformerBlockOptions>& layers,
               Matrix x, const Matrix& memory) const {
    for (const TransformerBlockOptions& layer : layers) {
      x = plain_block(layer, state_, x, layer.cross_attention ? memory : Matrix());
    }
    const TransformerBlockOptions& last = design_.decoder.back();
    return plain_norm(last, state_, place + ".final", x);
  }

  const Design& design_;
  PlainState state_;
};

class Architectures : public testing::TestWithParam<Design (*)()> {
 protected:
  Architectures() : model_(GetParam()()) {
    fill_in(model_.parameters(), 5);
    batch_.ids = drawn_ids(7, 1);
    batch_.targets = drawn_ids(7, 2);
    if (!model_.design().encoder.empty()) batch_.source_ids = drawn_ids(6, 3);
  }

  // Whether the loss depends on it: attention without heads has no numbers, and nothing reads what
  // is normalised for it alone.
  bool is_used(const Parameter& parameter) const {
    if (parameter.shape().elements() == 0) return false;
    for (const MultiHeadAttention* attention : models::attentions_of(model_)) {
      const bool is_its_norm = parameter.name().starts_with(attention->options().place + "_norm");
      if (attention->heads().count() == 0 && is_its_norm) return false;
    }
    return true;
  }

  base::ThreadPool threads_{2};
  tensor::Arena arena_;
  BlockModel model_;
  Batch batch_;
};

TEST_P(Architectures, have_the_loss_and_the_gradients_of_the_formulas_in_doubles) {
  autograd::Tape tape;
  Context context{.threads = threads_, .arena = arena_, .tape = &tape};
  const Value loss = model_.loss(context, batch_);
  tape.backward(context, loss);
  PlainModel plain(model_.design(), plain_state(model_.parameters()));
  EXPECT_NEAR(loss.item(), plain.loss(batch_), 1e-5);
  double largest = 0;
  for (const ParameterHandle& parameter : model_.parameters()) {
    if (!is_used(*parameter)) continue;
    ASSERT_TRUE(parameter->grad().defined()) << parameter->name();
    const tensor::Tensor gradient = parameter->grad().contiguous();
    for (int64_t i = 0; i < gradient.elements(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(gradient.data<float>()[i])));
    }
  }
  const base::Random random(9);
  uint64_t draw = 0;
  for (const ParameterHandle& parameter : model_.parameters()) {
    if (!is_used(*parameter)) continue;
    const tensor::Tensor gradient = parameter->grad().contiguous();
    std::vector<double>& numbers = plain.state().at(parameter->name());
    for (int trial = 0; trial < 4; ++trial) {
      const auto at = static_cast<size_t>(random.below(draw++, numbers.size()));
      const double kept = numbers[at];
      constexpr double kStep = 1e-5;
      numbers[at] = kept + kStep;
      const double above = plain.loss(batch_);
      numbers[at] = kept - kStep;
      const double below = plain.loss(batch_);
      numbers[at] = kept;
      EXPECT_NEAR(gradient.data<float>()[at], (above - below) / (2 * kStep), 1e-4 * largest)
          << parameter->name() << " " << at;
    }
  }
}

TEST_P(Architectures, decode_with_a_cache_to_the_bits_of_a_whole_run) {
  Context context{.threads = threads_, .arena = arena_};
  models::Decoding decoding = model_.start(context, batch_);
  for (int64_t t = 0; t < 7; ++t) {
    const tensor::Tensor cached = decoding.read(context, batch_.ids.slice(1, t, 1).contiguous());
    Batch so_far = batch_;
    so_far.ids = batch_.ids.slice(1, 0, t + 1).contiguous();
    EXPECT_TRUE(same_bits(cached, model_.next_logits(context, so_far))) << "after " << t;
  }
}

TEST_P(Architectures, are_explained_cell_by_cell) {
  const explain::Trace trace =
      explain::trace_model(threads_, model_, explain::Input{.batch = batch_});
  size_t count = 0;
  for (const explain::TracedTensor& tensor : trace.tensors()) {
    const tensor::Tensor values = trace.values(tensor.name);
    ASSERT_EQ(values.shape(), tensor.shape) << tensor.name;
    // Nothing but ids and constants is simply given.
    if (tensor.operation == explain::kGiven) {
      EXPECT_TRUE(tensor.name.ends_with(".ids") || tensor.name.ends_with(".rates") ||
                  tensor.name.ends_with(".slopes") || tensor.name.ends_with(".buckets") ||
                  tensor.name.ends_with(".kv_head_of") || tensor.name.ends_with(".taken"))
          << tensor.name;
    }
    for (int64_t i = 0; i < tensor.shape.elements(); ++i) {
      std::vector<int64_t> index(static_cast<size_t>(tensor.shape.rank()));
      int64_t rest = i;
      for (int axis = tensor.shape.rank() - 1; axis >= 0; --axis) {
        index[static_cast<size_t>(axis)] = rest % tensor.shape[axis];
        rest /= tensor.shape[axis];
      }
      const explain::CellTerms cell = explain::explain_cell(trace, {tensor.name, index});
      if (std::isinf(cell.value)) {
        ASSERT_EQ(cell.combined, cell.value) << tensor.name << " " << i;
      } else {
        ASSERT_NEAR(cell.combined, cell.value, 2e-6 * cell.size) << tensor.name << " " << i;
      }
      ++count;
    }
  }
  EXPECT_GT(count, 1000U);
  for (const ParameterHandle& parameter : model_.parameters()) {
    if (parameter->shape().elements() == 0) continue;  // of attention without heads
    EXPECT_NE(trace.find(parameter->name()), nullptr) << parameter->name() << " is used nowhere";
  }
}

TEST_P(Architectures, explain_why_a_weight_changed) {
  const explain::Trace trace =
      explain::trace_model(threads_, model_, explain::Input{.batch = batch_});
  for (const ParameterHandle& parameter : model_.parameters()) {
    if (parameter->shape().elements() == 0) continue;
    const std::vector<int64_t> cell(static_cast<size_t>(parameter->shape().rank()), 1);
    const explain::BackwardWalk walk =
        explain::walk_backward(trace, model_, {parameter->name(), cell});
    const double sum = walk.terms.empty() ? 0 : walk.terms.back().running;
    EXPECT_NEAR(sum, walk.gradient, 1e-5) << parameter->name();
  }
}

std::string name_of_design(const testing::TestParamInfo<Design (*)()>& info) {
  const std::vector<std::string> names = {"rotary_and_grouped",
                                          "parallel_and_partial",
                                          "with_slopes",
                                          "with_buckets",
                                          "with_windows",
                                          "grouped_and_pruned",
                                          "grouped_without_a_layer",
                                          "parallel_and_pruned",
                                          "with_slopes_and_pruned",
                                          "with_buckets_and_pruned",
                                          "with_windows_and_pruned"};
  return names[info.index];
}

INSTANTIATE_TEST_SUITE_P(Unknown, Architectures,
                         testing::Values(rotary_and_grouped, parallel_and_partial, with_slopes,
                                         with_buckets, with_windows, grouped_and_pruned,
                                         grouped_without_a_layer, parallel_and_pruned,
                                         with_slopes_and_pruned, with_buckets_and_pruned,
                                         with_windows_and_pruned),
                         name_of_design);

}  // namespace
}  // namespace headlight::nn
