// A model by its name, a folder, a file of weights or one that comes along, and the tokenizer
// beside it.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/models/models.h"
#include "headlight/text/text.h"

namespace headlight::recipes {

struct LoadedModel {
  std::string folder;  // of its configuration and tokenizer
  std::unique_ptr<models::Model> model;
  std::vector<std::string> notes = {};  // what a user should know of how it was read
  std::string weights = {};             // the file in the folder that was named; empty: its own
  // What find_tokenizer() gives, where it was read beside the weights.
  std::shared_future<std::optional<text::Tokenizer>> tokenizer = {};
};

// `name`: as model_place() takes it. `packed`, as models::load_model() takes it, is for a model
// that is only run; its tokenizer is then read at the same time. Throws Error(bad_input).
LoadedModel load_named_model(base::FileSystem& files, const std::string& name, bool packed = false,
                             int threads = 0);

// Names that a folder's model, tokenizer or run is read from, whether or not there are such files;
// those of its shards too. Other files may stand beside them, an output for instance.
std::vector<std::string> model_file_names(base::FileSystem& files, const std::string& folder);

// Nothing where the folder has none. Throws Error(bad_input) when it has more tokens than the model
// has ids.
std::optional<text::Tokenizer> find_tokenizer(base::FileSystem& files, const LoadedModel& loaded);
// The same where text cannot do without it; `way_out` ends the message when there is none.
text::Tokenizer need_tokenizer(base::FileSystem& files, const LoadedModel& loaded,
                               std::string_view way_out = "");
// 16 hexadecimal digits that change with the files that a tokenizer is read from.
std::string tokenizer_sum(base::FileSystem& files, const LoadedModel& loaded);

}  // namespace headlight::recipes
