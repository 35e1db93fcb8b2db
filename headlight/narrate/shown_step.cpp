// Arrays of any rank as matrices below each other.
#include "headlight/narrate/shown_step.h"

#include <algorithm>
#include <map>
#include <utility>

#include "headlight/narrate/trace_with_steps.h"
#include "headlight/text/text.h"

namespace headlight::narrate {
namespace {

using explain::Axis;
using tensor::Tensor;

constexpr int64_t kMostMatrices = 4;

std::vector<std::string> labels_of(const ShownArray& array, int axis) {
  const auto place = static_cast<size_t>(axis);
  return place < array.labels.size() ? array.labels[place] : std::vector<std::string>();
}

// Where a matrix stands among those of an array: "Head 1 · thrones".
std::string place_text(const Catalogue& catalogue, const ShownArray& array, int64_t index) {
  std::string text;
  for (int axis = array.numbers.rank() - 3; axis >= 0; --axis) {
    const int64_t size = array.numbers.size(axis);
    const int64_t at = index % size;
    index /= size;
    const std::vector<std::string> labels = labels_of(array, axis);
    const bool of_heads = static_cast<size_t>(axis) < array.axes.size() &&
                          array.axes[static_cast<size_t>(axis)] == Axis::head;
    if (size == 1 && !of_heads) continue;
    std::string name = "[" + std::to_string(at) + "]";
    if (of_heads) name = catalogue.text("place.head", {{"head", std::to_string(at)}});
    if (static_cast<size_t>(at) < labels.size()) name = visible(labels[static_cast<size_t>(at)]);
    text = name + (text.empty() ? "" : " · " + text);
  }
  return text;
}

// One row per position of the last axis but one; a vector becomes a column.
struct Matrices {
  Tensor numbers;  // (matrices, rows, columns)
  MatrixLabels labels;
};

Matrices matrices_of(const ShownArray& array) {
  const Tensor& numbers = array.numbers;
  const int rank = numbers.rank();
  if (rank == 0) return {numbers.reshaped({1, 1, 1}), {}};
  if (rank == 1) return {numbers.reshaped({1, numbers.size(0), 1}), {labels_of(array, 0), {}}};
  const int64_t rows = numbers.size(-2);
  const int64_t columns = numbers.size(-1);
  const int64_t count = rows * columns == 0 ? 0 : numbers.elements() / (rows * columns);
  return {numbers.reshaped({count, rows, columns}),
          {labels_of(array, rank - 2), labels_of(array, rank - 1)}};
}

// "(7, 6)": without the batch axis of one sequence.
std::string shape_text(const tensor::Shape& shape) {
  std::string text;
  for (const int64_t size : shape.sizes()) {
    text += (text.empty() ? "(" : ", ") + std::to_string(size);
  }
  return text.empty() ? "()" : text + ")";
}

std::string matrices_text(const TextStyle& output, const Catalogue& catalogue,
                          const ShownArray& array) {
  TextStyle style = output;
  style.decimal = catalogue.decimal();
  const auto [numbers, labels] = matrices_of(array);
  const int64_t count = numbers.size(0);
  std::string text;
  LeftOut left;
  for (int64_t i = 0; i < std::min(count, kMostMatrices); ++i) {
    const std::string place = place_text(catalogue, array, i);
    if (!place.empty()) text += "  " + place + "\n";
    const Tensor matrix = numbers.slice(0, i, 1).reshaped({numbers.size(1), numbers.size(2)});
    const MatrixDrawing drawing = draw_matrix(style, matrix, labels, array.digits);
    text += drawing.text;
    left = drawing.left_out;
  }
  if (!left.nothing()) text += wrapped(left_out_text(catalogue, left), style.width, "  ");
  if (count > kMostMatrices) {
    text += wrapped(catalogue.text("message.left_out_matrices",
                                   {{"matrices", std::to_string(count - kMostMatrices)},
                                    {"all_matrices", std::to_string(count)}}),
                    style.width, "  ");
  }
  return text;
}

// The step goes on with another one.
void join(ShownStep& step, const ShownStep& more) {
  const auto append = [](auto& list, const auto& items) {
    list.insert(list.end(), items.begin(), items.end());
  };
  step.afterwards.push_back(more.title);
  append(step.afterwards, more.paragraphs);
  append(step.afterwards, more.afterwards);
  append(step.numbers, more.numbers);
  append(step.arrays, more.arrays);
}

io::Json step_json(const ShownStep& step, int64_t most_elements) {
  io::Json::Object numbers;
  for (const ShownNumber& number : step.numbers) numbers.emplace_back(number.name, number.value);
  io::Json::Array arrays;
  for (const ShownArray& array : step.arrays) {
    const bool has_numbers = array.numbers.defined();
    const tensor::Shape shape = has_numbers ? array.numbers.shape() : array.shape;
    io::Json::Object entry = {
        {"name", array.name},
        {"title", array.title},
        {"shape", io::Json::Array(shape.sizes().begin(), shape.sizes().end())}};
    if (!array.tensor.empty() && array.tensor != array.name) {
      entry.emplace_back("tensor", array.tensor);
    }
    if (has_numbers && shape.elements() <= most_elements) {
      entry.emplace_back("values", array_json(array.numbers));
    }
    arrays.emplace_back(std::move(entry));
  }
  io::Json::Array text(step.paragraphs.begin(), step.paragraphs.end());
  text.insert(text.end(), step.afterwards.begin(), step.afterwards.end());
  return io::Json::Object{{"step", step.number},
                          {"title", step.title},
                          {"text", std::move(text)},
                          {"numbers", std::move(numbers)},
                          {"arrays", std::move(arrays)}};
}

}  // namespace

std::string left_out_text(const Catalogue& catalogue, const LeftOut& left) {
  const std::string key = left.columns == 0 ? "message.left_out.rows"
                          : left.rows == 0  ? "message.left_out.columns"
                                            : "message.left_out";
  return catalogue.text(key, {{"rows", std::to_string(left.rows)},
                              {"all_rows", std::to_string(left.all_rows)},
                              {"columns", std::to_string(left.columns)},
                              {"all_columns", std::to_string(left.all_columns)}});
}

std::string array_drawing(const TextStyle& style, const Catalogue& catalogue,
                          const ShownArray& array) {
  const std::string shape = shape_text(array.numbers.shape());
  const std::string name = array.name == array.title ? "" : array.name;
  const bool fits = text::columns(array.title + shape + name) + 6 <= style.width;
  std::string text = "  " + bold(style, array.title) + "  " + shape;
  if (!name.empty()) text += (fits ? "  " : "\n  ") + name;
  text += "\n";
  if (!array.formula.empty()) text += wrapped(array.formula, style.width, "    ");
  if (!array.text.empty()) text += wrapped(array.text, style.width, "  ");
  return text + matrices_text(style, catalogue, array) + "\n";
}

std::string step_text(const TextStyle& style, const Catalogue& catalogue,
                      const std::string& heading, const ShownStep& step) {
  std::string text = wrapped(heading, style.width);
  if (style.colors) {
    text = bold(style, text.substr(0, text.size() - 1)) + "\n";
  } else {
    text +=
        std::string(static_cast<size_t>(std::min(text::columns(heading), style.width)), '-') + "\n";
  }
  const auto paragraphs = [&](const std::vector<std::string>& all) {
    for (const std::string& paragraph : all) text += wrapped(paragraph, style.width) + "\n";
  };
  paragraphs(step.paragraphs);
  for (const ShownTable& table : step.tables) {
    text += table_text(table.lines, style.width) + "\n";
  }
  for (const ShownArray& array : step.arrays) text += array_drawing(style, catalogue, array);
  if (!step.heads.empty()) text += draw_heads(style, step.heads);
  paragraphs(step.afterwards);
  for (const std::string& slip : step.slips) {
    text += wrapped(catalogue.text("slip.label") + ": " + catalogue.text("slip." + slip + ".said"),
                    style.width);
    text += wrapped(catalogue.text("slip." + slip + ".right"), style.width, "  ") + "\n";
  }
  return text;
}

io::Json steps_json(const std::vector<ShownStep>& steps, int64_t most_elements) {
  std::map<int, ShownStep> by_number;
  int number = 0;
  for (const ShownStep& step : steps) {
    if (step.number != 0) number = step.number;
    const auto [place, is_new] = by_number.emplace(number, step);
    if (!is_new) join(place->second, step);
  }
  io::Json::Array list;
  for (const auto& [_, step] : by_number) list.push_back(step_json(step, most_elements));
  return list;
}

ShownArray named_tensor(const Catalogue& catalogue, const explain::TracedTensor& tensor) {
  return {.name = tensor.name,
          .title = catalogue.title(tensor),
          .text = catalogue.operation(tensor),
          .formula = catalogue.formula(tensor),
          .numbers = {},
          .shape = tensor.shape,
          .axes = tensor.axes};
}

ShownArray shown_tensor(const explain::Trace& trace, const Catalogue& catalogue,
                        const explain::TracedTensor& tensor, int64_t head) {
  ShownArray array = named_tensor(catalogue, tensor);
  array.tensor = tensor.name;
  array.numbers = trace.values(tensor.name);
  for (const Axis axis : tensor.axes) array.labels.push_back(trace.labels(axis));
  const int head_axis = tensor.head_axis();
  const auto head_label = [&](int64_t number) {
    return catalogue.text("place.head", {{"head", std::to_string(number)}});
  };
  for (const int64_t number : tensor.head_numbers) {
    array.labels[static_cast<size_t>(head_axis)].push_back(head_label(number));
  }
  if (head >= 0 && head_axis >= 0) {
    array.numbers = array.numbers.slice(head_axis, head, 1).contiguous();
    array.tensor_begin = head * array.numbers.elements();  // of the one sequence
    const int64_t number = tensor.head_number(head);
    array.labels[static_cast<size_t>(head_axis)] = {head_label(number)};
    const std::string place = tensor.name.substr(0, tensor.name.rfind('.'));
    array.name = place + ".head." + std::to_string(number) + tensor.name.substr(place.size());
  }
  // A vector for each row of a sequence is drawn as one column: (1, T) as (T,).
  const auto axis_count = static_cast<size_t>(array.numbers.rank());
  const bool of_rows =
      axis_count >= 2 && !tensor.axes.empty() &&
      (tensor.axes.back() == Axis::token || tensor.axes.back() == Axis::source_token) &&
      tensor.axes[axis_count - 2] != Axis::token &&
      tensor.axes[axis_count - 2] != Axis::source_token;
  if (of_rows) {
    std::vector<int64_t> sizes(array.numbers.shape().sizes().begin(),
                               array.numbers.shape().sizes().end());
    sizes.push_back(1);
    array.numbers = array.numbers.reshaped(tensor::Shape(sizes));
    array.labels.emplace_back();
    array.axes.push_back(Axis::column);
  }
  return array;
}

}  // namespace headlight::narrate
