// Sizes up to which arrays are shown whole.
#include "headlight/narrate/lessons/shown_excerpt.h"

#include <algorithm>

namespace headlight::narrate {
namespace {

constexpr int64_t kWhole = 24;  // rows or columns that are all shown
constexpr int64_t kFirst = 12;  // of more
constexpr int64_t kMostShownHeads = 16;
constexpr int64_t kMostSequences = 2;
constexpr int64_t kMostOthers = 12;

int64_t part_shown(int64_t size) { return size <= kWhole ? size : kFirst; }

int64_t most_of(const ShownArray& array, int axis) {
  const auto place = static_cast<size_t>(axis);
  if (place >= array.axes.size()) return kMostOthers;
  if (array.axes[place] == explain::Axis::head) return kMostShownHeads;
  return array.axes[place] == explain::Axis::batch ? kMostSequences : kMostOthers;
}

}  // namespace

ShownExcerpt excerpt_of(const ShownArray& array) {
  const tensor::Shape& shape = array.numbers.shape();
  const int rank = shape.rank();
  ShownExcerpt excerpt;
  if (rank == 1) excerpt.rows = shape[0];
  if (rank >= 2) {
    excerpt.rows = shape[rank - 2];
    excerpt.columns = shape[rank - 1];
  }
  for (int axis = 0; axis < rank - 2; ++axis) {
    excerpt.outer.push_back(shape[axis]);
    excerpt.shown_outer.push_back(std::min(shape[axis], most_of(array, axis)));
  }
  excerpt.shown_rows = part_shown(excerpt.rows);
  excerpt.shown_columns = part_shown(excerpt.columns);
  return excerpt;
}

std::vector<int64_t> ShownExcerpt::places() const {
  std::vector<int64_t> matrices = {0};
  for (size_t axis = 0; axis < outer.size(); ++axis) {
    std::vector<int64_t> more;
    for (const int64_t before : matrices) {
      for (int64_t i = 0; i < shown_outer[axis]; ++i) more.push_back(before * outer[axis] + i);
    }
    matrices = std::move(more);
  }
  std::vector<int64_t> places;
  for (const int64_t matrix : matrices) {
    for (int64_t r = 0; r < shown_rows; ++r) {
      for (int64_t c = 0; c < shown_columns; ++c) {
        places.push_back((matrix * rows + r) * columns + c);
      }
    }
  }
  return places;
}

std::vector<int64_t> index_in(const tensor::Shape& shape, int64_t place) {
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[static_cast<size_t>(axis)] = place % shape[axis];
    place /= shape[axis];
  }
  return index;
}

}  // namespace headlight::narrate
