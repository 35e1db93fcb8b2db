// Heads token to token: a cell is three columns wide and as dark as its weight is large.
#include <algorithm>
#include <array>
#include <cmath>

#include "headlight/narrate/draw_matrix.h"
#include "headlight/text/text.h"

namespace headlight::narrate {
namespace {

constexpr int64_t kCell = 3;
constexpr int64_t kLongestHeadLabel = 10;

using Lines = std::vector<std::string>;

// Shades where there are no colours, grounds where there are.
std::string cell_of(const TextStyle& style, float weight) {
  constexpr std::array<const char*, 6> kShades = {"·", "░", "▒", "▓", "█", "█"};
  constexpr std::array<int, 6> kGrounds = {255, 189, 147, 105, 63, 19};
  const double share = std::clamp(static_cast<double>(weight), 0.0, 1.0);
  const auto level = static_cast<size_t>(std::lround(share * (kShades.size() - 1)));
  if (!style.colors) {
    const std::string shade = kShades[level];
    return level == 0 ? " " + shade + " " : shade + shade + " ";
  }
  return "\033[48;5;" + std::to_string(kGrounds[level]) + "m   \033[0m";
}

int64_t margin_of(const HeadDrawing& head) {
  int64_t margin = 0;
  for (const std::string& label : head.labels.rows) {
    margin = std::max(margin, text::columns(cut_to(visible(label), kLongestHeadLabel)));
  }
  return margin;
}

int64_t width_of(const HeadDrawing& head) {
  const auto columns = std::min<int64_t>(head.weights.size(1), kMostHeadTokens);
  return margin_of(head) + 1 + kCell * columns;
}

// Lines of the same number of columns.
Lines lines_of(const TextStyle& style, const HeadDrawing& head, int64_t width) {
  const int64_t margin = margin_of(head);
  const auto rows = std::min<int64_t>(head.weights.size(0), kMostHeadTokens);
  const auto columns = std::min<int64_t>(head.weights.size(1), kMostHeadTokens);
  Lines lines = {padded(cut_to(head.title, width), width)};
  std::string heading(static_cast<size_t>(margin + 1), ' ');
  for (int64_t j = 0; j < columns; ++j) {
    const std::string label = visible(head.labels.columns[static_cast<size_t>(j)]);
    std::string start;
    for (size_t at = 0; at < label.size();) {
      const size_t length = text::code_point_at(label, at).length;
      if (text::columns(start + label.substr(at, length)) > kCell - 1) break;
      start += label.substr(at, length);
      at += length;
    }
    heading += padded(start, kCell);
  }
  lines.push_back(padded(heading, width));
  for (int64_t i = 0; i < rows; ++i) {
    std::string line =
        padded(cut_to(visible(head.labels.rows[static_cast<size_t>(i)]), kLongestHeadLabel),
               margin) +
        " ";
    for (int64_t j = 0; j < columns; ++j) {
      line += cell_of(style, head.weights.data<float>()[i * head.weights.size(1) + j]);
    }
    lines.push_back(line +
                    std::string(static_cast<size_t>(width - margin - 1 - kCell * columns), ' '));
  }
  return lines;
}

}  // namespace

std::string draw_heads(const TextStyle& style, const std::vector<HeadDrawing>& heads) {
  std::string text;
  for (size_t begin = 0; begin < heads.size();) {
    int64_t width = 0;
    size_t end = begin;
    std::vector<Lines> block;
    size_t height = 0;
    while (end < heads.size()) {
      const int64_t needed = std::max(width_of(heads[end]),
                                      std::min(text::columns(heads[end].title), style.width - 2));
      if (end > begin && width + 2 + needed > style.width) break;
      width += 2 + needed;
      block.push_back(lines_of(style, heads[end++], needed));
      height = std::max(height, block.back().size());
    }
    for (size_t row = 0; row < height; ++row) {
      std::string line;
      for (const Lines& lines : block) {
        line += "  " + (row < lines.size()
                            ? lines[row]
                            : std::string(static_cast<size_t>(text::columns(lines[0])), ' '));
      }
      if (!style.colors) line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    text += "\n";
    begin = end;
  }
  return text;
}

}  // namespace headlight::narrate
