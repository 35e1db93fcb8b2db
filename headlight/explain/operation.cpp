// Names of operations.
#include "headlight/explain/operation.h"

#include <array>

namespace headlight::explain {

std::string_view name_of(Operation operation) {
  constexpr std::array<std::string_view, 23> kNames = {
      "given",   "parameter", "copy",      "table",       "sinusoid",  "add",
      "linear",  "cut",       "split",     "scores",      "scale",     "mask",
      "row_max", "row_sum",   "softmax",   "weigh",       "sum_keys",  "merge",
      "mean",    "deviation", "normalize", "scale_shift", "activation"};
  return kNames[static_cast<size_t>(operation)];
}

}  // namespace headlight::explain
