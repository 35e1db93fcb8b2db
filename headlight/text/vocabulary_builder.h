// Ids for tokens in the order in which they come. For text's own use.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "headlight/text/special_tokens.h"
#include "headlight/text/unicode.h"
#include "headlight/text/vocabulary.h"

namespace headlight::text {

inline constexpr const char* kNewTokenizer = "new";  // where errors would name a file

class VocabularyBuilder {
 public:
  explicit VocabularyBuilder(const std::vector<std::string>& special) {
    for (const std::string& token : special) {
      if (token.empty()) refuse_tokenizer(kNewTokenizer, "a special token is empty");
      check_utf8(token);
      if (find(token)) {
        refuse_tokenizer(kNewTokenizer,
                         "the special token " + io::in_quotes(token) + " stands twice");
      }
      added_.push_back({.id = add(token), .content = token});
    }
  }

  // The token's id, a new one or the one it has.
  int64_t add(const std::string& token) {
    const auto [place, is_new] = ids_.emplace(token, size());
    if (is_new) entries_.emplace_back(token, place->second);
    return place->second;
  }

  std::optional<int64_t> find(const std::string& token) const {
    const auto found = ids_.find(token);
    if (found == ids_.end()) return std::nullopt;
    return found->second;
  }

  int64_t size() const { return static_cast<int64_t>(entries_.size()); }
  const std::vector<AddedToken>& special() const { return added_; }
  // The post-processor of tokenizer.json that puts [CLS] and [SEP] around a text; null: none.
  io::Json frame() const {
    const auto begin = find("[CLS]"), end = find("[SEP]");
    if (!begin || !end || std::max(*begin, *end) >= special_count()) return {};
    return io::Json::Object{{"type", "BertProcessing"},
                            {"sep", io::Json::Array{"[SEP]", *end}},
                            {"cls", io::Json::Array{"[CLS]", *begin}}};
  }
  int64_t special_count() const { return static_cast<int64_t>(added_.size()); }
  const std::string& token(int64_t id) const { return entries_[static_cast<size_t>(id)].first; }

  Vocabulary::Entries take_entries() { return std::move(entries_); }
  std::vector<AddedToken> take_added() { return std::move(added_); }

 private:
  std::unordered_map<std::string, int64_t> ids_;
  Vocabulary::Entries entries_;
  std::vector<AddedToken> added_;
};

}  // namespace headlight::text
