// Which numbers to show, how many digits they get, and columns of one width.
#include "apps/cli/arrays/print_array.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "apps/cli/program/terminal.h"
#include "headlight/narrate/narrate.h"

namespace headlight::cli {
namespace {

using narrate::kGap;
using narrate::shown_indices;

constexpr int64_t kPrintedRows = 16;
constexpr int64_t kPrintedColumns = 12;
constexpr int64_t kPrintedMatrices = 8;
constexpr int64_t kBetweenCells = 2;

std::vector<int64_t> both_ends(int64_t count, int64_t most) {
  return shown_indices(count, most, most / 2 - 1, most / 2 - 1);
}

struct Matrix {
  const float* data;
  int64_t cols;
  float at(int64_t row, int64_t col) const { return data[row * cols + col]; }
};

// Four digits after the point, with an exponent where numbers would be cut to nothing or grow long.
std::string cell_text(float number, std::chars_format format) {
  std::array<char, 64> buffer;
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, format, 4);
  return std::string(buffer.data(), result.ptr);
}

float largest_magnitude(const tensor::Tensor& array) {
  float largest = 0;
  for (int64_t i = 0; i < array.elements(); ++i) {
    const float magnitude = std::fabs(array.data<float>()[i]);
    if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
  }
  return largest;
}

std::chars_format format_for(float largest) {
  const bool is_plain = largest == 0 || (largest >= 1e-2F && largest < 1e6F);
  return is_plain ? std::chars_format::fixed : std::chars_format::scientific;
}

std::string matrix_text(const Matrix& matrix, const std::vector<int64_t>& rows,
                        const std::vector<int64_t>& cols, std::chars_format format) {
  std::vector<std::vector<std::string>> lines;
  size_t width = 0;
  for (const int64_t row : rows) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const int64_t col : cols) {
      const bool is_gap = row == kGap || col == kGap;
      line.push_back(is_gap ? "..." : cell_text(matrix.at(row, col), format));
      width = std::max(width, line.back().size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    for (const std::string& cell : line)
      text.append(kBetweenCells + width - cell.size(), ' ').append(cell);
    text += '\n';
  }
  return text;
}

// As many as the terminal has room for; a few in any case.
int64_t most_columns(float largest, std::chars_format format) {
  constexpr int64_t kFewestColumns = 4;
  const auto width = static_cast<int64_t>(cell_text(-largest, format).size()) + kBetweenCells;
  return std::clamp(columns_of_table() / width, kFewestColumns, kPrintedColumns);
}

// "[1, 0]" of matrix number `index` among those of `shape`'s first axes.
std::string index_text(const tensor::Shape& shape, int64_t index) {
  std::vector<int64_t> place;
  for (int axis = shape.rank() - 3; axis >= 0; --axis) {
    place.insert(place.begin(), index % shape[axis]);
    index /= shape[axis];
  }
  // As a shape is written.
  return tensor::Shape(place).text();
}

}  // namespace

std::string array_text(const std::string& name, const tensor::Tensor& array,
                       const std::string& file_option) {
  const int64_t height = array.size(-2);
  const int64_t width = array.size(-1);
  int64_t matrices = 1;
  for (int axis = 0; axis < array.rank() - 2; ++axis) matrices *= array.size(axis);
  const float largest = largest_magnitude(array);
  const std::chars_format format = format_for(largest);
  const int64_t columns = most_columns(largest, format);
  const bool is_whole = height <= kPrintedRows && width <= columns && matrices <= kPrintedMatrices;
  std::string text = name + " " + array.shape().text();
  text +=
      is_whole ? "\n" : "  (abbreviated: " + file_option + " FILE or --json gives every number)\n";
  for (const int64_t index : both_ends(matrices, kPrintedMatrices)) {
    if (array.rank() > 2) text += index == kGap ? "...\n" : index_text(array.shape(), index) + "\n";
    if (index == kGap) continue;
    text += matrix_text({array.data<float>() + index * height * width, width},
                        both_ends(height, kPrintedRows), both_ends(width, columns), format);
  }
  return text;
}

io::Json shape_json(const tensor::Tensor& array) {
  io::Json::Array shape;
  for (const int64_t size : array.shape().sizes()) shape.emplace_back(size);
  return shape;
}

void print_array_json(StandardOutput& output, const std::string& name,
                      const tensor::Tensor& array) {
  output.write(R"({"shape":)" + io::json_text(shape_json(array)) + ",\"" + name + "\":");
  io::write_json_array(output, array);
  output.write("}\n");
}

}  // namespace headlight::cli
