// Attention, norm, feed-forward and prediction as lists of tensors.
#include <array>
#include <cmath>
#include <utility>

#include "headlight/explain/row_statistics.h"
#include "headlight/explain/trace_builder.h"

namespace headlight::explain {
namespace {

using tensor::Shape;
using tensor::Tensor;

std::vector<Axis> heads_of(Axis tokens) { return {Axis::batch, Axis::head, tokens, Axis::column}; }

}  // namespace

void TraceBuilder::put_linear(Entry entry, const std::string& input, const nn::Linear::Part& part) {
  entry.operation = Operation::linear;
  entry.operands = {{"input", input}, {"weight", part.weight->name()}};
  if (part.bias) {
    entry.operands.push_back({"bias", part.bias->name()});
    entry.formula += ".bias";
  }
  entry.attributes = {{"layout", part.layout == nn::WeightLayout::out_in ? "out_in" : "in_out"},
                      {"outputs", part.outputs},
                      {"weight_begin", part.weight_begin}};
  if (part.bias) entry.attributes.emplace_back("bias_begin", part.bias_begin);
  put(std::move(entry));
}

void TraceBuilder::put_attention(const AttentionPlace& at,
                                 const nn::MultiHeadAttention& attention) {
  if (!recording_.has(at.place + ".query")) return;
  put_projections(at, attention);
  put_scores(at);
  put_heads(at, attention);
}

void TraceBuilder::put_projections(const AttentionPlace& at,
                                   const nn::MultiHeadAttention& attention) {
  constexpr std::array<const char*, 3> kNames = {"query", "key", "value"};
  const std::vector<nn::Linear>& layers = attention.input_layers();
  const std::string fused = at.place + ".projected";
  if (recording_.has(fused)) {
    int64_t outputs = 0;
    for (const nn::Linear& layer : layers) outputs += layer.outputs();
    nn::Linear::Part whole = layers.front().part();
    whole.outputs = outputs;
    put_linear({fused, {}, {}, rows_of(at.queries), "attention.projected", at.step}, at.query,
               whole);
  }
  int64_t begin = 0;
  for (size_t i = 0; i < kNames.size(); ++i) {
    const Axis tokens = i == 0 ? at.queries : at.keys;
    const std::string projected = at.place + ".projected_" + kNames[i];
    if (recording_.has(fused)) {
      put({projected,
           Operation::cut,
           {{"input", fused}},
           rows_of(tokens),
           "attention.cut",
           at.step,
           {{"begin", begin}, {"width", layers[i].outputs()}}});
      begin += layers[i].outputs();
    } else {
      put_linear({projected, {}, {}, rows_of(tokens), "attention.project", at.step},
                 i == 0 ? at.query : at.memory, layers[i].part());
    }
    const nn::MultiHeadAttentionOptions& options = attention.options();
    put({at.place + "." + kNames[i],
         Operation::split,
         {{"input", projected}},
         heads_of(tokens),
         "attention.split",
         at.step,
         {{"heads", i == 0 ? options.heads : options.kv_heads}}});
  }
}

void TraceBuilder::put_scores(const AttentionPlace& at) {
  const std::string& p = at.place;
  const Tensor query = recording_.find(p + ".query");
  const Tensor value = recording_.find(p + ".value");
  const float scale = 1 / std::sqrt(static_cast<float>(query.size(3)));
  trace_.add_attention(p, p, scale, at.causal);
  const std::vector<Axis> axes = {Axis::batch, Axis::head, at.queries, at.keys};
  const std::vector<Axis> rows = {Axis::batch, Axis::head, at.queries};
  const Shape shape = {query.size(0), query.size(1), query.size(2), value.size(2)};
  put_later({p + ".scores",
             Operation::scores,
             {{"query", p + ".query"}, {"key", p + ".key"}},
             axes,
             "attention.scores",
             at.step},
            shape);
  put_later({p + ".scaled_scores",
             Operation::scale,
             {{"input", p + ".scores"}},
             axes,
             "attention.scale",
             at.step,
             {{"factor", static_cast<double>(scale)}}},
            shape);
  put_later({p + ".masked_scores",
             Operation::mask,
             {{"input", p + ".scaled_scores"}},
             axes,
             at.causal ? "attention.mask" : "residual.pass",
             at.step,
             {{"causal", at.causal}}},
            shape);
  put({p + ".row_max",
       Operation::row_max,
       {{"input", p + ".masked_scores"}},
       rows,
       "attention.row_max",
       at.step});
  put({p + ".row_sum",
       Operation::row_sum,
       {{"input", p + ".masked_scores"}, {"maximum", p + ".row_max"}},
       rows,
       "attention.row_sum",
       at.step});
  put_later(
      {p + ".weights",
       Operation::softmax,
       {{"input", p + ".masked_scores"}, {"maximum", p + ".row_max"}, {"sum", p + ".row_sum"}},
       axes,
       "attention.softmax",
       at.step},
      shape);
  put_later({p + ".weighted_values",
             Operation::weigh,
             {{"weights", p + ".weights"}, {"value", p + ".value"}},
             {Axis::batch, Axis::head, at.queries, at.keys, Axis::column},
             "attention.weigh",
             at.step},
            {shape[0], shape[1], shape[2], shape[3], value.size(3)});
}

void TraceBuilder::put_heads(const AttentionPlace& at, const nn::MultiHeadAttention& attention) {
  const std::string& p = at.place;
  put({p + ".head_output",
       Operation::sum_keys,
       {{"input", p + ".weighted_values"}},
       heads_of(at.queries),
       "attention.sum",
       at.step});
  std::vector<Operand> merged = {{"input", p + ".head_output"}};
  if (attention.gates().defined()) {
    put({p + ".head_gates", Operation::given, {}, {Axis::head}, "attention.gates", at.step},
        attention.gates().data());
    merged.push_back({"gates", p + ".head_gates"});
  }
  const std::string merge = merged.size() > 1 ? "attention.merge.gates" : "attention.merge";
  put({p + ".concatenated", Operation::merge, std::move(merged), rows_of(at.queries), merge,
       at.step});
  if (const nn::Linear* layer = attention.output_layer()) {
    put_linear({p + ".output", {}, {}, rows_of(at.queries), "attention.output", at.step},
               p + ".concatenated", layer->part());
  } else {
    put({p + ".output",
         Operation::copy,
         {{"input", p + ".concatenated"}},
         rows_of(at.queries),
         "residual.pass",
         at.step});
  }
}

void TraceBuilder::put_norm(const nn::LayerNorm& norm, Axis tokens, int step) {
  const std::string& p = norm.options().place;
  const nn::Parameters parameters = norm.parameters();
  const std::vector<Axis> rows = {Axis::batch, tokens};
  put({p + ".mean", Operation::mean, {{"input", p + ".input"}}, rows, "norm.mean", step});
  put({p + ".deviation",
       Operation::deviation,
       {{"input", p + ".input"}, {"mean", p + ".mean"}},
       rows,
       "norm.deviation",
       step,
       {{"epsilon", static_cast<double>(norm.options().epsilon)}}});
  put({p + ".normalized",
       Operation::normalize,
       {{"input", p + ".input"}, {"mean", p + ".mean"}, {"deviation", p + ".deviation"}},
       rows_of(tokens),
       "norm.normalize",
       step});
  std::vector<Operand> operands = {{"input", p + ".normalized"}, {"weight", parameters[0]->name()}};
  const bool has_bias = parameters.size() > 1;
  if (has_bias) operands.push_back({"bias", parameters[1]->name()});
  put({p + ".output", Operation::scale_shift, std::move(operands), rows_of(tokens),
       has_bias ? "norm.scale_shift.bias" : "norm.scale_shift", step});
}

void TraceBuilder::put_feed_forward(const nn::FeedForward& layers, const std::string& input,
                                    Axis tokens, int step) {
  const std::string& p = layers.options().place;
  put_linear({p + ".hidden", {}, {}, rows_of(tokens), "ffn.hidden", step}, input,
             layers.first().part());
  put({p + ".activated",
       Operation::activation,
       {{"input", p + ".hidden"}},
       rows_of(tokens),
       "ffn.activation",
       step,
       {{"function", name_of(layers.options().activation)}}});
  put_linear({p + ".output", {}, {}, rows_of(tokens), "ffn.output", step}, p + ".activated",
             layers.second().part());
}

void TraceBuilder::put_prediction(const models::Parts& parts, const std::string& output,
                                  Axis tokens) {
  constexpr int kStep = 13;
  if (parts.output == nullptr) return;
  std::string input = output;
  if (parts.transform != nullptr) {
    put_linear({"prediction.hidden", {}, {}, rows_of(tokens), "prediction.hidden", kStep}, output,
               parts.transform->part());
    put({"prediction.activated",
         Operation::activation,
         {{"input", "prediction.hidden"}},
         rows_of(tokens),
         "prediction.activation",
         kStep,
         {{"function", name_of(parts.transform->activation())}}});
    const std::string& norm = parts.transform_norm->options().place;
    put({norm + ".input",
         Operation::copy,
         {{"input", "prediction.activated"}},
         rows_of(tokens),
         "residual.pass",
         kStep});
    put_norm(*parts.transform_norm, tokens, kStep);
    input = norm + ".output";
  }
  const std::vector<Axis> axes = {Axis::batch, tokens, Axis::vocabulary};
  put_linear({"logits", {}, {}, axes, "prediction.logits", kStep}, input,
             parts.output->linear().part());
  const RowStatistics statistics = row_statistics(recording_.find("logits"));
  put({"logits.row_max",
       Operation::row_max,
       {{"input", "logits"}},
       {Axis::batch, tokens},
       "prediction.row_max",
       kStep},
      statistics.maximum);
  put({"logits.row_sum",
       Operation::row_sum,
       {{"input", "logits"}, {"maximum", "logits.row_max"}},
       {Axis::batch, tokens},
       "prediction.row_sum",
       kStep},
      statistics.sum);
  put({"probabilities",
       Operation::softmax,
       {{"input", "logits"}, {"maximum", "logits.row_max"}, {"sum", "logits.row_sum"}},
       axes,
       "prediction.softmax",
       kStep});
}

}  // namespace headlight::explain
