// Pictures of heads_experiment.
#pragma once

#include <string>
#include <vector>

#include "examples/heads_experiment/tables.h"

namespace headlight {

struct NamedDrawing {
  std::string name;  // of a file: "methods.svg"
  std::string svg;
};
// Curves of all heads by method, of types by gradient, before and after fine-tuning; and ranks of
// heads by one score against those by another.
std::vector<NamedDrawing> study_drawings(const std::vector<StudiedSeed>& studies);

}  // namespace headlight
