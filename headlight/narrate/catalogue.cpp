// Reading and filling in the texts.
#include "headlight/narrate/catalogue.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "headlight/narrate/text_layout.h"

namespace headlight::narrate {
namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kBetween = " = ";
constexpr std::string_view kGoesOn = "  ";

// What stands for "name", or for "name|ending"; nothing where no value is given.
std::optional<std::string> filled_in(std::string_view inside,
                                     const std::vector<Placeholder>& values) {
  const size_t bar = inside.find('|');
  const auto value = std::ranges::find(values, inside.substr(0, bar), &Placeholder::first);
  if (value == values.end()) return std::nullopt;
  if (bar == std::string_view::npos) return value->second;
  return value->second == "1" ? "" : std::string(inside.substr(bar + 1));
}

}  // namespace

Catalogue::Catalogue(std::string_view language, std::initializer_list<std::string_view> files)
    : language_(language) {
  for (const std::string_view file : files) {
    std::string* last = nullptr;
    for (size_t begin = 0; begin < file.size();) {
      const size_t end = std::min(file.find('\n', begin), file.size());
      const std::string_view line = file.substr(begin, end - begin);
      begin = end + 1;
      if (line.empty() || line.front() == '#') continue;
      if (line.starts_with(kGoesOn) && last != nullptr) {
        last->append(" ").append(line.substr(line.find_first_not_of(' ')));
        continue;
      }
      const size_t between = line.find(kBetween);
      if (between == std::string_view::npos) {
        throw Error(ErrorKind::bad_input, "catalogue", language,
                    "not a key and a text: " + std::string(line));
      }
      const auto [entry, is_new] =
          texts_.emplace(line.substr(0, between), line.substr(between + kBetween.size()));
      if (!is_new) throw Error(ErrorKind::bad_input, "catalogue", entry->first, "is there twice");
      last = &entry->second;
    }
  }
  if (has("language.decimal")) decimal_ = text("language.decimal");
}

std::string Catalogue::text(std::string_view key, const std::vector<Placeholder>& values) const {
  const auto found = texts_.find(key);
  if (found == texts_.end()) {
    throw Error(ErrorKind::failed, "catalogue", std::string(key), "there is no such text");
  }
  const std::string& pattern = found->second;
  std::string filled;
  size_t at = 0;
  while (at < pattern.size()) {
    const size_t open = std::min(pattern.find('{', at), pattern.size());
    const size_t close = pattern.find('}', open);
    filled.append(pattern, at, open - at);
    if (close == std::string::npos) return filled.append(pattern, open);
    const std::string_view inside = std::string_view(pattern).substr(open + 1, close - open - 1);
    filled += filled_in(inside, values).value_or(pattern.substr(open, close + 1 - open));
    at = close + 1;
  }
  return filled;
}

std::string Catalogue::title(const explain::TracedTensor& tensor) const {
  if (tensor.is_parameter()) return text("tensor.parameter");
  std::string_view rest = tensor.text;
  while (!has("tensor." + std::string(rest))) {
    const size_t dot = rest.find('.');
    if (dot == std::string_view::npos) return tensor.name;
    rest.remove_prefix(dot + 1);
  }
  return text("tensor." + std::string(rest));
}

std::string Catalogue::operation(const explain::TracedTensor& tensor) const {
  std::string key = "operation." + tensor.formula;
  while (!has(key) && key.find('.') != std::string::npos) key.resize(key.rfind('.'));
  return text(key);
}

std::string Catalogue::formula(const explain::TracedTensor& tensor) const {
  return text("formula." + tensor.formula);
}

std::string Catalogue::number(double value, int digits) const {
  const bool vanishes = value != 0 && std::fabs(value) < 0.5 * std::pow(10.0, -digits);
  return with_decimal(
      number_text(value, digits, vanishes ? std::chars_format::general : std::chars_format::fixed),
      decimal_);
}

std::string Catalogue::significant(double value, int digits) const {
  if (value == 0) return "0";
  return with_decimal(number_text(value, digits, std::chars_format::general), decimal_);
}

}  // namespace headlight::narrate
