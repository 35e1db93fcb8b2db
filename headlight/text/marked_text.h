// MarkedText: a text that knows which of its bytes somebody has given, and which a template wrote.
#pragma once

#include <string>
#include <string_view>

namespace headlight::text {

// UTF-8. Slices and sums keep the marks.
struct MarkedText {
  std::string bytes = {};
  // For each byte whether it was given ('\1') or written by a template ('\0'); empty: none was
  // given.
  std::string given = {};

  static MarkedText all_given(std::string_view bytes) {
    return {std::string(bytes), std::string(bytes.size(), '\1')};
  }

  bool is_given(size_t at) const { return !given.empty() && given[at] != '\0'; }
  bool has_given(size_t begin, size_t end) const {
    return std::string_view(given).substr(given.empty() ? 0 : begin, end - begin).find('\1') !=
           std::string_view::npos;
  }
  bool has_written(size_t begin, size_t end) const {
    return given.empty() ||
           std::string_view(given).substr(begin, end - begin).find('\0') != std::string_view::npos;
  }
  MarkedText slice(size_t begin, size_t end) const;
  MarkedText& append(const MarkedText& more);
  // Bytes with one mark for all of them.
  MarkedText& append(std::string_view more, bool is_given = false);
};

}  // namespace headlight::text
