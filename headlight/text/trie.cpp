// Building the trie level by level from sorted texts.
#include "headlight/text/trie.h"

#include <algorithm>

#include "headlight/text/vocabulary.h"

namespace headlight::text {
namespace {

constexpr size_t kMostNodes = size_t{1} << 24;

// A node whose children are still to come: the texts that pass through it.
struct Range {
  size_t node;
  size_t begin;
  size_t end;
  size_t depth;
};

}  // namespace

Trie::Trie(std::vector<std::pair<std::string_view, int32_t>> texts, const std::string& name,
           size_t longest) {
  first_.fill(kNone);
  for (const auto& [text, value] : texts) {
    if (text.size() <= longest) continue;
    refuse_tokenizer(name, "a token has " + std::to_string(text.size()) + " bytes, at most " +
                               std::to_string(longest) + " are read");
  }
  std::ranges::sort(texts);
  nodes_.emplace_back();  // the root
  std::vector<Range> waiting = {{0, 0, texts.size(), 0}};
  for (size_t i = 0; i < waiting.size(); ++i) {
    Range range = waiting[i];
    // A text that ends here comes before those that go on.
    if (range.begin < range.end && texts[range.begin].first.size() == range.depth) {
      nodes_[range.node].value = texts[range.begin++].second;
    }
    nodes_[range.node].first_child = static_cast<int32_t>(nodes_.size());
    while (range.begin < range.end) {
      const char byte = texts[range.begin].first[range.depth];
      size_t end = range.begin;
      while (end < range.end && texts[end].first[range.depth] == byte) ++end;
      if (nodes_.size() == kMostNodes) {
        refuse_tokenizer(name, "the vocabulary has more than " + std::to_string(kMostNodes) +
                                   " different beginnings");
      }
      waiting.push_back({nodes_.size(), range.begin, end, range.depth + 1});
      nodes_.push_back({.byte = static_cast<unsigned char>(byte)});
      ++nodes_[range.node].child_count;
      range.begin = end;
    }
  }
  for (size_t byte = 0; byte < first_.size(); ++byte) {
    first_[byte] = child_of(nodes_[0], static_cast<unsigned char>(byte));
  }
}

int32_t Trie::child_of(const Node& parent, unsigned char byte) const {
  const auto begin = nodes_.begin() + parent.first_child;
  const auto end = begin + parent.child_count;
  const auto found = std::ranges::lower_bound(begin, end, byte, {}, &Node::byte);
  if (found == end || found->byte != byte) return kNone;
  return static_cast<int32_t>(found - nodes_.begin());
}

size_t Trie::longest(std::string_view text) const {
  size_t length = 0;
  for_each_beginning(text, [&](size_t found, int32_t) { length = found; });
  return length;
}

}  // namespace headlight::text
