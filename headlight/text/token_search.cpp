// Building the automaton, and running it block by block.
#include "headlight/text/token_search.h"

#include <algorithm>
#include <string>
#include <unordered_set>

namespace headlight::text {
namespace {

std::vector<std::string> reversed_texts(const std::vector<std::string_view>& texts) {
  std::vector<std::string> reversed;
  reversed.reserve(texts.size());
  for (const std::string_view text : texts) reversed.emplace_back(text.rbegin(), text.rend());
  return reversed;
}

std::vector<std::pair<std::string_view, int32_t>> without_equals(
    const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string_view, int32_t>> kept;
  std::unordered_set<std::string_view> seen;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (seen.insert(texts[i]).second) kept.emplace_back(texts[i], static_cast<int32_t>(i));
  }
  return kept;
}

}  // namespace

TokenSearch::TokenSearch(const std::vector<std::string_view>& texts)
    : TokenSearch(texts, reversed_texts(texts)) {}

TokenSearch::TokenSearch(const std::vector<std::string_view>& texts,
                         const std::vector<std::string>& reversed)
    : trie_(without_equals(reversed), "added_tokens", SIZE_MAX),
      shorter_nodes_(trie_.node_count(), Trie::kRoot),
      longest_(trie_.node_count(), kNone),
      shorter_(texts.size(), kNone) {
  for (const std::string_view text : texts) longest_text_ = std::max(longest_text_, text.size());
  // Nodes come by their depths, so that those further up are known.
  for (size_t i = 0; i < trie_.node_count(); ++i) {
    const auto node = static_cast<int32_t>(i);
    trie_.for_each_child(node, [&](char byte, int32_t child) {
      const auto place = static_cast<size_t>(child);
      if (node != Trie::kRoot) shorter_nodes_[place] = step(shorter_nodes_[i], byte);
      const int32_t within = longest_[static_cast<size_t>(shorter_nodes_[place])];
      const int32_t text = trie_.value(child);
      longest_[place] = text == Trie::kNone ? within : text;
      if (text != Trie::kNone) shorter_[static_cast<size_t>(text)] = within;
    });
  }
}

int32_t TokenSearch::step(int32_t node, char byte) const {
  while (true) {
    const int32_t child = trie_.child(node, byte);
    if (child != Trie::kNone) return child;
    if (node == Trie::kRoot) return Trie::kRoot;
    node = shorter_nodes_[static_cast<size_t>(node)];
  }
}

// What begins in a block may end behind it, by less than the longest text.
void TokenSearch::Walk::read_block(size_t begin) {
  constexpr size_t kBlock = 65'536;
  const size_t longest = search_.longest_text_;
  begin_ = begin;
  end_ = std::min(text_.size(), begin + std::max(kBlock, longest));
  found_.assign(end_ - begin_, kNone);
  int32_t node = Trie::kRoot;
  for (size_t at = std::min(text_.size(), end_ + longest); at-- > begin_;) {
    node = search_.step(node, text_[at]);
    if (at < end_) found_[at - begin_] = search_.longest_[static_cast<size_t>(node)];
  }
}

}  // namespace headlight::text
