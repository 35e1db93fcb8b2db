// What a page shows of an array: its first matrices, and of each its first rows and columns.
#pragma once

#include <cstdint>
#include <vector>

#include "headlight/narrate/shown_step.h"

namespace headlight::narrate {

struct ShownExcerpt {
  std::vector<int64_t> outer;        // sizes of the axes before the last two
  std::vector<int64_t> shown_outer;  // how much of each is shown
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t shown_rows = 1;
  int64_t shown_columns = 1;

  // The numbers that are shown, by their places in the array.
  std::vector<int64_t> places() const;
};
// A vector is one column, as in a terminal.
ShownExcerpt excerpt_of(const ShownArray& array);

// The index of a number of a contiguous tensor by its place.
std::vector<int64_t> index_in(const tensor::Shape& shape, int64_t place);

}  // namespace headlight::narrate
