// A trace for other programs: JSON without the numbers, safetensors with them.
#pragma once

#include <string>
#include <vector>

#include "headlight/explain/trace.h"

namespace headlight::explain {

// {"tokens": [...], "source_tokens": [...], "tensors": [{"name", "operation", "operands":
// [{"role", "name"}], "attributes": {}, "shape": [], "axes": [], "formula", "text", "variant"
// (where it is one)}], "parameters": [the same]}.
io::Json trace_json(const Trace& trace);
io::Json tensor_json(const TracedTensor& tensor);

// Weighted values of 64 MB and more, which nobody keeps or shows as a whole; each of them can be
// asked for.
bool is_left_out(const TracedTensor& tensor);

// All tensors that are not left out, and the parameters they are made of, under their names. In a
// file of them, or of some, "trace" in the metadata is the JSON: an independent program can
// recompute every tensor from its operands and attributes. `go_on` is called before each; what it
// throws ends it.
std::vector<io::NamedTensor> trace_tensors(const Trace& trace,
                                           const std::function<void()>& go_on = {});
void write_trace(base::FileSystem& files, const std::string& path, const Trace& trace,
                 const std::vector<io::NamedTensor>& tensors);

}  // namespace headlight::explain
