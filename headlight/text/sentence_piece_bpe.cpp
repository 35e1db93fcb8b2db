// Merging by scores.
#include "headlight/text/sentence_piece_bpe.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

using Type = SentencePieceFile::Type;

uint64_t key_of_pair(char32_t left, char32_t right) { return uint64_t{left} << 32 | right; }

bool is_mergeable(Type type) {
  return type == Type::normal || type == Type::user_defined || type == Type::unused;
}

}  // namespace

SentencePieceBpe::SentencePieceBpe(const SentencePieceFile& file, const std::string& name)
    : file_(file) {
  std::vector<std::pair<std::string_view, int32_t>> kept;
  for (size_t i = 0; i < file.pieces.size(); ++i) {
    const SentencePieceFile::Piece& piece = file.pieces[i];
    if (!is_mergeable(piece.type)) continue;
    ids_.emplace(piece.text, static_cast<int32_t>(i));
    longest_ = std::max(longest_, piece.text.size());
    if (piece.type == Type::user_defined) kept.emplace_back(piece.text, static_cast<int32_t>(i));
    char32_t before = 0;
    for (size_t at = 0; at < piece.text.size();) {
      const CodePoint point = code_point_at(piece.text, at);
      if (at > 0) inner_pairs_.insert(key_of_pair(before, point.value));
      before = point.value;
      at += point.length;
    }
  }
  if (!kept.empty()) kept_.emplace(std::move(kept), name);
}

int32_t SentencePieceBpe::find(std::string_view piece) const {
  if (piece.size() > longest_) return kUnknown;
  const auto found = ids_.find(piece);
  return found == ids_.end() ? kUnknown : found->second;
}

bool SentencePieceBpe::is_unused(int32_t id) const {
  return file_.pieces[static_cast<size_t>(id)].type == Type::unused;
}

float SentencePieceBpe::score(int32_t id) const {
  return file_.pieces[static_cast<size_t>(id)].score;
}

// The merging of one part of a text.
class SentencePieceBpe::Run {
 public:
  explicit Run(const SentencePieceBpe& bpe) : bpe_(bpe) {}

  size_t size() const { return symbols_.size(); }

  void add(std::string_view piece, bool is_frozen) {
    const auto place = static_cast<int32_t>(symbols_.size());
    if (place > 0) symbols_.back().next = place;
    symbols_.push_back({piece, place - 1, -1, is_frozen});
  }

  void merge_all() {
    for (int32_t place = 0; place + 1 < static_cast<int32_t>(symbols_.size()); ++place) {
      wait_for_merge(place, place + 1);
    }
    while (!waiting_.empty()) {
      const Pair pair = waiting_.top();
      waiting_.pop();
      Symbol& left = at(pair.left);
      Symbol& right = at(pair.right);
      // An earlier merge may have taken either half.
      if (left.piece.empty() || right.piece.empty()) continue;
      if (left.piece.size() + right.piece.size() != pair.size) continue;
      left.piece = std::string_view(left.piece.data(), pair.size);
      left.next = right.next;
      if (right.next >= 0) at(right.next).previous = pair.left;
      right.piece = {};
      wait_for_merge(left.previous, pair.left);
      wait_for_merge(pair.left, left.next);
    }
  }

  void give(const Taker& take) const {
    for (int32_t place = symbols_.empty() ? -1 : 0; place >= 0;
         place = symbols_[static_cast<size_t>(place)].next) {
      give_piece(symbols_[static_cast<size_t>(place)].piece, 0, take);
    }
  }

 private:
  struct Symbol {
    std::string_view piece;
    int32_t previous;
    int32_t next;
    bool is_frozen;
  };
  struct Pair {
    float score;
    int32_t left;
    int32_t right;
    size_t size;
    // What comes later: lower scores, places to the right.
    bool operator<(const Pair& other) const {
      return score != other.score ? score < other.score : left > other.left;
    }
  };

  Symbol& at(int32_t place) { return symbols_[static_cast<size_t>(place)]; }

  void wait_for_merge(int32_t left, int32_t right) {
    if (left < 0 || right < 0 || at(left).is_frozen || at(right).is_frozen) return;
    const std::string_view first = at(left).piece;
    const std::string_view second = at(right).piece;
    const std::string_view piece(first.data(), first.size() + second.size());
    const int32_t id = bpe_.find(piece);
    if (id == kUnknown) return;
    waiting_.push({bpe_.score(id), left, right, piece.size()});
    if (bpe_.is_unused(id)) halves_[piece] = {first, second};
  }

  // Pieces that are not used come apart again.
  void give_piece(std::string_view piece, int depth, const Taker& take) const {
    constexpr int kDeepest = 100;
    const int32_t id = bpe_.find(piece);
    if (id == kUnknown || depth > kDeepest || !bpe_.is_unused(id)) return take(piece, id);
    const auto halves = halves_.find(piece);
    if (halves == halves_.end()) return take(piece, kUnknown);
    give_piece(halves->second.first, depth + 1, take);
    give_piece(halves->second.second, depth + 1, take);
  }

  const SentencePieceBpe& bpe_;
  std::vector<Symbol> symbols_ = {};
  std::priority_queue<Pair> waiting_ = {};
  std::unordered_map<std::string_view, std::pair<std::string_view, std::string_view>> halves_ = {};
};

// A part of a long text ends between characters that stand side by side in no piece, where it makes
// no difference.
size_t SentencePieceBpe::encode_part(std::string_view text, size_t at, const Taker& take) const {
  constexpr size_t kLong = 256;
  Run run(*this);
  char32_t before = 0;
  while (at < text.size()) {
    const CodePoint point = code_point_at(text, at);
    if (run.size() > kLong && !inner_pairs_.contains(key_of_pair(before, point.value))) break;
    const size_t kept = kept_ ? kept_->longest(text.substr(at)) : 0;
    const size_t length = kept > 0 ? kept : point.length;
    run.add(text.substr(at, length), kept > 0);
    at += length;
    // Nothing is joined to the user's own pieces.
    before = kept > 0 ? 0x110000 : point.value;
  }
  run.merge_all();
  run.give(take);
  return at;
}

}  // namespace headlight::text
