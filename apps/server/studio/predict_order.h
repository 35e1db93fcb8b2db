// What the body of POST /api/predict asks for.
#pragma once

#include <optional>
#include <string>

#include "headlight/recipes/recipes.h"

namespace headlight::server::studio {

struct PredictOrder {
  std::optional<std::string> model = {};  // an id, or
  std::optional<std::string> trace = {};  // the model of a trace's run
  std::optional<int64_t> run = {};
  recipes::NextWordsRequest request = {};
  bool stream = false;
};

// Throws HttpError 400 that names the field.
PredictOrder read_predict_order(const std::string& body);

}  // namespace headlight::server::studio
