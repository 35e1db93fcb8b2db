// What one pass of a model will hold, to be asked before it is made.
#pragma once

#include "headlight/models/models.h"

namespace headlight::recipes {

// What a pass is to give besides its last hidden states.
struct ForwardOutputs {
  bool logits = false;
  bool gradients = false;
  bool trace = false;  // every intermediate
};

// Throws Error(out_of_memory) about `where` when a pass over the batch needs more than is free.
// What is counted is what is held at once in any case; a pass may need somewhat more.
void check_forward_memory(base::FileSystem& files, models::Model& model, const models::Batch& batch,
                          const ForwardOutputs& outputs, const std::string& where);

}  // namespace headlight::recipes
