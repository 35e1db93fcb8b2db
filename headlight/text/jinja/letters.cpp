// Cases, sides and pieces of texts.
#include "headlight/text/jinja/letters.h"

#include <utf8proc.h>

#include <algorithm>
#include <utility>

#include "headlight/text/jinja/lexer.h"
#include "headlight/text/jinja/text_search.h"
#include "headlight/text/unicode.h"

namespace headlight::text::jinja {
namespace {

// Letters whose large form is several letters.
std::string_view large_form(char32_t letter) {
  switch (letter) {
    case 0xDF:
      return "SS";
    case 0x149:
      return "\xCA\xBCN";
    case 0x1F0:
      return "J\xCC\x8C";
    case 0xFB00:
      return "FF";
    case 0xFB01:
      return "FI";
    case 0xFB02:
      return "FL";
    case 0xFB03:
      return "FFI";
    case 0xFB04:
      return "FFL";
    case 0xFB05:
    case 0xFB06:
      return "ST";
    default:
      return "";
  }
}

std::string upper_letter(char32_t letter) {
  if (const std::string_view form = large_form(letter); !form.empty()) return std::string(form);
  std::string result;
  append(result, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(letter))));
  return result;
}

bool is_small(char32_t letter) {
  return utf8proc_toupper(static_cast<utf8proc_int32_t>(letter)) !=
             static_cast<utf8proc_int32_t>(letter) ||
         !large_form(letter).empty();
}

bool is_large(char32_t letter) {
  return utf8proc_tolower(static_cast<utf8proc_int32_t>(letter)) !=
         static_cast<utf8proc_int32_t>(letter);
}

// Each letter becomes what `change` gives for it and its place.
template <class Change>
MarkedText changed(const MarkedText& text, Meter& meter, const Change& change) {
  meter.make(text.bytes.size());
  MarkedText result;
  for (size_t at = 0; at < text.bytes.size();) {
    const CodePoint letter = code_point_at(text.bytes, at);
    result.append(change(std::string_view(text.bytes).substr(at, letter.length), letter.value),
                  text.is_given(at));
    at += letter.length;
  }
  return result;
}

// In order, each once: a letter is found in few steps among however many.
std::vector<char32_t> set_of(std::string_view letters, Meter& meter) {
  meter.make(letters.size() * sizeof(char32_t));
  std::vector<char32_t> set;
  for (size_t at = 0; at < letters.size();) {
    const CodePoint letter = code_point_at(letters, at);
    set.push_back(letter.value);
    at += letter.length;
  }
  std::ranges::sort(set);
  set.erase(std::unique(set.begin(), set.end()), set.end());
  return set;
}

std::vector<MarkedText> split_at_space(const MarkedText& text, const Cuts& cuts) {
  struct Word {
    size_t begin;
    size_t end;
  };
  std::vector<Word> words;
  const std::string_view bytes = text.bytes;
  for (size_t at = space_at_begin(bytes); at < bytes.size();) {
    const size_t begin = at;
    while (at < bytes.size() && space_at_begin(bytes.substr(at)) == 0) {
      at += code_point_at(bytes, at).length;
    }
    words.push_back({begin, at});
    at += space_at_begin(bytes.substr(at));
  }
  // What is not cut stays one piece, with the white space at its outer side.
  const size_t most = cuts.most < 0 ? words.size() : static_cast<size_t>(cuts.most);
  if (words.size() > most && cuts.from_right) {
    words.erase(words.begin(), words.end() - static_cast<std::ptrdiff_t>(most) - 1);
    words.front().begin = 0;
  } else if (words.size() > most) {
    words.resize(most + 1);
    words.back().end = bytes.size();
  }
  std::vector<MarkedText> pieces;
  for (const Word& word : words) pieces.push_back(text.slice(word.begin, word.end));
  return pieces;
}

}  // namespace

MarkedText upper_text(const MarkedText& text, Meter& meter) {
  return changed(text, meter,
                 [](std::string_view, char32_t letter) { return upper_letter(letter); });
}

MarkedText lower_text(const MarkedText& text, Meter& meter) {
  return changed(text, meter, [](std::string_view bytes, char32_t) { return lower(bytes); });
}

MarkedText capitalized(const MarkedText& text, Meter& meter) {
  bool is_first = true;
  return changed(text, meter, [&](std::string_view bytes, char32_t letter) {
    return std::exchange(is_first, false) ? upper_letter(letter) : lower(bytes);
  });
}

MarkedText titled(const MarkedText& text, bool as_filter, Meter& meter) {
  bool is_first = true;
  return changed(text, meter, [&](std::string_view bytes, char32_t letter) {
    const bool is_between =
        as_filter
            ? is_python_space(letter) ||
                  (letter < 0x80 && std::string_view("-({[<").find(static_cast<char>(letter)) !=
                                        std::string_view::npos)
            : !is_small(letter) && !is_large(letter);
    std::string result = is_first && !is_between ? upper_letter(letter) : lower(bytes);
    is_first = is_between;
    return result;
  });
}

MarkedText stripped(const MarkedText& text, const std::optional<std::string>& letters, Sides sides,
                    Meter& meter) {
  meter.make(text.bytes.size());
  const std::string_view bytes = text.bytes;
  if (!letters) {
    const size_t begin = sides.left ? space_at_begin(bytes) : 0;
    const size_t end = sides.right ? bytes.size() - space_at_end(bytes) : bytes.size();
    return text.slice(begin, std::max(begin, end));
  }
  const std::vector<char32_t> set = set_of(*letters, meter);
  size_t begin = 0;
  size_t end = bytes.size();
  while (sides.left && begin < end) {
    const CodePoint letter = code_point_at(bytes, begin);
    if (!std::ranges::binary_search(set, letter.value)) break;
    begin += letter.length;
  }
  while (sides.right && end > begin) {
    size_t at = end - 1;
    while (at > begin && (static_cast<unsigned char>(bytes[at]) & 0xC0) == 0x80) --at;
    if (!std::ranges::binary_search(set, code_point_at(bytes, at).value)) break;
    end = at;
  }
  return text.slice(begin, end);
}

std::vector<MarkedText> split_text(const MarkedText& text, const Cuts& cuts, Meter& meter) {
  meter.make(2 * text.bytes.size());
  if (!cuts.separator) return split_at_space(text, cuts);
  const std::string& separator = *cuts.separator;
  if (separator.empty()) meter.refuse("split: the separator is empty");
  std::vector<MarkedText> pieces;
  int64_t left = cuts.most;
  const std::string_view bytes = text.bytes;
  if (cuts.from_right) {
    const TextSearch search(separator, TextSearch::Direction::from_right, meter);
    size_t end = bytes.size();
    while (left != 0) {
      const size_t at = search.find(bytes.substr(0, end));
      if (at == std::string::npos) break;
      meter.make(sizeof(MarkedText));
      pieces.push_back(text.slice(at + separator.size(), end));
      end = at;
      --left;
    }
    pieces.push_back(text.slice(0, end));
    std::ranges::reverse(pieces);
    return pieces;
  }
  const TextSearch search(separator, TextSearch::Direction::from_left, meter);
  size_t begin = 0;
  while (left != 0) {
    const size_t found = search.find(bytes.substr(begin));
    if (found == std::string::npos) break;
    const size_t at = begin + found;
    meter.make(sizeof(MarkedText));
    pieces.push_back(text.slice(begin, at));
    begin = at + separator.size();
    --left;
  }
  pieces.push_back(text.slice(begin, text.bytes.size()));
  return pieces;
}

std::vector<MarkedText> lines_of(const MarkedText& text, bool keeps_ends, Meter& meter) {
  meter.make(2 * text.bytes.size());
  std::vector<MarkedText> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.bytes.size();) {
    const CodePoint letter = code_point_at(text.bytes, at);
    size_t end = at + letter.length;
    const char32_t value = letter.value;
    const bool is_break = (value >= 0x0A && value <= 0x0D) || (value >= 0x1C && value <= 0x1E) ||
                          value == 0x85 || value == 0x2028 || value == 0x2029;
    if (is_break) {
      if (value == '\r' && end < text.bytes.size() && text.bytes[end] == '\n') ++end;
      meter.make(sizeof(MarkedText));
      lines.push_back(text.slice(begin, keeps_ends ? end : at));
      begin = end;
    }
    at = end;
  }
  if (begin < text.bytes.size()) lines.push_back(text.slice(begin, text.bytes.size()));
  return lines;
}

MarkedText replaced(const MarkedText& text, std::string_view old, const MarkedText& with,
                    int64_t most, Meter& meter) {
  meter.make(text.bytes.size());
  const TextSearch search(old, TextSearch::Direction::from_left, meter);
  MarkedText result;
  size_t begin = 0;
  size_t at = 0;
  for (; most != 0; --most) {
    if (old.empty()) {
      // Before each letter, and at the end.
      if (at > text.bytes.size()) break;
    } else {
      const size_t found = search.find(std::string_view(text.bytes).substr(begin));
      if (found == std::string::npos) break;
      at = begin + found;
    }
    meter.make(with.bytes.size());
    result.append(text.slice(begin, at)).append(with);
    begin = at + old.size();
    if (old.empty()) {
      at += at < text.bytes.size() ? code_point_at(text.bytes, at).length : 1;
    }
  }
  if (begin < text.bytes.size()) result.append(text.slice(begin, text.bytes.size()));
  return result;
}

bool is_lower_text(std::string_view text) {
  bool has_case = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint letter = code_point_at(text, at);
    if (is_large(letter.value)) return false;
    has_case |= is_small(letter.value);
    at += letter.length;
  }
  return has_case;
}

bool is_upper_text(std::string_view text) {
  bool has_case = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint letter = code_point_at(text, at);
    if (is_small(letter.value) && !is_large(letter.value)) return false;
    has_case |= is_large(letter.value);
    at += letter.length;
  }
  return has_case;
}

bool all_letters(std::string_view text, const std::function<bool(char32_t)>& is_wanted) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint letter = code_point_at(text, at);
    if (!is_wanted(letter.value)) return false;
    at += letter.length;
  }
  return !text.empty();
}

int64_t letters_before(std::string_view text, size_t at) {
  return std::ranges::count_if(text.substr(0, at), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  });
}

}  // namespace headlight::text::jinja
