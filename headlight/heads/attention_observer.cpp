// Reports of attention, read.
#include "headlight/heads/attention_observer.h"

namespace headlight::heads {
namespace {

template <class T>
T attribute_of(const autograd::Report& report, std::string_view name) {
  for (const autograd::Attribute& attribute : report.attributes) {
    if (attribute.name == name) return std::get<T>(attribute.value);
  }
  return {};
}

}  // namespace

tensor::Tensor SeenAttention::stage(base::ThreadPool& threads, kernels::ScoreStage stage,
                                    int64_t head) const {
  tensor::Arena arena;
  return inside.stage({threads, arena}, stage, head, {0, queries});
}

void AttentionObserver::report(const autograd::Report& report) {
  if (report.operation != "attention" || !report.inside) return;
  const autograd::Value& query = report.inputs[0].value;  // (B, T, H*D)
  const autograd::Value& key = report.inputs[1].value;    // (B, S, Hkv*D)
  take_({.place = report.place,
         .batch = query.size(0),
         .heads = attribute_of<int64_t>(report, "heads"),
         .queries = query.size(1),
         .keys = key.size(1),
         .causal = attribute_of<bool>(report, "causal"),
         .inside = *report.inside});
}

}  // namespace headlight::heads
