// BPE. The pairs that can be merged wait in a heap by their ranks and places, so that a piece of n
// symbols takes O(n log n).
#include <algorithm>
#include <queue>

#include "headlight/text/byte_alphabet.h"
#include "headlight/text/chain.h"
#include "headlight/text/joiner.h"
#include "headlight/text/model.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

constexpr int32_t kNone = Chain::kNone;

std::string merge_text(const std::pair<std::string, std::string>& merge) {
  return "merge " + io::in_quotes(merge.first + " " + merge.second);
}

std::string in_letters(std::string_view bytes) {
  std::string letters;
  for (const char c : bytes) letters += byte_character(static_cast<unsigned char>(c));
  return letters;
}

uint64_t key_of(char32_t left, char32_t right) { return uint64_t{left} << 32 | right; }

}  // namespace

Bpe::Bpe(const Vocabulary& vocabulary, const Merges& merges, Settings settings,
         const std::string& name)
    : settings_(std::move(settings)) {
  if (!settings_.unknown.empty()) {
    unknown_ = vocabulary.find(settings_.unknown);
    if (!unknown_) {
      refuse_tokenizer(name,
                       "the unknown token " + io::in_quotes(settings_.unknown) + " has no id");
    }
  }
  for (size_t i = 0; i < byte_ids_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(i);
    const auto id =
        vocabulary.find_plain(settings_.takes_bytes ? byte_character(byte) : byte_token(byte));
    byte_ids_[i] = id ? static_cast<int32_t>(*id) : kNone;
  }
  results_.reserve(merges.size());
  merges_.reserve(merges.size());
  for (const auto& merge : merges) add_merge(vocabulary, merge, name);
  if (!settings_.takes_bytes) add_characters(vocabulary);
}

void Bpe::add_merge(const Vocabulary& vocabulary, const std::pair<std::string, std::string>& merge,
                    const std::string& name) {
  bool is_plain = true;
  const auto id_of = [&](const std::string& token) {
    const std::optional<int64_t> id = vocabulary.find(token);
    if (!id) {
      refuse_tokenizer(
          name, merge_text(merge) + ": " + io::in_quotes(token) + " is not in the vocabulary");
    }
    is_plain = is_plain && !vocabulary.is_special(*id);
    return static_cast<int32_t>(*id);
  };
  const Merge found = {id_of(merge.first), id_of(merge.second)};
  const int32_t result = id_of(merge.first + merge.second);
  const auto rank = static_cast<int32_t>(merges_.size());
  const auto [place, is_new] =
      results_.emplace(pair_key(found.left, found.right), Result{rank, is_plain ? result : kNone});
  if (!is_new) {
    refuse_tokenizer(name, merge_text(merge) + ": stands twice, as number " +
                               std::to_string(place->second.rank) + " and " + std::to_string(rank));
  }
  merges_.push_back(found);
}

void Bpe::add_characters(const Vocabulary& vocabulary) {
  for (int64_t id = 0; id < vocabulary.size(); ++id) {
    const std::string& token = vocabulary.token(id);
    if (!vocabulary.is_plain(id) || token.empty()) continue;
    const CodePoint first = code_point_at(token, 0);
    if (first.length == token.size()) character_ids_[first.value] = static_cast<int32_t>(id);
  }
  for (const auto& [pair, result] : results_) {
    if (result.id == kNone) continue;
    const std::string& token = vocabulary.token(result.id);
    char32_t before = code_point_at(token, 0).value;
    for (size_t at = code_point_at(token, 0).length; at < token.size();) {
      const CodePoint point = code_point_at(token, at);
      inner_pairs_.insert(key_of(before, point.value));
      before = point.value;
      at += point.length;
    }
  }
}

// The merging of one piece.
class Bpe::Run {
 public:
  Run(const Bpe& bpe, Chain& chain) : bpe_(bpe), chain_(chain) {}

  void merge_all() {
    for (int32_t place = 0; place < chain_.size(); ++place) wait_for_merge(place);
    while (!waiting_.empty()) {
      const uint64_t first = waiting_.top();
      waiting_.pop();
      const auto place = static_cast<int32_t>(first & 0xFFFFFFFF);
      const Result* result = result_at(place);
      // An earlier merge may have taken either half.
      if (!result || static_cast<uint64_t>(result->rank) != first >> 32) continue;
      chain_.merge(place, result->id);
      wait_for_merge(chain_.previous(place));
      wait_for_merge(place);
    }
  }

 private:
  // What the pair that begins here becomes, if it can be merged.
  const Result* result_at(int32_t place) const {
    if (place == kNone || chain_.id(place) == kNone || chain_.next(place) == kNone) return nullptr;
    const auto found =
        bpe_.results_.find(pair_key(chain_.id(place), chain_.id(chain_.next(place))));
    return found == bpe_.results_.end() || found->second.id == kNone ? nullptr : &found->second;
  }

  void wait_for_merge(int32_t place) {
    const Result* result = result_at(place);
    if (result) {
      waiting_.push(static_cast<uint64_t>(result->rank) << 32 | static_cast<uint32_t>(place));
    }
  }

  const Bpe& bpe_;
  Chain& chain_;
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> waiting_;
};

// The characters of a piece as symbols. Unknown ones in a row may be one symbol, which is added
// when it ends.
class Bpe::Characters {
 public:
  Characters(const Bpe& bpe, Chain& chain) : bpe_(bpe), chain_(chain) {}

  void add(std::string_view character, int32_t id) {
    if (id != kNone) {
      end_unknown();
      return add_symbol(id);
    }
    const bool is_in_bytes =
        bpe_.settings_.falls_back_to_bytes && std::ranges::all_of(character, [&](char c) {
          return bpe_.byte_ids_[static_cast<unsigned char>(c)] != kNone;
        });
    if (is_in_bytes) {
      for (const char c : character) add_symbol(bpe_.byte_ids_[static_cast<unsigned char>(c)]);
      return;
    }
    if (!bpe_.unknown_) return;
    if (!bpe_.settings_.fuses_unknown) end_unknown();
    unknown_ = static_cast<int32_t>(*bpe_.unknown_);
  }

  void end_unknown() {
    if (unknown_ != kNone) add_symbol(unknown_);
    unknown_ = kNone;
  }

 private:
  void add_symbol(int32_t id) { chain_.add(id, chain_.size() == 0); }

  const Bpe& bpe_;
  Chain& chain_;
  int32_t unknown_ = kNone;
};

void Bpe::encode_characters(std::string_view piece, Ids& ids) const {
  // A long piece is cut between known characters that stand side by side in no token, where it
  // makes no difference.
  constexpr int32_t kLong = 256;
  size_t at = 0;
  while (at < piece.size()) {
    Chain chain;
    Characters characters(*this, chain);
    char32_t before = 0;
    bool is_known = false;
    while (at < piece.size()) {
      const CodePoint point = code_point_at(piece, at);
      const auto found = character_ids_.find(point.value);
      const bool is_next_known = found != character_ids_.end();
      if (chain.size() > kLong && is_known && is_next_known &&
          !inner_pairs_.contains(key_of(before, point.value))) {
        break;
      }
      characters.add(piece.substr(at, point.length), is_next_known ? found->second : kNone);
      before = point.value;
      is_known = is_next_known;
      at += point.length;
    }
    characters.end_unknown();
    Run(*this, chain).merge_all();
    chain.append_to(ids);
  }
}

std::optional<int64_t> Bpe::whole_piece(const Vocabulary& vocabulary,
                                        std::string_view piece) const {
  if (!settings_.ignores_merges || piece.size() > vocabulary.longest_token()) return std::nullopt;
  return settings_.takes_bytes ? vocabulary.find_plain(in_letters(piece))
                               : vocabulary.find_plain(piece);
}

void Bpe::encode(const Vocabulary& vocabulary, std::string_view piece, Ids& ids) const {
  if (const auto whole = whole_piece(vocabulary, piece)) return ids.push_back(*whole);
  if (!settings_.takes_bytes) return encode_characters(piece, ids);
  Chain chain;
  chain.reserve(piece.size());
  bool is_after_unknown = false;
  for (const char c : piece) {
    const auto byte = static_cast<unsigned char>(c);
    int32_t id = byte_ids_[byte];
    const bool is_unknown = id == kNone;
    if (is_unknown && !unknown_) continue;
    if (is_unknown) id = static_cast<int32_t>(*unknown_);
    const bool is_fused = is_unknown && is_after_unknown && settings_.fuses_unknown;
    if (!is_fused) chain.add(id, chain.size() == 0);
    is_after_unknown = is_unknown;
  }
  Run(*this, chain).merge_all();
  chain.append_to(ids);
}

io::Json::Object Bpe::json(const Vocabulary& vocabulary) const {
  // As texts where no space within a token could be taken for the one between two.
  const bool is_text = std::ranges::none_of(merges_, [&](const Merge& merge) {
    return (vocabulary.token(merge.left) + vocabulary.token(merge.right)).find(' ') !=
           std::string::npos;
  });
  io::Json::Array merges;
  merges.reserve(merges_.size());
  for (const Merge& merge : merges_) {
    const std::string& left = vocabulary.token(merge.left);
    const std::string& right = vocabulary.token(merge.right);
    if (is_text) {
      merges.emplace_back(left + " " + right);
    } else {
      merges.emplace_back(io::Json::Array{left, right});
    }
  }
  io::Json::Object result = {
      {"type", "BPE"},
      {"dropout", io::Json()},
      {"unk_token", settings_.unknown.empty() ? io::Json() : settings_.unknown},
      {"continuing_subword_prefix", io::Json()},
      {"end_of_word_suffix", io::Json()},
      {"fuse_unk", settings_.fuses_unknown},
      {"byte_fallback", settings_.falls_back_to_bytes},
      {"ignore_merges", settings_.ignores_merges}};
  result.emplace_back("merges", std::move(merges));
  return result;
}

}  // namespace headlight::text
