// An observer that keeps notes, and one attention with all there is to see.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "tests/autograd/fixture.h"

namespace headlight::tests {

// Wants what a rule says and keeps what it sees.
class Notebook : public autograd::Observer {
 public:
  explicit Notebook(std::function<bool(std::string_view)> rule) : rule_(std::move(rule)) {}
  static Notebook of(std::set<std::string> places) {
    return Notebook(
        [places](std::string_view place) { return places.contains(std::string(place)); });
  }
  bool wants(std::string_view place) override { return rule_(place); }
  void see(std::string_view place, const tensor::Tensor& values) override {
    EXPECT_TRUE(values.is_contiguous()) << place;
    EXPECT_TRUE(seen.emplace(place, values).second) << place << " is delivered twice";
  }
  autograd::RowRange rows(std::string_view, int64_t queries) override {
    return limited.count < 0 ? autograd::RowRange{0, queries} : limited;
  }

  std::map<std::string, tensor::Tensor> seen;
  autograd::RowRange limited{0, -1};

 private:
  std::function<bool(std::string_view)> rule_;
};

constexpr int64_t kBatch = 2, kHeads = 4, kQueries = 5, kKeys = 7, kWidth = 3, kValueWidth = 2;

// Grouped heads, a cap, a causal mask with an offset, a position bias and gates: all there is to
// see.
class Observing : public Autograd {
 protected:
  autograd::Value query = random_leaf({kBatch, kQueries, kHeads* kWidth}, 1);
  autograd::Value key = random_leaf({kBatch, kKeys, kHeads / 2 * kWidth}, 2);
  autograd::Value value = random_leaf({kBatch, kKeys, kHeads / 2 * kValueWidth}, 3);
  autograd::Value gates = leaf({kHeads}, {1, 0.5F, 2, 0});
  autograd::Value slopes = leaf({kHeads}, {0.5F, 0.25F, 0.125F, 0});

  autograd::AttentionOptions options() const {
    autograd::AttentionOptions options;
    options.heads = kHeads;
    options.kv_heads = kHeads / 2;
    options.softcap = 2;
    options.causal = true;
    options.past = tensor::Tensor::of({kBatch}, std::vector<int64_t>{0, 2});
    options.position_bias = {autograd::PositionBiasKind::linear, slopes};
    options.gates = gates;
    options.place = "decoder.0.self";
    return options;
  }

  // The output's and the gradients' bits.
  std::vector<std::vector<float>> run(autograd::Observer* observer) {
    autograd::Context context = recording_context();
    context.observer = observer;
    for (autograd::Value* input : {&query, &key, &value, &gates, &slopes}) input->clear_grad();
    const autograd::Value output = attention(context, query, key, value, options());
    tape_.backward(context, output, random_leaf(output.shape(), 4).data());
    reconstructed_ = context.statistics.scores_reconstructed;
    return {floats(output.data()), floats(query.grad()), floats(key.grad()),
            floats(value.grad()),  floats(gates.grad()), floats(slopes.grad())};
  }

  int64_t reconstructed_ = 0;
};

}  // namespace headlight::tests
