// The MODEL of a command line: where all commands get their model from.
#pragma once

#include <memory>
#include <string>

#include "apps/cli/program.h"
#include "headlight/models/models.h"

namespace headlight::cli {

struct LoadedModel {
  std::string folder;
  std::unique_ptr<models::Model> model;
};

// The model that the command's operand MODEL names.
LoadedModel load_model_argument(const Session& session);

}  // namespace headlight::cli
