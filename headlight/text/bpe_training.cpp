// Byte-level BPE from texts: again and again the most frequent pair becomes a token. Pairs know
// where they stand, so a merge costs as much as it changes, however long the pieces are.
#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>

#include "headlight/text/byte_alphabet.h"
#include "headlight/text/chain.h"
#include "headlight/text/tokenizer_make.h"
#include "headlight/text/tokenizer_parts.h"
#include "headlight/text/unicode.h"
#include "headlight/text/vocabulary_builder.h"

namespace headlight::text {
namespace {

constexpr int64_t kLeastCount = 2;         // a pair that stands once is learned by heart
constexpr size_t kLongestToken = 256;      // bytes as written in files
constexpr int64_t kLargestSize = 1 << 24;  // far beyond any vocabulary

class Trainer {
 public:
  Trainer(std::span<const std::string_view> texts, VocabularyBuilder& vocabulary)
      : vocabulary_(vocabulary) {
    // By bytes, so that nothing depends on how a hash table is filled.
    std::map<std::string_view, int64_t> counts;
    for (const std::string_view text : texts) {
      check_utf8(text);
      split_as_gpt2(text, [&](std::string_view piece) { ++counts[piece]; });
    }
    for (const auto& [piece, count] : counts) add_piece(piece, count);
    for (int32_t place = 0; place < chain_.size(); ++place) count_pair(place);
    push_changed();
  }

  // False when no pair is frequent enough.
  bool merge_next(Bpe::Merges& merges) {
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      const int64_t count = pairs_[best.key].count;
      if (count < kLeastCount) continue;
      if (count != best.count) {
        queue_.push({count, best.key});
      } else if (merge(best.key, merges)) {
        return true;
      }
    }
    return false;
  }

 private:
  struct Candidate {
    int64_t count;
    uint64_t key;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : key > other.key;
    }
  };
  struct Pair {
    int64_t count = 0;
    std::vector<int32_t> places = {};  // some may hold it no longer
  };

  void add_piece(std::string_view piece, int64_t count) {
    if (piece.size() > static_cast<size_t>(INT32_MAX - chain_.size())) {
      throw base::Error(base::ErrorKind::bad_input, "bpe training", "",
                        "more than 2147483647 bytes of distinct pieces");
    }
    for (size_t i = 0; i < piece.size(); ++i) {
      const auto byte = static_cast<unsigned char>(piece[i]);
      chain_.add(static_cast<int32_t>(*vocabulary_.find(byte_character(byte))), i == 0);
      weights_.push_back(count);
    }
  }

  uint64_t key_at(int32_t place) const {
    return pair_key(chain_.id(place), chain_.id(chain_.next(place)));
  }

  bool is_pair(int32_t place) const {
    return place != Chain::kNone && chain_.next(place) != Chain::kNone;
  }

  void count_pair(int32_t place) {
    if (!is_pair(place)) return;
    Pair& pair = pairs_[key_at(place)];
    pair.count += weights_[static_cast<size_t>(place)];
    pair.places.push_back(place);
    changed_.push_back(key_at(place));
  }

  void discount_pair(int32_t place) {
    if (is_pair(place)) pairs_[key_at(place)].count -= weights_[static_cast<size_t>(place)];
  }

  void push_changed() {
    std::ranges::sort(changed_);
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (const uint64_t key : changed_) queue_.push({pairs_[key].count, key});
    changed_.clear();
  }

  bool merge(uint64_t key, Bpe::Merges& merges) {
    const auto left = static_cast<int32_t>(key >> 32);
    const auto right = static_cast<int32_t>(key & 0xFFFFFFFF);
    const std::string first = vocabulary_.token(left);
    const std::string second = vocabulary_.token(right);
    if (first.size() + second.size() > kLongestToken) return false;
    const auto result = static_cast<int32_t>(vocabulary_.add(first + second));
    if (result < vocabulary_.special_count()) return false;
    std::vector<int32_t> places = std::move(pairs_[key].places);
    std::ranges::sort(places);
    for (const int32_t place : places) {
      if (!chain_.holds(place, left, right)) continue;
      discount_pair(chain_.previous(place));
      discount_pair(chain_.next(place));
      chain_.merge(place, result);
      count_pair(chain_.previous(place));
      count_pair(place);
    }
    pairs_.erase(key);
    push_changed();
    merges.emplace_back(first, second);
    return true;
  }

  VocabularyBuilder& vocabulary_;
  Chain chain_;
  std::vector<int64_t> weights_;  // by place: how often its piece stands in the texts
  std::unordered_map<uint64_t, Pair> pairs_;
  std::priority_queue<Candidate> queue_;
  std::vector<uint64_t> changed_;
};

}  // namespace

Tokenizer train_bpe(std::span<const std::string_view> texts, const BpeTraining& training) {
  VocabularyBuilder vocabulary(training.special);
  for (const char byte : bytes_in_order()) {
    const std::string& character = byte_character(static_cast<unsigned char>(byte));
    if (vocabulary.find(character)) {
      refuse_tokenizer(kNewTokenizer,
                       "the special token " + io::in_quotes(character) + " is a byte's name");
    }
    vocabulary.add(character);
  }
  if (training.vocabulary_size < vocabulary.size() || training.vocabulary_size > kLargestSize) {
    throw base::Error(base::ErrorKind::usage, "bpe training",
                      std::to_string(training.vocabulary_size),
                      "the vocabulary's size must be from " + std::to_string(vocabulary.size()) +
                          " (256 bytes and the special tokens) to " + std::to_string(kLargestSize));
  }
  Trainer trainer(texts, vocabulary);
  Bpe::Merges merges;
  while (vocabulary.size() < training.vocabulary_size && trainer.merge_next(merges)) {
  }
  io::Json frame = vocabulary.frame();
  TokenizerPlan plan = byte_level_plan(kNewTokenizer, vocabulary.take_entries(), std::move(merges),
                                       vocabulary.take_added());
  plan.post_processor = std::move(frame);
  return Tokenizer(TokenizerParts(std::move(plan)));
}

}  // namespace headlight::text
