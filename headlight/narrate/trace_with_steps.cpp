// Steps put into explain's JSON.
#include "headlight/narrate/trace_with_steps.h"

#include <utility>

#include "headlight/narrate/steps.h"

namespace headlight::narrate {
namespace {

using explain::Trace;
using tensor::Tensor;

void put_step(io::Json::Object& members, size_t place, std::optional<Step> step) {
  members.emplace(members.begin() + static_cast<std::ptrdiff_t>(place), "step", number_of(step));
}

io::Json nested_lists(const Tensor& numbers, int axis, int64_t begin) {
  if (axis == numbers.rank()) {
    if (numbers.dtype() == tensor::DType::f32) {
      return static_cast<double>(numbers.data<float>()[begin]);
    }
    return numbers.data<int64_t>()[begin];
  }
  io::Json::Array list;
  for (int64_t i = 0; i < numbers.size(axis); ++i) {
    list.push_back(nested_lists(numbers, axis + 1, begin + i * numbers.stride(axis)));
  }
  return list;
}

}  // namespace

io::Json trace_json_with_steps(const Trace& trace) {
  io::Json document = explain::trace_json(trace);
  for (io::Json::Member& member : *document.object()) {
    if (member.first != "tensors" && member.first != "parameters") continue;
    for (io::Json& tensor : *member.second.array()) {
      put_step(*tensor.object(), 1, step_of(trace, trace.at(*tensor.find("name")->text())));
    }
  }
  return document;
}

io::Json variant_json_with_step(const Trace& trace, const explain::Variant& variant) {
  io::Json json = explain::variant_json(variant);
  put_step(*json.object(), 2, step_of(trace, variant));
  return json;
}

void write_trace_with_steps(base::FileSystem& files, const std::string& path, const Trace& trace,
                            const std::vector<io::NamedTensor>& tensors) {
  io::write_safetensors(files, path, tensors,
                        {{"trace", io::json_text(trace_json_with_steps(trace))}});
}

io::Json array_json(const Tensor& numbers) { return nested_lists(numbers.contiguous(), 0, 0); }

}  // namespace headlight::narrate
