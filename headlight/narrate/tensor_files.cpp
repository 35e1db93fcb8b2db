// Labels around numbers.
#include "headlight/narrate/tensor_files.h"

#include <cmath>

#include "headlight/narrate/report/report.h"
#include "headlight/narrate/report/report_svg.h"
#include "headlight/narrate/text_layout.h"

namespace headlight::narrate {
namespace {

using explain::Trace;
using tensor::Tensor;

constexpr int64_t kMostCells = 1'000'000;
constexpr int64_t kMostDrawn = 256;

struct LabelledMatrix {
  Tensor numbers = {};  // (rows, cols)
  std::vector<std::string> rows = {};
  std::vector<std::string> columns = {};
  int64_t row_step = 1;
  int64_t col_step = 1;
};

// Of each position, or of each block's first.
std::vector<std::string> labels_on(const Trace& trace, explain::Axis axis, int64_t count,
                                   int64_t step) {
  const std::vector<std::string> words = trace.labels(axis);
  std::vector<std::string> labels;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i * step);
    labels.push_back(at < words.size() ? words[at] : std::to_string(at));
  }
  return labels;
}

LabelledMatrix matrix_named(const Trace& trace, const std::string& name, int64_t most) {
  const std::vector<int64_t> shape = explain::shape_of(trace, name);
  int64_t outer = 1;
  for (size_t i = 0; i + 2 < shape.size(); ++i) outer *= shape[i];
  const int64_t rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  const int64_t cols = shape.empty() ? 1 : shape.back();
  if (outer != 1) {
    base::refuse("export", name,
                 "is no matrix: its shape is " + tensor::Shape(shape).text() +
                     "; name one head, like encoder.0.self.head.0.weights");
  }
  if (most == 0 && rows * cols > kMostCells) {
    base::refuse("export", name,
                 "has " + std::to_string(rows * cols) + " cells, at most " +
                     std::to_string(kMostCells) + " are written; safetensors take more");
  }
  const explain::Tile tile = explain::tile_of(trace, name, {.most_rows = most, .most_cols = most});
  const Tensor& shown = tile.is_exact() ? tile.exact : tile.mean;
  const int64_t across = shown.rank() == 0 ? 1 : shown.size(-1);
  LabelledMatrix matrix{.row_step = tile.row_step, .col_step = tile.col_step};
  matrix.numbers = tensor::to_float32(shown).reshaped({shown.elements() / across, across});
  const explain::TracedTensor& tensor = trace.at(explain::parse_tensor(trace, name).name);
  const auto axis = [&](size_t from_end) {
    return tensor.axes.size() < from_end ? explain::Axis::column
                                         : tensor.axes[tensor.axes.size() - from_end];
  };
  matrix.rows = labels_on(trace, shape.size() < 2 ? explain::Axis::batch : axis(2),
                          matrix.numbers.size(0), matrix.row_step);
  matrix.columns = labels_on(trace, axis(1), across, matrix.col_step);
  return matrix;
}

}  // namespace

std::string tensor_csv(const Trace& trace, const std::string& name) {
  const LabelledMatrix matrix = matrix_named(trace, name, 0);
  std::string text = csv_text(name);
  for (const std::string& label : matrix.columns) text += "," + csv_text(label);
  text += "\r\n";
  const int64_t width = std::ssize(matrix.columns);
  for (size_t row = 0; row < matrix.rows.size(); ++row) {
    text += csv_text(matrix.rows[row]);
    for (int64_t column = 0; column < width; ++column) {
      const float number = matrix.numbers.data<float>()[static_cast<int64_t>(row) * width + column];
      text += ',';
      if (std::isfinite(number)) text += io::number_text(number);
    }
    text += "\r\n";
  }
  return text;
}

std::string tensor_svg(const Trace& trace, const Catalogue& catalogue, const std::string& name) {
  const LabelledMatrix matrix = matrix_named(trace, name, kMostDrawn);
  const explain::TracedTensor& tensor = trace.at(explain::parse_tensor(trace, name).name);
  MatrixPicture picture{.title = in_these_words(name),
                        .legend = in_these_words(catalogue.title(tensor))};
  for (const std::string& label : matrix.rows)
    picture.rows.push_back(in_these_words(visible(label)));
  for (const std::string& label : matrix.columns) {
    picture.columns.push_back(in_these_words(visible(label)));
  }
  for (int64_t i = 0; i < matrix.numbers.elements(); ++i) {
    picture.values.push_back(finite_or_nothing(matrix.numbers.data<float>()[i]));
  }
  return svg_document({draw_picture(picture, catalogue)}, name, catalogue.operation(tensor));
}

}  // namespace headlight::narrate
