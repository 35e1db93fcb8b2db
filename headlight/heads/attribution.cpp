// The run's report walked from the logits back to what is added to the residual stream.
#include "headlight/heads/attribution.h"

#include <algorithm>
#include <array>

#include "headlight/heads/linear_walk.h"

namespace headlight::heads {

std::string_view name_of(PartKind kind) {
  constexpr std::array<std::string_view, 9> kNames = {
      "embedding",         "positions", "head",        "attention_bias", "feed_forward",
      "feed_forward_bias", "norm_bias", "output_bias", "other"};
  return kNames[static_cast<size_t>(kind)];
}

Attribution attribution_of_row(const autograd::Recording& recording,
                               const std::vector<AttentionHeads>& attentions,
                               const autograd::Value& logits, const LogitMetric& metric) {
  Attribution attribution{.measured = metric_of(logits.data().data<float>(), metric)};
  std::vector<double> direction(static_cast<size_t>(logits.size(-1)));
  direction[static_cast<size_t>(metric.word)] += 1;
  if (metric.against) direction[static_cast<size_t>(*metric.against)] -= 1;
  LinearWalk walk(recording, attentions);
  walk.start(logits, 0, direction);
  walk.run();
  attribution.parts = walk.take_parts();
  attribution.gains = walk.take_gains();
  for (const AttributedPart& part : attribution.parts) attribution.sum += part.value;
  attribution.rounding = attribution.measured - attribution.sum;
  return attribution;
}

Attribution attribute_logits(base::ThreadPool& threads, const models::Model& model,
                             const models::Batch& batch, const LogitMetric& metric) {
  check_metric("attribute", model, batch, metric);
  tensor::Arena arena;
  autograd::Recording recording;
  autograd::Context context{.threads = threads, .arena = arena, .observer = &recording};
  const autograd::Value output = model.forward(context, batch);
  const autograd::Value row = autograd::slice(output, 1, metric.position, 1);
  return attribution_of_row(recording, attention_heads(model), model.logits(context, row), metric);
}

io::Json::Object attribution_json(const Attribution& attribution) {
  io::Json::Array parts;
  for (const AttributedPart& part : attribution.parts) {
    parts.push_back(
        io::Json::Object{{"part", part.part}, {"kind", name_of(part.kind)}, {"value", part.value}});
  }
  io::Json::Array gains;
  for (const ActivationGain& gain : attribution.gains) {
    gains.push_back(io::Json::Object{{"place", gain.place}, {"activation", gain.activation}});
  }
  return {{"measured", attribution.measured},
          {"parts", std::move(parts)},
          {"sum", attribution.sum},
          {"rounding", attribution.rounding},
          {"gains", std::move(gains)}};
}

}  // namespace headlight::heads
