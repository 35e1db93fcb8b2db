// Matrices for a terminal: labelled, aligned, coloured by value, abbreviated to fit.
#pragma once

#include <string>
#include <vector>

#include "headlight/narrate/text_layout.h"
#include "headlight/tensor/tensor.h"

namespace headlight::narrate {

// Labels may be absent: then rows and columns are numbered where they are abbreviated.
struct MatrixLabels {
  std::vector<std::string> rows = {};
  std::vector<std::string> columns = {};
};

// How much of a drawing is not there.
struct LeftOut {
  int64_t rows = 0;
  int64_t all_rows = 0;
  int64_t columns = 0;
  int64_t all_columns = 0;

  bool nothing() const { return rows == 0 && columns == 0; }
};

struct MatrixDrawing {
  std::string text;  // lines, each ended
  LeftOut left_out;
};

inline constexpr int64_t kMostRows = 16;

// float32 or int64, contiguous, (rows, columns). Numbers have as many digits as the width allows,
// the same for all, and the style's decimal sign; -infinity is written −∞.
MatrixDrawing draw_matrix(const TextStyle& style, const tensor::Tensor& matrix,
                          const MatrixLabels& labels, int digits = 4,
                          int64_t most_rows = kMostRows);

// A text on the ground that a number of this size has in a matrix whose largest is `largest`.
std::string shaded(const TextStyle& style, const std::string& text, double value, double largest);

// One head: how much each row's token looks at each column's.
struct HeadDrawing {
  std::string title;
  tensor::Tensor weights;  // float32, (T, S), within 0 and 1
  MatrixLabels labels;
  // As ShownArray: the tensor of a traced run, and where in it the weights begin.
  std::string tensor = {};
  int64_t tensor_begin = 0;
};
inline constexpr int64_t kMostHeadTokens = 20;  // of a row or a column
// Side by side as far as they fit, then below each other: shades from none to full.
std::string draw_heads(const TextStyle& style, const std::vector<HeadDrawing>& heads);

}  // namespace headlight::narrate
