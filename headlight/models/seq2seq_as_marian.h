// A headlight-seq2seq model as a Marian one, which other programs open.
#pragma once

#include <memory>

#include "headlight/models/model.h"
#include "headlight/models/seq2seq.h"

namespace headlight::models {

// A Marian model that computes what `model` computes. Where that has its sinusoidal positions
// interleaved, the columns of all weights are put in Marian's order, which changes results by
// rounding alone; otherwise they are the same bits. Throws Error(bad_input), with `name` (a
// folder), that names the switch for which Marian has no place.
std::unique_ptr<Model> as_marian(const Seq2Seq& model, const std::string& name);

}  // namespace headlight::models
