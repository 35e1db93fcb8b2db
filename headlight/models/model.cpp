// What every model does in the same way, and what is said where one cannot do something.
#include "headlight/models/model.h"

#include "headlight/models/registry.h"

namespace headlight::models {

void Model::load_state(const nn::StateDict& state, const std::string& where) {
  nn::load_state(
      parameters(), state,
      [this](const std::string& name, const Tensor& tensor) { return ignores(name, tensor); },
      where);
}

Tensor Model::next_logits(Context& context, const Batch& batch) const {
  return logits(context, last_rows(context, forward(context, batch), batch.lens)).data();
}

Decoding Model::start(Context& /*context*/, const Batch& /*source*/) const {
  base::refuse(type(), "decoding",
               "the model does not write text; that takes " +
                   known_architectures().types_that(
                       {&Capabilities::continues_prompt, &Capabilities::translates}));
}

Tensor Model::sentence_vectors(Context& /*context*/, const Value& /*output*/,
                               const Tensor& /*lens*/) const {
  base::refuse(type(), "sentence vectors",
               "the model gives none; that takes " +
                   known_architectures().types_that({&Capabilities::embeds}));
}

}  // namespace headlight::models
