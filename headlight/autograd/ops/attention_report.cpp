// What an attention reports of itself: its inputs and options, the two numbers of each row, and
// scores and weights that are computed again when they are asked for.
#include <utility>
#include <vector>

#include "headlight/autograd/ops/attention_run.h"

namespace headlight::autograd {
namespace {

using kernels::ScoreStage;
using tensor::DType;
using tensor::Tensor;

class AttentionInside : public Inside {
 public:
  AttentionInside(AttentionInputs inputs, AttentionResults results, ScoreFunction scores)
      : inputs_(std::move(inputs)), results_(std::move(results)), scores_(std::move(scores)) {}

  Tensor stage(const kernels::Execution& execution, ScoreStage stage, int64_t head,
               const RowRange& rows) const override {
    const kernels::AttentionShape& s = inputs_.shape;
    const int64_t heads = head < 0 ? s.heads : 1;
    Tensor out = head < 0 ? Tensor::uninitialized(DType::f32, {s.batch, heads, rows.count, s.keys})
                          : Tensor::uninitialized(DType::f32, {s.batch, rows.count, s.keys});
    float* to = out.mutable_data<float>();
    for (int64_t i = 0; i < s.batch * heads; ++i, to += rows.count * s.keys) {
      scores_(execution, inputs_, results_,
              {.stage = stage,
               .batch = i / heads,
               .head = head < 0 ? i % heads : head,
               .first_row = rows.first,
               .row_count = rows.count},
              to);
    }
    return out;
  }

 private:
  AttentionInputs inputs_;
  AttentionResults results_;
  ScoreFunction scores_;
};

void add_masks(Report& report, const AttentionInputs& inputs) {
  add_input(report, "past", inputs.past);
  add_input(report, "valid_lens", inputs.valid_lens);
  add_input(report, "query_lens", inputs.query_lens);
  add_input(report, "keep_mask", inputs.keep_mask);
  add_input(report, "forbid_mask", inputs.forbid_mask);
}

// The bucket of each distance from a query to a key that there is, the least first.
Tensor bucket_of_distances(const AttentionInputs& inputs, int64_t first) {
  std::vector<int64_t> buckets;
  for (int64_t i = 0; i + 1 < inputs.shape.queries + inputs.shape.keys; ++i) {
    buckets.push_back(kernels::position_bucket(inputs.position_bias, first + i));
  }
  return Tensor::of({static_cast<int64_t>(buckets.size())}, buckets);
}

void add_position_bias(Report& report, const AttentionInputs& inputs, const PositionBias& bias) {
  if (bias.kind == PositionBiasKind::none) return;
  const bool linear = bias.kind == PositionBiasKind::linear;
  report.attributes.push_back({"position_bias", linear ? "linear" : "buckets"});
  add_input(report, linear ? "position_slopes" : "position_table", bias.coefficients);
  if (linear) return;
  const int64_t past = inputs.past.defined() ? inputs.past.data<int64_t>()[0] : 0;
  const int64_t first = 1 - inputs.shape.queries - past;
  add_input(report, "position_buckets", bucket_of_distances(inputs, first));
  report.attributes.push_back({"first_distance", first});
}

}  // namespace

Report attention_report(const char* operation, const AttentionInputs& inputs,
                        const AttentionResults& results, const ReportedAttention& call) {
  const kernels::AttentionShape& s = inputs.shape;
  Report made{.operation = operation,
              .place = std::string(call.options.place),
              .inputs = {{"query", call.query}, {"key", call.key}, {"value", call.value}},
              .outputs = {{"output", call.output},
                          {"row_max", Value::leaf(results.row_max)},
                          {"row_sum", Value::leaf(results.row_sum)}},
              .attributes = {
                  {"heads", s.heads},
                  {"kv_heads", s.kv_heads},
                  {"scale", call.score_weights.defined() ? 1.0 : static_cast<double>(inputs.scale)},
                  {"softcap", static_cast<double>(inputs.softcap)},
                  {"causal", inputs.causal},
                  {"window", inputs.window},
                  {"dropout", static_cast<double>(inputs.dropout.probability)}}};
  add_masks(made, inputs);
  add_input(made, "bias", call.options.bias);
  add_position_bias(made, inputs, call.options.position_bias);
  add_input(made, "gates", call.gates);
  add_input(made, "score_weights", call.score_weights);
  if (results.ungated.defined()) made.outputs.push_back({"ungated", Value::leaf(results.ungated)});
  if (inputs.pruned.original > 0) {
    made.attributes.push_back({"original_heads", inputs.pruned.original});
    made.attributes.push_back({"original_kv_heads", inputs.pruned.kv_original});
    add_input(made, "head_numbers", inputs.pruned.numbers);
    add_input(made, "kv_head_numbers", inputs.pruned.kv_numbers);
    add_input(made, "kv_head_of", inputs.pruned.kv_head_of);
  }
  made.inside = std::make_shared<AttentionInside>(inputs, results, call.scores);
  return made;
}

}  // namespace headlight::autograd
