// The parts of bodies that hold texts: prompts, inputs of embeddings and messages.
#pragma once

#include "apps/server/openai/body_fields.h"
#include "apps/server/openai/requests.h"

namespace headlight::server::openai {

// A text, a list of texts, ids, or a list of lists of ids; none of the lists is empty, and there
// are at most `most` inputs. `param` is the field's name.
std::vector<Input> read_inputs(const std::string& param, const io::Json& value, size_t most);

// The field "messages".
std::vector<ChatMessage> read_messages(BodyFields& fields);

}  // namespace headlight::server::openai
