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

  static constexpr int32_t kRoot = 0;
  // Bytes of a text, where each place of what is looked at may take as many steps.
  static constexpr size_t kLongestText = 8000;

  // Texts, none empty and each once, with their values from 0 on. Throws Error(bad_input) for more
  // than any vocabulary in use has, and for one of more than `longest` bytes; `name` is for errors.
  Trie(std::vector<std::pair<std::string_view, int32_t>> texts, const std::string& name,
       size_t longest = kLongestText);

  // Calls found(length, value) for each text that `text` begins with, the shortest first.
  template <class Found>
  void for_each_beginning(std::string_view text, const Found& found) const {
    if (text.empty()) return;
    int32_t node = child(kRoot, text[0]);
    for (size_t at = 1; node != kNone; ++at) {
      const Node& here = nodes_[static_cast<size_t>(node)];
      if (here.value != kNone) found(at, here.value);
      if (at == text.size()) return;
      node = child_of(here, static_cast<unsigned char>(text[at]));
    }
  }

  // The length of the longest text that `text` begins with; 0: none.
  size_t longest(std::string_view text) const;

  // Node by node: beginnings of the texts by number, the shorter ones first, kRoot the empty one.
  size_t node_count() const { return nodes_.size(); }
  // The beginning with one more byte; kNone: there is none.
  int32_t child(int32_t node, char byte) const {
    const auto code = static_cast<unsigned char>(byte);
    return node == kRoot ? first_[code] : child_of(nodes_[static_cast<size_t>(node)], code);
  }
  // The value of the text that it is; kNone: it is only the beginning of one.
  int32_t value(int32_t node) const { return nodes_[static_cast<size_t>(node)].value; }
  // Calls take(byte, child) for each.
  template <class Take>
  void for_each_child(int32_t node, const Take& take) const {
    const Node& parent = nodes_[static_cast<size_t>(node)];
    for (int32_t i = 0; i < parent.child_count; ++i) {
      const int32_t child = parent.first_child + i;
      take(static_cast<char>(nodes_[static_cast<size_t>(child)].byte), child);
    }
  }

 private:
  struct Node {
    int32_t first_child = 0;
    int32_t value = kNone;
    uint16_t child_count = 0;
    unsigned char byte = 0;
  };

  int32_t child_of(const Node& parent, unsigned char byte) const;

  std::vector<Node> nodes_;  // children of a node stand together, by their bytes
  std::array<int32_t, 256> first_;
};

}  // namespace headlight::text
