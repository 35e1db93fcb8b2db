// Texts by their beginnings. For text's own use.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headlight::text {

class Trie {
 public:
  static constexpr int32_t kNone = -1;

  // Texts, none empty and each once, with their values from 0 on. Throws Error(bad_input) for more
  // than any vocabulary in use has; `name` is for errors.
  Trie(std::vector<std::pair<std::string_view, int32_t>> texts, const std::string& name);

  // Calls found(length, value) for each text that `text` begins with, the shortest first.
  template <class Found>
  void for_each_beginning(std::string_view text, const Found& found) const {
    if (text.empty()) return;
    int32_t node = first_[static_cast<unsigned char>(text[0])];
    for (size_t at = 1; node != kNone; ++at) {
      const Node& here = nodes_[static_cast<size_t>(node)];
      if (here.value != kNone) found(at, here.value);
      if (at == text.size()) return;
      node = child(here, static_cast<unsigned char>(text[at]));
    }
  }

  // The length of the longest text that `text` begins with; 0: none.
  size_t longest(std::string_view text) const;

 private:
  struct Node {
    int32_t first_child = 0;
    int32_t value = kNone;
    uint16_t child_count = 0;
    unsigned char byte = 0;
  };

  int32_t child(const Node& parent, unsigned char byte) const;

  std::vector<Node> nodes_;  // children of a node stand together, by their bytes
  std::array<int32_t, 256> first_;
};

}  // namespace headlight::text
