// Reference numbers: what another engine computed with a model, kept beside it, and how close a run
// comes to them.
#pragma once

#include <optional>
#include <string>

#include "headlight/base/base.h"
#include "headlight/io/io.h"
#include "headlight/models/models.h"

namespace headlight::recipes {

// Relative to the largest number of a tensor; what is farther away is another result, not rounding.
inline constexpr double kReferenceTolerance = 1e-4;

struct ReferenceResult {
  std::string file;               // within the folder
  int64_t compared = 0;           // tensors
  double largest_difference = 0;  // of all
  double relative = 0;            // the largest, each over the largest |number| of its tensor
  std::optional<std::string> first = {};  // of the run that is beyond the tolerance
};

// A folder's reference.safetensors: `ids` ((B, T) or (T); `source_ids` too for an encoder-decoder)
// and tensors of the public names, with or without the batch's axis. Or its partials.safetensors,
// as minGPT's models are published with: `idx` and that program's names. Cells that a mask hides do
// not count. Nothing where there is no such file. Throws Error(bad_input) for one that holds
// something else.
std::optional<ReferenceResult> compare_with_reference(base::ThreadPool& threads,
                                                      base::FileSystem& files,
                                                      const std::string& folder,
                                                      const models::Model& model);

// {"file", "compared", "largest_difference", "relative", "first"}.
io::Json reference_json(const ReferenceResult& result);

}  // namespace headlight::recipes
