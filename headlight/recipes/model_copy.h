// A model that was made from another one, as a folder of its own.
#pragma once

#include <string>

#include "headlight/models/models.h"

namespace headlight::recipes {

// Writes `model` to `folder`, which must not be there yet: configuration and weights, and beside
// them what the folder `source` (as model_folder() gives it) holds for the same ids: its tokenizer,
// its chat template, its generation settings, those of sentence-transformers, and run.json with the
// generated task that it was trained on. `kind`: as models::save_model() takes it. All is written
// and synced under another name first, so that the folder is whole or not there. Throws
// Error(bad_input) when something has the name already, Error(failed) and Error(out_of_memory).
void write_model_copy(base::FileSystem& files, const models::Model& model,
                      const std::string& source, const std::string& folder,
                      tensor::DType kind = tensor::DType::f32);

// Of that what belongs to the ids, each file whole or not there, into a folder that is there: the
// tokenizer, the chat template, generation settings, those of sentence-transformers. Throws
// Error(bad_input) for what cannot be read, Error(failed) and Error(out_of_memory).
void copy_files_beside_model(base::FileSystem& files, const std::string& source,
                             const std::string& folder);

// The check alone, for before long work: throws Error(bad_input), begun by `what`, when something
// has this name, and Error(failed) where no folder can be made.
void check_new_folder(base::FileSystem& files, const std::string& folder,
                      std::string_view what = "model");

// Where the work on such a folder is kept until the folder is there: beside it.
std::string unfinished_folder(const std::string& folder);

// How many bytes the files have that the model of a folder, and what belongs to it, is read from;
// of a model in one file, that file.
uint64_t model_bytes(base::FileSystem& files, const std::string& folder);

}  // namespace headlight::recipes
