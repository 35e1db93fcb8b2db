// Registry: the architectures that can be read and trained. A value: who knows others makes their
// own and hands it to load_model.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/models/architecture.h"

namespace headlight::models {

class Registry {
 public:
  // One of each model_type; the first of two counts.
  explicit Registry(std::vector<Architecture> architectures);

  const std::vector<Architecture>& architectures() const noexcept { return architectures_; }
  const Architecture* find(std::string_view model_type) const;  // nullptr when there is none
  std::vector<std::string_view> types() const;                  // in order, for messages
  // The types that have at least one of these capabilities, for messages: "gpt2 or bert".
  std::string types_that(std::initializer_list<bool Capabilities::*> any_of) const;

  // A model to be trained from scratch. Throws Error(bad_input) for a type that is unknown or is
  // only read from folders, and for sizes that cannot be.
  ModelPlan plan(std::string_view model_type, const ModelRequest& request) const;

 private:
  std::vector<Architecture> architectures_;
};

// Those of this library.
const Registry& known_architectures();

}  // namespace headlight::models
