// The tokenizer beside a model.
#pragma once

#include <optional>

#include "apps/cli/model_argument.h"
#include "headlight/text/text.h"

namespace headlight::cli {

// Nothing where the folder has none. Throws Error(bad_input) when it has more tokens than the model
// has ids.
std::optional<text::Tokenizer> find_tokenizer(const Session& session, const LoadedModel& loaded);
// The same where text cannot do without it; `way_out` ends the message when there is none.
text::Tokenizer need_tokenizer(const Session& session, const LoadedModel& loaded,
                               std::string_view way_out = "");

}  // namespace headlight::cli
