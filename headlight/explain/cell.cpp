// Reading and writing names of cells.
#include "headlight/explain/cell.h"

#include <charconv>
#include <optional>

namespace headlight::explain {
namespace {

using base::Error;
using base::ErrorKind;

[[noreturn]] void refuse_cell(std::string_view text, const std::string& why) {
  throw Error(ErrorKind::bad_input, "cell", io::in_quotes(text), why);
}

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || failure != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// "3,5" as numbers; nothing when it is something else.
std::optional<std::vector<int64_t>> numbers(std::string_view text) {
  std::vector<int64_t> list;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view piece = text.substr(0, comma);
    while (piece.starts_with(' ')) piece.remove_prefix(1);
    while (piece.ends_with(' ')) piece.remove_suffix(1);
    const std::optional<int64_t> number = whole_number(piece);
    if (!number) return {};
    list.push_back(*number);
    if (comma == text.size()) return list;
    text.remove_prefix(comma + 1);
  }
}

bool has_batch(const TracedTensor& tensor) {
  return !tensor.axes.empty() && tensor.axes.front() == Axis::batch;
}

std::string name_with_head(const std::string& name, int64_t head) {
  const size_t dot = name.rfind('.');
  return name.substr(0, dot) + ".head." + std::to_string(head) + name.substr(dot);
}

// How a cell is named whose head was forgotten: "encoder.0.self.head.0.scores[3,5]".
std::string of_one_head(const TracedTensor& tensor, const std::vector<int64_t>& index) {
  if (tensor.head_axis() < 1 || static_cast<int>(index.size()) + 2 != tensor.shape.rank())
    return "";
  const int64_t head = tensor.head_number(0);
  std::string text =
      "; of head " + std::to_string(head) + " it is " + name_with_head(tensor.name, head);
  for (size_t i = 0; i < index.size(); ++i) text += (i == 0 ? "[" : ",") + std::to_string(index[i]);
  return text + "]";
}

// "logits[3,5]" taken apart.
struct CellWords {
  std::string_view name;
  std::vector<int64_t> index;
};

CellWords cell_words(std::string_view text) {
  const size_t open = text.find('[');
  if (open == std::string_view::npos || !text.ends_with(']')) {
    refuse_cell(text,
                "a name and numbers in brackets are expected, e.g. "
                "encoder.0.self.head.2.scores[3,5]");
  }
  std::optional<std::vector<int64_t>> index =
      numbers(text.substr(open + 1, text.size() - open - 2));
  if (!index) refuse_cell(text, "whole numbers with commas are expected in the brackets");
  return {text.substr(0, open), *std::move(index)};
}

}  // namespace

void check_cell(std::string_view text) { cell_words(text); }

TensorSelection parse_tensor(const Trace& trace, std::string_view name) {
  constexpr std::string_view kHead = ".head.";
  if (trace.find(name) != nullptr) return {std::string(name)};
  const size_t head = name.find(kHead);
  const size_t number = head + kHead.size();
  const size_t dot = head == std::string_view::npos ? head : name.find('.', number);
  if (dot == std::string_view::npos) return {trace.at(name).name};
  const std::string place(name.substr(0, head));
  const std::string whole = place + std::string(name.substr(dot));
  const std::string_view written = name.substr(number, dot - number);
  const std::optional<int64_t> wanted = whole_number(written);
  if (const int64_t lost = trace.heads_lost_at(place); wanted && lost > 0) {
    refuse_cell(name, nn::why_no_head(*wanted, {}, lost));
  }
  const TracedTensor& tensor = trace.at(whole);
  if (tensor.head_axis() < 0) refuse_cell(name, whole + " has no heads");
  const std::optional<int64_t> index = wanted ? tensor.head_index(*wanted) : std::nullopt;
  if (index) return {whole, *index};
  if (wanted && !tensor.head_numbers.empty()) {
    refuse_cell(name, nn::why_no_head(*wanted, tensor.head_numbers, tensor.original_heads));
  }
  refuse_cell(name, "head " + std::string(written) + " is not within 0 and " +
                        std::to_string(tensor.shape[tensor.head_axis()] - 1));
}

CellReference parse_cell(const Trace& trace, std::string_view text) {
  CellWords words = cell_words(text);
  std::vector<int64_t>& index = words.index;
  const TensorSelection selection = parse_tensor(trace, words.name);
  const TracedTensor& tensor = trace.at(selection.name);
  const size_t rank = static_cast<size_t>(tensor.shape.rank()) - (selection.head >= 0 ? 1 : 0);
  const bool left_out = has_batch(tensor) && tensor.shape[0] == 1 && index.size() + 1 == rank;
  if (left_out) index.insert(index.begin(), 0);
  if (index.size() != rank) {
    refuse_cell(text, std::to_string(index.size()) + (index.size() == 1 ? " number" : " numbers") +
                          " for " + selection.name + ", whose shape is " + tensor.shape.text() +
                          (selection.head < 0 ? of_one_head(tensor, index) : ""));
  }
  if (selection.head >= 0) index.insert(index.begin() + tensor.head_axis(), selection.head);
  for (size_t axis = 0; axis < index.size(); ++axis) {
    const int64_t size = tensor.shape[static_cast<int>(axis)];
    if (index[axis] >= 0 && index[axis] < size) continue;
    refuse_cell(text, "index " + std::to_string(index[axis]) + " is not within 0 and " +
                          std::to_string(size - 1) + ", the shape of " + selection.name + " is " +
                          tensor.shape.text());
  }
  return {selection.name, std::move(index)};
}

std::string cell_text(const Trace& trace, const CellReference& cell) {
  const TracedTensor& tensor = trace.at(cell.name);
  const int head = tensor.head_axis();
  const size_t dot = cell.name.rfind('.');
  const bool by_head = head >= 0 && dot != std::string::npos && tensor.shape.rank() > head + 1;
  std::string text = cell.name;
  if (by_head) {
    text = name_with_head(cell.name, tensor.head_number(cell.index[static_cast<size_t>(head)]));
  }
  std::string separator = "[";
  const size_t first = has_batch(tensor) && tensor.shape[0] == 1 ? 1 : 0;
  for (size_t axis = first; axis < cell.index.size(); ++axis) {
    if (by_head && static_cast<int>(axis) == head) continue;
    text += separator + std::to_string(cell.index[axis]);
    separator = ",";
  }
  return text + "]";
}

}  // namespace headlight::explain
