// A model that can be read, written as a Hugging Face folder.
#pragma once

#include <optional>
#include <string>

#include "headlight/recipes/named_model.h"

namespace headlight::recipes {

struct ConvertedModel {
  std::string folder;
  std::string type;  // its model_type
  int64_t parameters = 0;
  tensor::DType kind = tensor::DType::f32;  // what its numbers are stored as, where they fit it
  uint64_t bytes = 0;                       // of the folder's files
};

// Writes the model to `folder`, as write_model_copy() does, in the precision in which it is stored.
// `type`: the model_type to write; absent: its own. Throws Error(bad_input) for a type that the
// model cannot be written as.
ConvertedModel convert_model(base::FileSystem& files, const LoadedModel& loaded,
                             const std::string& folder, const std::optional<std::string>& type);

// {"folder","model_type","parameters","dtype","bytes"}
io::Json converted_json(const ConvertedModel& converted);

}  // namespace headlight::recipes
