// Lists of parameters put together. Inside models only.
#pragma once

#include <initializer_list>
#include <set>

#include "headlight/nn/nn.h"

namespace headlight::models {

// All in order, each once: tied weights are in several lists.
inline nn::Parameters each_once(std::initializer_list<nn::Parameters> lists) {
  nn::Parameters all;
  std::set<const nn::Parameter*> seen;
  for (const nn::Parameters& list : lists) {
    for (const nn::ParameterHandle& parameter : list) {
      if (seen.insert(parameter.get()).second) all.push_back(parameter);
    }
  }
  return all;
}

}  // namespace headlight::models
