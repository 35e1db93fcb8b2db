// Showing the inside of attention. Nothing here is reached without an observer; scores are computed
// again, by the forward pass's own score function, for the heads and rows that are wanted.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "headlight/autograd/observer.h"
#include "headlight/autograd/ops/attention_run.h"

namespace headlight::autograd {
namespace {

using kernels::ScoreStage;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

class AttentionReport {
 public:
  AttentionReport(Context& context, const AttentionInputs& inputs, const AttentionResults& results,
                  const ScoreFunction& scores)
      : context_(context), inputs_(inputs), results_(results), scores_(scores) {}

  // All heads (`head` < 0) with names under `prefix`, or one of them without the head axis.
  void deliver(std::string_view prefix, int64_t head) {
    const kernels::AttentionShape& s = inputs_.shape;
    const int64_t kv_head = head < 0 ? head : s.kv_head(head);
    show_heads(prefix, "query", inputs_.query, s.heads, head);
    show_cached(prefix, "key", &AttentionInputs::key, kv_head);
    show_cached(prefix, "value", &AttentionInputs::value, kv_head);
    show_scores(prefix, "scores", ScoreStage::raw, head);
    show_scores(prefix, "scaled_scores", ScoreStage::scaled, head);
    if (inputs_.softcap > 0) show_scores(prefix, "capped_scores", ScoreStage::capped, head);
    if (inputs_.position_bias)
      show_scores(prefix, "position_bias", ScoreStage::position_bias, head);
    show_scores(prefix, "masked_scores", ScoreStage::masked, head);
    show_statistics(prefix, "row_max", results_.row_max, head);
    show_statistics(prefix, "row_sum", results_.row_sum, head);
    show_scores(prefix, "weights", ScoreStage::weights, head);
    show_weighted_values(prefix, head);
    show_heads(prefix, "head_output",
               results_.ungated.defined() ? results_.ungated : results_.output, s.heads, head);
  }

 private:
  bool wants(const std::string& place) { return context_.observer->wants(place); }

  // x, (B, T, H*W) or (B, H, T, W), as (B, H, T, W) or, of one head, (B, T, W).
  Tensor select(const Tensor& x, int64_t heads, int64_t head) const {
    tensor::Arena& arena = context_.arena;
    if (x.rank() == 4 && head < 0) return x.contiguous(arena);
    if (x.rank() == 4) {
      return x.slice(1, head, 1).contiguous(arena).reshaped({x.size(0), x.size(2), x.size(3)});
    }
    const int64_t width = x.size(2) / heads;
    if (head >= 0) return x.slice(2, head * width, width).contiguous(arena);
    const Tensor split = x.contiguous(arena).reshaped({x.size(0), x.size(1), heads, width});
    return split.permuted({0, 2, 1, 3}).contiguous(arena);
  }

  void show_heads(std::string_view prefix, const char* name, const Tensor& x, int64_t heads,
                  int64_t head) {
    const std::string place = place_name(prefix, name);
    if (wants(place)) context_.observer->see(place, select(x, heads, head));
  }

  // Key or value, which may lie in a cache.
  void show_cached(std::string_view prefix, const char* name, Tensor AttentionInputs::*input,
                   int64_t kv_head) {
    const std::string place = place_name(prefix, name);
    if (!wants(place)) return;
    context_.observer->see(place, select(plain().*input, inputs_.shape.kv_heads, kv_head));
  }

  // The inputs with keys and values in tensors. A cache goes on being written to: they are copied,
  // when somebody wants to see them.
  const AttentionInputs& plain() {
    if (!inputs_.uses_cache()) return inputs_;
    if (!copied_) copied_ = without_cache(context_, inputs_);
    return *copied_;
  }

  // x is (B, H, T).
  void show_statistics(std::string_view prefix, const char* name, const Tensor& x, int64_t head) {
    const std::string place = place_name(prefix, name);
    if (!wants(place)) return;
    const Tensor one = x.slice(1, std::max<int64_t>(head, 0), 1).contiguous(context_.arena);
    context_.observer->see(place, head < 0 ? x : one.reshaped({x.size(0), x.size(2)}));
  }

  RowRange rows_at(const std::string& place) {
    const int64_t queries = inputs_.shape.queries;
    RowRange rows = context_.observer->rows(place, queries);
    rows.first = std::clamp<int64_t>(rows.first, 0, queries);
    rows.count = std::clamp<int64_t>(rows.count, 0, queries - rows.first);
    return rows;
  }

  // (B, H, rows, S), or (B, rows, S) of one head.
  Tensor reconstruct(ScoreStage stage, int64_t head, const RowRange& rows) {
    const kernels::AttentionShape& s = inputs_.shape;
    const int64_t first_head = std::max<int64_t>(head, 0);
    const int64_t head_count = head < 0 ? s.heads : 1;
    Tensor out = Tensor::uninitialized(context_.arena, DType::f32,
                                       head < 0 ? Shape{s.batch, s.heads, rows.count, s.keys}
                                                : Shape{s.batch, rows.count, s.keys});
    float* to = out.mutable_data<float>();
    for (int64_t b = 0; b < s.batch; ++b) {
      for (int64_t h = first_head; h < first_head + head_count; ++h) {
        scores_(context_.execution(), plain(), results_, {stage, b, h, rows.first, rows.count}, to);
        to += rows.count * s.keys;
      }
    }
    context_.statistics.scores_reconstructed += out.elements();
    return out;
  }

  void show_scores(std::string_view prefix, const char* name, ScoreStage stage, int64_t head) {
    const std::string place = place_name(prefix, name);
    if (wants(place)) context_.observer->see(place, reconstruct(stage, head, rows_at(place)));
  }

  // (B, H, rows, S, E) or (B, rows, S, E).
  void show_weighted_values(std::string_view prefix, int64_t head) {
    const std::string place = place_name(prefix, "weighted_values");
    if (!wants(place)) return;
    const kernels::AttentionShape& s = inputs_.shape;
    const RowRange rows = rows_at(place);
    const Tensor weights = reconstruct(ScoreStage::weights, head, rows);
    std::vector<int64_t> sizes(weights.shape().sizes().begin(), weights.shape().sizes().end());
    sizes.push_back(s.value_width);
    Tensor out = Tensor::uninitialized(context_.arena, DType::f32, Shape(sizes));
    const tensor::ConstHeadsView values = plain().value.heads(s.kv_heads);
    const int64_t heads = head < 0 ? s.heads : 1;
    const int64_t per_head = rows.count * s.keys;
    for (int64_t i = 0; i < s.batch * heads; ++i) {
      const int64_t kv_head = s.kv_head(head < 0 ? i % heads : head);
      kernels::weigh_values({rows.count, s.keys, s.value_width},
                            weights.data<float>() + i * per_head, values.row(i / heads, kv_head, 0),
                            values.row_stride,
                            out.mutable_data<float>() + i * per_head * s.value_width);
    }
    context_.observer->see(place, out);
  }

  Context& context_;
  const AttentionInputs& inputs_;
  const AttentionResults& results_;
  const ScoreFunction& scores_;
  std::optional<AttentionInputs> copied_;
};

}  // namespace

void observe_attention(Context& context, std::string_view place, const AttentionInputs& inputs,
                       const AttentionResults& results, const ScoreFunction& scores) {
  AttentionReport report(context, inputs, results, scores);
  report.deliver(place, -1);
  for (int64_t head = 0; head < inputs.shape.heads; ++head) {
    const int64_t number =
        inputs.pruned.original > 0 ? inputs.pruned.numbers.data<int64_t>()[head] : head;
    report.deliver(place_name(place, "head." + std::to_string(number)), head);
  }
}

}  // namespace headlight::autograd
