// A model directory or an embedded model, read.
#include "apps/cli/model_argument.h"

#include "apps/cli/embedded.h"

namespace headlight::cli {

LoadedModel load_model_argument(const Session& session) {
  LoadedModel loaded{.folder = model_folder(session.files, session.arguments.text("model").value()),
                     .model = {}};
  loaded.model = models::load_model(session.files, loaded.folder);
  return loaded;
}

}  // namespace headlight::cli
