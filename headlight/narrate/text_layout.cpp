// Widths are counted in columns, not in bytes: text may be in any script.
#include "headlight/narrate/text_layout.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "headlight/text/text.h"

namespace headlight::narrate {
namespace {

constexpr std::string_view kCut = "…";

using Words = std::vector<std::string_view>;

// A name of a formula that looks like a word.
bool is_formula_name(std::string_view word) {
  constexpr std::array<std::string_view, 6> kNames = {"pos", "sin", "cos", "exp", "tanh", "log"};
  return std::find(kNames.begin(), kNames.end(), word) != kNames.end();
}

// A number or a symbol rather than a word of a sentence: "512", "√D", "W_q", "C", "sin(pos". A
// Korean ending may follow it: "y입니다".
bool is_symbol(std::string_view word) {
  while (!word.empty() && std::string_view("(),.;:").find(word.back()) != std::string_view::npos) {
    word.remove_suffix(1);
  }
  while (word.starts_with('(')) word.remove_prefix(1);
  if (is_formula_name(word)) return true;
  int64_t letters = 0;
  bool is_korean = false;
  for (size_t at = 0; at < word.size(); at += text::code_point_at(word, at).length) {
    const char32_t letter = text::code_point_at(word, at).value;
    if (!text::is_letter(letter) && letter != U'\'' && letter != U'-') return true;
    const bool is_hangul = letter >= U'가' && letter <= U'힣';
    if (is_hangul && letters > 0 && !is_korean) break;
    is_korean = is_hangul;
    ++letters;
  }
  return letters <= 2;
}

bool is_number(std::string_view word) {
  if (word.starts_with('-')) word.remove_prefix(1);
  return !word.empty() && word.front() >= '0' && word.front() <= '9';
}

bool is_sign(std::string_view word) {
  constexpr std::array<std::string_view, 12> kSigns = {"·", "=", "/", "×", "+", "−",
                                                       "→", "←", "<", ">", "≤", "≥"};
  return std::find(kSigns.begin(), kSigns.end(), word) != kSigns.end();
}

// How many words from `begin` on are in parentheses that open in the first of them, when all are
// symbols: 3 for "(2, 4, 100)". 1 where there are none.
size_t in_parentheses(const Words& words, size_t begin) {
  int64_t open = 0;
  for (size_t i = begin; i < words.size() && (is_symbol(words[i]) || is_sign(words[i])); ++i) {
    open += std::count(words[i].begin(), words[i].end(), '(') -
            std::count(words[i].begin(), words[i].end(), ')');
    if (open <= 0) return i + 1 - begin;
  }
  return 1;
}

// How many words from `begin` on should stay on one line.
size_t kept_together(const Words& words, size_t begin) {
  size_t end = begin + in_parentheses(words, begin);
  if (is_formula_name(words[begin]) && end < words.size() && is_number(words[end])) ++end;
  while (end + 1 < words.size() && is_sign(words[end]) && is_symbol(words[end - 1]) &&
         is_symbol(words[end + 1])) {
    end += 1 + in_parentheses(words, end + 1);
  }
  const bool is_told = end < words.size() && words[end - 1].ends_with(':') && is_number(words[end]);
  if (is_told) end += kept_together(words, end);
  return end - begin;
}

// Words of a shell; what stands in quotes is part of one.
std::vector<std::string> shell_words(std::string_view command) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (size_t at = 0; at < command.size(); ++at) {
    const char c = command[at];
    if (c == ' ' && quote == 0) {
      if (!words.back().empty()) words.emplace_back();
      continue;
    }
    if (quote == 0 ? c == '"' || c == '\'' : c == quote) quote = quote == 0 ? c : 0;
    words.back() += c;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::string joined_by_blanks(const Words& words, size_t begin, size_t count) {
  std::string joined;
  for (size_t i = begin; i < begin + count; ++i) {
    joined.append(i > begin ? " " : "").append(words[i]);
  }
  return joined;
}

}  // namespace

std::string number_text(double value, int digits, std::chars_format format) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "−∞" : "∞";
  std::array<char, 400> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, digits);
  return {buffer.data(), end.ptr};
}

std::string with_decimal(std::string number, std::string_view decimal) {
  const size_t point = number.find('.');
  if (point != std::string::npos) number.replace(point, 1, decimal);
  return number;
}

std::string wrapped(std::string_view text, int64_t width, std::string_view indent) {
  std::string lines;
  std::string line(indent);
  bool is_empty = true;
  std::string one_line(text);
  std::ranges::replace_if(
      one_line, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  const std::string plain = text::printable(one_line);
  const Words words = text::words(plain);
  for (size_t at = 0; at < words.size();) {
    size_t count = kept_together(words, at);
    std::string piece = joined_by_blanks(words, at, count);
    if (text::columns(indent) + text::columns(piece) > width) {
      count = 1;
      piece = words[at];
    }
    if (!is_empty && text::columns(line) + 1 + text::columns(piece) > width) {
      lines += line + "\n";
      line = indent;
      is_empty = true;
    }
    line.append(is_empty ? "" : " ").append(piece);
    is_empty = false;
    at += count;
  }
  return is_empty ? lines : lines + line + "\n";
}

std::string wrapped_command(std::string_view command, int64_t width, std::string_view indent) {
  constexpr std::string_view kGoesOn = " \\";
  const std::vector<std::string> words = shell_words(command);
  const std::string hanging = std::string(indent) + "      ";
  std::string lines;
  std::string line(indent);
  bool is_empty = true;
  const auto add = [&](const std::string& piece, bool is_last) {
    const int64_t end = is_last ? 0 : text::columns(kGoesOn);
    if (!is_empty && text::columns(line) + 1 + text::columns(piece) + end > width) {
      lines.append(line).append(kGoesOn).append("\n");
      line = hanging;
      is_empty = true;
    }
    line.append(is_empty ? "" : " ").append(piece);
    is_empty = false;
  };
  for (size_t at = 0; at < words.size(); ++at) {
    const bool has_value =
        words[at].starts_with("--") && at + 1 < words.size() && !words[at + 1].starts_with("-");
    const std::string pair = has_value ? words[at] + " " + words[at + 1] : words[at];
    const bool fits = text::columns(hanging) + text::columns(pair) + 2 <= width;
    if (has_value && fits) ++at;
    add(fits ? pair : words[at], at + 1 == words.size());
  }
  return lines + line + "\n";
}

std::string shell_quoted(std::string_view value) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./:,+=@%").find(c) != std::string_view::npos ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  if (!value.empty() && std::ranges::all_of(value, is_plain)) return std::string(value);
  // In double quotes four characters mean something; an exclamation mark does in some shells.
  if (value.find_first_of("\"$`\\!") == std::string_view::npos) {
    return '"' + std::string(value) + '"';
  }
  std::string quoted = "'";
  for (const char c : value) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string padded(const std::string& text, int64_t width) {
  return text +
         std::string(static_cast<size_t>(std::max<int64_t>(0, width - text::columns(text))), ' ');
}

std::string padded_before(const std::string& text, int64_t width) {
  return std::string(static_cast<size_t>(std::max<int64_t>(0, width - text::columns(text))), ' ') +
         text;
}

std::string visible(const std::string& text) {
  std::string marked;
  for (const char c : text) {
    if (c == '\n') {
      marked += "⏎";
    } else if (c == '\t') {
      marked += "→";
    } else {
      marked += c;
    }
  }
  return text::printable(marked);
}

std::string cut_to(const std::string& text, int64_t width) {
  if (text::columns(text) <= width) return text;
  std::string shown;
  int64_t used = text::columns(kCut);
  for (size_t at = 0; at < text.size();) {
    const size_t length = text::code_point_at(text, at).length;
    const std::string letter = text.substr(at, length);
    used += text::columns(letter);
    if (used > width) break;
    shown += letter;
    at += length;
  }
  return shown.append(kCut);
}

std::string bold(const TextStyle& style, const std::string& text) {
  return style.colors ? "\033[1m" + text + "\033[0m" : text;
}

}  // namespace headlight::narrate
