// Texts for a model that classifies.
#pragma once

#include "headlight/infer/infer.h"
#include "headlight/recipes/named_model.h"

namespace headlight::recipes {

// A line as the model reads it: a text, or two with a tab between them, with what the tokenizer
// puts around and between them. Throws Error(bad_input) with `place` for what no token stands for,
// more than one tab, a tokenizer that does not say what two texts become, nothing to read, and more
// tokens than the context has.
infer::ClassifiedText classified_text(const text::Tokenizer& tokenizer, const models::Model& model,
                                      const std::string& line, const std::string& place);

}  // namespace headlight::recipes
