// A trace as JSON and as safetensors.
#include "headlight/explain/trace_json.h"

#include <utility>

namespace headlight::explain {
namespace {

constexpr double kWeightedValuesLimit = 64e6;  // bytes that a trace holds of it
constexpr int kMostShownAxes = 4;              // of other tensors

io::Json::Array json_of(const std::vector<std::string>& words) {
  return {words.begin(), words.end()};
}

io::Json::Array json_of(const std::vector<TracedTensor>& tensors) {
  io::Json::Array list;
  for (const TracedTensor& tensor : tensors) list.emplace_back(tensor_json(tensor));
  return list;
}

}  // namespace

bool is_left_out(const TracedTensor& tensor) {
  return tensor.shape.rank() > kMostShownAxes &&
         static_cast<double>(tensor.shape.elements()) * sizeof(float) >= kWeightedValuesLimit;
}

io::Json tensor_json(const TracedTensor& tensor) {
  io::Json::Array operands;
  for (const Operand& operand : tensor.operands) {
    operands.emplace_back(io::Json::Object{{"role", operand.role}, {"name", operand.name}});
  }
  io::Json::Array axes;
  for (const Axis axis : tensor.axes) axes.emplace_back(name_of(axis));
  const std::span<const int64_t> sizes = tensor.shape.sizes();
  io::Json::Object json = {{"name", tensor.name},
                           {"operation", tensor.operation},
                           {"operands", std::move(operands)},
                           {"attributes", tensor.attributes},
                           {"shape", io::Json::Array(sizes.begin(), sizes.end())},
                           {"axes", std::move(axes)},
                           {"formula", tensor.formula},
                           {"text", tensor.text}};
  if (!tensor.head_numbers.empty()) {
    json.emplace_back("head_numbers",
                      io::Json::Array(tensor.head_numbers.begin(), tensor.head_numbers.end()));
  }
  if (!tensor.variant.empty()) json.emplace_back("variant", tensor.variant);
  return json;
}

io::Json trace_json(const Trace& trace) {
  return io::Json::Object{{"tokens", json_of(trace.input().tokens)},
                          {"source_tokens", json_of(trace.input().source_tokens)},
                          {"tensors", json_of(trace.tensors())},
                          {"parameters", json_of(trace.parameters())}};
}

std::vector<io::NamedTensor> trace_tensors(const Trace& trace, const std::function<void()>& go_on) {
  std::vector<io::NamedTensor> all;
  for (const TracedTensor& tensor : trace.tensors()) {
    if (go_on) go_on();
    if (!is_left_out(tensor)) all.push_back({tensor.name, trace.values(tensor.name)});
  }
  for (const TracedTensor& parameter : trace.parameters()) {
    all.push_back({parameter.name, trace.values(parameter.name)});
  }
  return all;
}

void write_trace(base::FileSystem& files, const std::string& path, const Trace& trace,
                 const std::vector<io::NamedTensor>& tensors) {
  io::write_safetensors(files, path, tensors, {{"trace", io::json_text(trace_json(trace))}});
}

}  // namespace headlight::explain
