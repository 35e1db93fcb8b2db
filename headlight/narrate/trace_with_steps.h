// What explain gives as JSON, with the numbers of the walk's steps, and as a file of tensors.
#pragma once

#include <string>
#include <vector>

#include "headlight/explain/explain.h"

namespace headlight::narrate {

// As explain::trace_json, each tensor with "step" after its name: a number, 0 for parameters.
io::Json trace_json_with_steps(const explain::Trace& trace);
// As explain::variant_json, with "step" after its place.
io::Json variant_json_with_step(const explain::Trace& trace, const explain::Variant& variant);

// As explain::write_trace, with the steps in what the metadata say.
void write_trace_with_steps(base::FileSystem& files, const std::string& path,
                            const explain::Trace& trace,
                            const std::vector<io::NamedTensor>& tensors);

// Nested lists; a number that is not finite is null.
io::Json array_json(const tensor::Tensor& numbers);

}  // namespace headlight::narrate
