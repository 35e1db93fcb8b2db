// The numbers of a run as a page holds them.
#pragma once

#include <map>
#include <string>

#include "headlight/explain/explain.h"

namespace headlight::narrate {

// Tensors of more numbers are left out.
inline constexpr int64_t kMostOnPage = int64_t{1} << 18;

// JSON: ids as a list; floats as the bytes of float32, the lowest first, in letters of base 64.
std::string page_numbers(const tensor::Tensor& values);

// The tensors that pass on unchanged what another has, by name: with its sizes, axes of one
// position aside, and its bits. Parameters are not meant.
using PassedOn = std::map<std::string, std::string>;
PassedOn passed_on(const explain::Trace& trace);

// Whether a page holds all numbers of the run, tensors beyond kMostOnPage aside.
bool is_whole_on_page(const explain::Trace& trace);

// {"name": numbers, ...} of the tensors and parameters that are small enough; without those that
// pass on what others have. Attention weights come first where not all have room, then the tensors
// in their order.
std::string page_values(const explain::Trace& trace, const PassedOn& passed);

}  // namespace headlight::narrate
