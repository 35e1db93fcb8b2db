// Which of many texts begin at each place of another. For text's own use.
#pragma once

#include <string_view>
#include <vector>

#include "headlight/text/trie.h"

namespace headlight::text {

// Aho and Corasick's automaton, run from the end of a text to its front: what it has read at a
// place is what begins there. The work is that of reading the text, whatever is looked for.
class TokenSearch {
 public:
  static constexpr int32_t kNone = -1;

  // Texts by their places in the list, none empty; of equals the first counts.
  explicit TokenSearch(const std::vector<std::string_view>& texts);

  // The longest of the texts that this one begins with, itself left out.
  int32_t next_shorter(int32_t index) const { return shorter_[static_cast<size_t>(index)]; }

  // A walk over a text from its front to its end, which keeps little of it.
  class Walk {
   public:
    Walk(const TokenSearch& search, std::string_view text) : search_(search), text_(text) {}
    // The longest text that begins here; kNone: none does. Places only grow.
    int32_t longest_at(size_t at) {
      if (at >= end_) read_block(at);
      return found_[at - begin_];
    }

   private:
    void read_block(size_t begin);

    const TokenSearch& search_;
    std::string_view text_;
    size_t begin_ = 0;  // of what was read
    size_t end_ = 0;
    std::vector<int32_t> found_;
  };

 private:
  TokenSearch(const std::vector<std::string_view>& texts, const std::vector<std::string>& reversed);
  int32_t step(int32_t node, char byte) const;

  size_t longest_text_ = 0;
  Trie trie_;  // of the texts from their ends to their fronts
  // By node: the longest ending of its beginning that is a node too, and the longest text in it.
  std::vector<int32_t> shorter_nodes_;
  std::vector<int32_t> longest_;
  std::vector<int32_t> shorter_;  // by text
};

}  // namespace headlight::text
