// Byte-level BPE. The pairs that wait to be merged lie in one list per merge, so that a piece of n
// bytes takes O(n log n).
#include <algorithm>
#include <map>

#include "headlight/text/byte_alphabet.h"
#include "headlight/text/chain.h"
#include "headlight/text/model.h"

namespace headlight::text {
namespace {

constexpr int32_t kNone = Chain::kNone;

std::string merge_text(const std::pair<std::string, std::string>& merge) {
  return "merge " + io::in_quotes(merge.first + " " + merge.second);
}

}  // namespace

Bpe::Bpe(const Vocabulary& vocabulary, const Merges& merges, std::string unknown,
         const std::string& name)
    : unknown_token_(std::move(unknown)) {
  if (!unknown_token_.empty()) {
    unknown_ = vocabulary.find(unknown_token_);
    if (!unknown_) {
      refuse_tokenizer(name, "the unknown token " + io::in_quotes(unknown_token_) + " has no id");
    }
  }
  for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const auto id = vocabulary.find_plain(byte_character(static_cast<unsigned char>(byte)));
    byte_ids_[byte] = id ? static_cast<int32_t>(*id) : kNone;
  }
  ranks_.reserve(merges.size());
  for (const auto& merge : merges) {
    const auto id_of = [&](const std::string& token) {
      const std::optional<int64_t> id = vocabulary.find_plain(token);
      if (id) return static_cast<int32_t>(*id);
      refuse_tokenizer(
          name, merge_text(merge) + ": " + io::in_quotes(token) +
                    (vocabulary.find(token) ? " is a special token" : " is not in the vocabulary"));
    };
    const Merge found = {id_of(merge.first), id_of(merge.second),
                         id_of(merge.first + merge.second)};
    const auto rank = static_cast<int32_t>(merges_.size());
    const auto [place, is_new] = ranks_.emplace(pair_key(found.left, found.right), rank);
    if (!is_new) {
      refuse_tokenizer(name, merge_text(merge) + ": stands twice, as number " +
                                 std::to_string(place->second) + " and " + std::to_string(rank));
    }
    merges_.push_back(found);
  }
}

// The merging of one piece.
class Bpe::Run {
 public:
  Run(const Bpe& bpe, Chain& chain) : bpe_(bpe), chain_(chain) {}

  void merge_all() {
    for (int32_t place = 0; place < chain_.size(); ++place) wait_for_merge(place);
    while (!waiting_.empty()) {
      auto first = waiting_.extract(waiting_.begin());
      std::vector<int32_t>& places = first.mapped();
      if (!std::ranges::is_sorted(places)) std::ranges::sort(places);
      const Merge& merge = bpe_.merges_[static_cast<size_t>(first.key())];
      for (const int32_t place : places) {
        if (!chain_.holds(place, merge.left, merge.right)) continue;
        chain_.merge(place, merge.result);
        wait_for_merge(chain_.previous(place));
        wait_for_merge(place);
      }
    }
  }

 private:
  // The pair that begins here, if it can be merged.
  void wait_for_merge(int32_t place) {
    if (place == Chain::kNone || chain_.next(place) == Chain::kNone) return;
    const auto rank = bpe_.ranks_.find(pair_key(chain_.id(place), chain_.id(chain_.next(place))));
    if (rank != bpe_.ranks_.end()) waiting_[rank->second].push_back(place);
  }

  const Bpe& bpe_;
  Chain& chain_;
  std::map<int32_t, std::vector<int32_t>> waiting_;  // places by rank
};

void Bpe::encode(const Vocabulary&, std::string_view piece, Ids& ids) const {
  Chain chain;
  chain.reserve(piece.size());
  for (const char c : piece) {
    const auto byte = static_cast<unsigned char>(c);
    const int32_t id = byte_ids_[byte];
    chain.add(id != kNone ? id : static_cast<int32_t>(unknown_id(unknown_, byte_character(byte))),
              chain.size() == 0);
  }
  Run(*this, chain).merge_all();
  for (int32_t place = piece.empty() ? Chain::kNone : 0; place != Chain::kNone;
       place = chain.next(place)) {
    ids.push_back(chain.id(place));
  }
}

io::Json::Object Bpe::json(const Vocabulary& vocabulary) const {
  io::Json::Array merges;
  merges.reserve(merges_.size());
  for (const Merge& merge : merges_) {
    merges.emplace_back(vocabulary.token(merge.left) + " " + vocabulary.token(merge.right));
  }
  io::Json::Object result = {{"type", "BPE"},
                             {"dropout", io::Json()},
                             {"unk_token", unknown_token_.empty() ? io::Json() : unknown_token_},
                             {"continuing_subword_prefix", io::Json()},
                             {"end_of_word_suffix", io::Json()},
                             {"fuse_unk", false},
                             {"byte_fallback", false},
                             {"ignore_merges", false}};
  result.emplace_back("merges", std::move(merges));
  return result;
}

}  // namespace headlight::text
