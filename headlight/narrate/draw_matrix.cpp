// How many digits and columns fit, and which colour a number has.
#include "headlight/narrate/draw_matrix.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "headlight/narrate/shown_indices.h"
#include "headlight/text/text.h"

namespace headlight::narrate {
namespace {

constexpr int64_t kLongestLabel = 12;

// Grounds of 256 colours from weak to strong, each with the ink that is readable on it: it does not
// matter whether the terminal is light or dark.
struct Ink {
  int ground;
  int ink;
};
constexpr std::array<Ink, 5> kPositive = {{{255, 16}, {153, 16}, {111, 16}, {68, 231}, {25, 231}}};
constexpr std::array<Ink, 5> kNegative = {{{255, 16}, {223, 16}, {215, 16}, {172, 16}, {130, 231}}};
constexpr Ink kHidden = {244, 231};

std::string inked(const Ink& ink, const std::string& text) {
  return "\033[48;5;" + std::to_string(ink.ground) + ";38;5;" + std::to_string(ink.ink) + "m" +
         text + "\033[0m";
}

const Ink& ink_of(double value, double largest) {
  if (!std::isfinite(value)) return kHidden;
  const auto& ramp = value < 0 ? kNegative : kPositive;
  const double share = largest > 0 ? std::fabs(value) / largest : 0;
  return ramp[std::min(ramp.size() - 1,
                       static_cast<size_t>(share * static_cast<double>(ramp.size())))];
}

double number_at(const tensor::Tensor& matrix, int64_t index) {
  return matrix.dtype() == tensor::DType::f32 ? static_cast<double>(matrix.data<float>()[index])
                                              : static_cast<double>(matrix.data<int64_t>()[index]);
}

// A zero has no sign.
std::string unsigned_if_zero(double value, int digits, std::chars_format format) {
  const std::string text = number_text(value, digits, format);
  return text.find_first_not_of("-0.") == std::string::npos && text.starts_with('-')
             ? text.substr(1)
             : text;
}

// What holds for all numbers of a matrix.
struct NumberFormat {
  std::chars_format notation = std::chars_format::fixed;
  int asked = -1;  // digits
  int digits = 0;
  double largest = 0;
};

NumberFormat number_format_of(const tensor::Tensor& matrix, int digits) {
  NumberFormat format{.asked = digits};
  bool whole = true;
  for (int64_t i = 0; i < matrix.elements(); ++i) {
    const double value = number_at(matrix, i);
    if (!std::isfinite(value)) continue;
    format.largest = std::max(format.largest, std::fabs(value));
    whole = whole && value == std::floor(value) && std::fabs(value) < 1e6;
  }
  if (whole) return format;
  const bool plain = format.largest >= std::pow(10.0, 1 - digits) && format.largest < 1e6;
  format.notation = plain ? std::chars_format::fixed : std::chars_format::scientific;
  format.digits = plain ? digits : 2;
  return format;
}

std::vector<int64_t> shown_of(int64_t count, int64_t most) {
  const int64_t kept = std::max<int64_t>(most - 1, 2);
  const int64_t front = (kept + 1) / 2;
  return shown_indices(count, most, front, kept - front);
}

int64_t left_out_of(const std::vector<int64_t>& indices, int64_t count) {
  const bool has_gap = std::find(indices.begin(), indices.end(), kGap) != indices.end();
  return count - static_cast<int64_t>(indices.size()) + (has_gap ? 1 : 0);
}

std::string label_of(const std::vector<std::string>& labels, int64_t index, bool numbered) {
  if (index == kGap) return "…";
  const auto place = static_cast<size_t>(index);
  if (place < labels.size()) return cut_to(visible(labels[place]), kLongestLabel);
  return numbered ? std::to_string(index) : "";
}

class Drawing {
 public:
  Drawing(const TextStyle& style, const tensor::Tensor& matrix, const MatrixLabels& labels)
      : style_(style), matrix_(matrix), labels_(labels) {}

  MatrixDrawing made(int digits, int64_t most_rows) {
    rows_ = shown_of(matrix_.size(0), most_rows);
    for (const int64_t row : rows_) {
      margin_ = std::max(margin_, text::columns(row_label(row)));
    }
    fit(digits);
    MatrixDrawing drawing;
    drawing.left_out = {left_out_of(rows_, matrix_.size(0)), matrix_.size(0),
                        left_out_of(columns_, matrix_.size(1)), matrix_.size(1)};
    if (!labels_.columns.empty() || drawing.left_out.columns > 0) drawing.text += heading();
    for (const int64_t row : rows_) drawing.text += line(row);
    return drawing;
  }

 private:
  std::string row_label(int64_t row) const {
    return label_of(labels_.rows, row, left_out_of(rows_, matrix_.size(0)) > 0);
  }
  std::string column_label(int64_t column) const { return label_of(labels_.columns, column, true); }
  std::string cell(int64_t row, int64_t column) const {
    if (row == kGap || column == kGap) return "…";
    return with_decimal(unsigned_if_zero(number_at(matrix_, row * matrix_.size(1) + column),
                                         format_.digits, format_.notation),
                        style_.decimal);
  }

  // Fewer digits first, then fewer columns.
  void fit(int digits) {
    // A column takes three at least.
    const int64_t possible = std::min(matrix_.size(1), style_.width / 3);
    for (int64_t most = possible; most > 0; --most) {
      columns_ = shown_of(matrix_.size(1), std::max<int64_t>(most, 3));
      const int least = most == matrix_.size(1) ? std::min(digits, 2) : digits;
      for (int tried = digits; tried >= least; --tried) {
        if (format_.asked != tried) format_ = number_format_of(matrix_, tried);
        measure();
        if (margin_ + total_width() <= style_.width) return;
      }
      if (most <= 3) return;
    }
  }
  void measure() {
    width_ = 1;
    for (const int64_t column : columns_) {
      if (!labels_.columns.empty()) {
        width_ = std::max(width_, std::min<int64_t>(text::columns(column_label(column)), 8));
      }
      for (const int64_t row : rows_) width_ = std::max(width_, text::columns(cell(row, column)));
    }
  }
  int64_t column_width(int64_t column) const { return column == kGap ? 1 : width_; }
  int64_t total_width() const {
    int64_t width = 2;
    for (const int64_t column : columns_) width += 2 + column_width(column);
    return width;
  }

  std::string heading() const {
    std::string text = std::string(static_cast<size_t>(margin_ + 2), ' ');
    for (const int64_t column : columns_) {
      text +=
          " " +
          padded_before(cut_to(column_label(column), column_width(column)), column_width(column)) +
          " ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  }
  std::string line(int64_t row) const {
    std::string text = "  " + padded(row_label(row), margin_);
    for (const int64_t column : columns_) {
      const std::string shown = " " + padded_before(cell(row, column), column_width(column)) + " ";
      const bool plain = !style_.colors || row == kGap || column == kGap;
      text +=
          plain ? shown
                : inked(ink_of(number_at(matrix_, row * matrix_.size(1) + column), format_.largest),
                        shown);
    }
    if (!style_.colors) text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  }

  const TextStyle& style_;
  const tensor::Tensor& matrix_;
  const MatrixLabels& labels_;
  std::vector<int64_t> rows_;
  std::vector<int64_t> columns_;
  NumberFormat format_;
  int64_t margin_ = 0;
  int64_t width_ = 1;
};

}  // namespace

std::string shaded(const TextStyle& style, const std::string& text, double value, double largest) {
  return style.colors ? inked(ink_of(value, largest), text) : text;
}

MatrixDrawing draw_matrix(const TextStyle& style, const tensor::Tensor& matrix,
                          const MatrixLabels& labels, int digits, int64_t most_rows) {
  return Drawing(style, matrix, labels).made(digits, most_rows);
}

}  // namespace headlight::narrate
