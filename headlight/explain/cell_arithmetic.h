// How terms become a value, in double precision. Inside explain only.
#pragma once

#include "headlight/explain/cell_terms.h"

namespace headlight::explain {

// Of one cell of a sinusoid: sin or cos of position * rate.
struct SinusoidCell {
  double position = 0;
  double rate = 0;
  bool sine = true;
};
SinusoidCell sinusoid_cell(const TracedTensor& tensor, int64_t row, int64_t column);

struct Combined {
  double value = 0;
  double size = 0;  // of the terms, as the value is measured
};
Combined combine(const CellTerms& cell, const TracedTensor& tensor);

// relu, gelu or gelu_new.
double activated(std::string_view function, double x);

}  // namespace headlight::explain
