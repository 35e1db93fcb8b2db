// Which pieces of a vocabulary make a text most probable, by Viterbi. For text's own use.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/text/trie.h"
#include "headlight/text/unicode.h"

namespace headlight::text {

// `Score` is the type in which scores are summed: others' choices between equals depend on it.
template <class Score>
class UnigramTable {
 public:
  static constexpr int32_t kUnknown = -1;
  static constexpr Score kUnknownPenalty = 10;  // below the lowest score

  struct Entry {
    std::string_view text;
    int32_t id;
    Score score;
    bool is_user_defined = false;
  };

  // What is found in texts. `lowest` is the lowest score of all tokens.
  UnigramTable(const std::vector<Entry>& entries, Score lowest, const std::string& name)
      : trie_(texts_of(entries), name),
        entries_(without_texts(entries)),
        unknown_score_(lowest - kUnknownPenalty) {}

  // Calls take(piece, id) for the best pieces in their order; a character that no piece is has the
  // id kUnknown. What has no piece across a place is decided there, so that long texts take little
  // memory.
  template <class Take>
  void for_each_piece(std::string_view text, const Take& take) const {
    std::vector<Node> nodes(1);
    size_t begin = 0;     // of what is undecided
    size_t frontier = 0;  // up to where pieces lead
    for (size_t at = 0; at < text.size();) {
      if (at == frontier && at - begin >= kLong) {
        give(text, begin, nodes, take);
        nodes = {nodes.back()};
        begin = at;
      }
      if (kIsSingle && std::abs(nodes[at - begin].score) > kMostScore) lower(nodes, at - begin);
      const size_t length = code_point_at(text, at).length;
      frontier = std::max(frontier, spread(text, at, begin, length, nodes));
      at += length;
    }
    give(text, begin, nodes, take);
  }

 private:
  static constexpr size_t kLong = 256;
  // Where single precision begins to lose what scores differ by, sums begin anew.
  static constexpr bool kIsSingle = sizeof(Score) == sizeof(float);
  static constexpr Score kMostScore = 100'000;
  static constexpr size_t kNowhere = SIZE_MAX;

  // The best path to a place: its score, its last piece and where that begins.
  struct Node {
    Score score = 0;
    int32_t id = kUnknown;
    size_t start = kNowhere;
  };

  static std::vector<std::pair<std::string_view, int32_t>> texts_of(
      const std::vector<Entry>& entries) {
    std::vector<std::pair<std::string_view, int32_t>> texts;
    for (size_t i = 0; i < entries.size(); ++i) {
      texts.emplace_back(entries[i].text, static_cast<int32_t>(i));
    }
    return texts;
  }

  static std::vector<Entry> without_texts(std::vector<Entry> entries) {
    for (Entry& entry : entries) entry.text = {};
    return entries;
  }

  // Extends the best path to `at` by each piece that begins there; gives the furthest end.
  size_t spread(std::string_view text, size_t at, size_t begin, size_t length,
                std::vector<Node>& nodes) const {
    const Score here = nodes[at - begin].score;
    bool has_single = false;
    size_t furthest = at;
    const auto reach = [&](size_t end, int32_t id, Score score) {
      if (nodes.size() <= end - begin) nodes.resize(end - begin + 1);
      Node& node = nodes[end - begin];
      furthest = std::max(furthest, end);
      const Score candidate = score + here;
      if (node.start == kNowhere || candidate > node.score) node = {candidate, id, at};
    };
    trie_.for_each_beginning(text.substr(at), [&](size_t size, int32_t index) {
      const Entry& entry = entries_[static_cast<size_t>(index)];
      reach(at + size, entry.id, entry.is_user_defined ? score_of_users(size) : entry.score);
      if (size == length) has_single = true;
    });
    if (!has_single) reach(at + length, kUnknown, unknown_score_);
    return furthest;
  }

  // Above those of other pieces, and the longer the better: as SentencePiece 0.2.3 has it.
  static Score score_of_users(size_t bytes) {
    return static_cast<Score>(0.1) * static_cast<Score>(bytes - 1);
  }

  static void lower(std::vector<Node>& nodes, size_t from) {
    const Score offset = nodes[from].score;
    for (size_t i = from; i < nodes.size(); ++i) {
      if (i == from || nodes[i].start != kNowhere) nodes[i].score -= offset;
    }
  }

  template <class Take>
  static void give(std::string_view text, size_t begin, const std::vector<Node>& nodes,
                   const Take& take) {
    std::vector<size_t> ends;
    for (size_t end = nodes.size() - 1; end > 0; end = nodes[end].start - begin)
      ends.push_back(end);
    for (size_t i = ends.size(); i-- > 0;) {
      const Node& node = nodes[ends[i]];
      take(text.substr(node.start, begin + ends[i] - node.start), node.id);
    }
  }

  Trie trie_;
  std::vector<Entry> entries_;
  Score unknown_score_;
};

}  // namespace headlight::text
