// What every model does in the same way.
#include "headlight/models/model.h"

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

}  // namespace headlight::models
