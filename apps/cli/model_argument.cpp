// A model directory, read.
#include "apps/cli/model_argument.h"

namespace headlight::cli {

LoadedModel load_model_argument(const Session& session) {
  LoadedModel loaded{.folder = session.arguments.text("model").value(), .model = {}};
  while (loaded.folder.size() > 1 && loaded.folder.ends_with('/')) loaded.folder.pop_back();
  loaded.model = models::load_model(session.files, loaded.folder);
  return loaded;
}

}  // namespace headlight::cli
