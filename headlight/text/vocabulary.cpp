// Checking that ids and tokens are one to one.
#include "headlight/text/vocabulary.h"

#include <algorithm>

#include "headlight/io/io.h"

namespace headlight::text {

void refuse_tokenizer(const std::string& name, const std::string& why) {
  throw base::Error(base::ErrorKind::bad_input, "tokenizer", name, why);
}

Vocabulary::Vocabulary(Entries entries, const std::string& name) {
  if (entries.empty()) refuse_tokenizer(name, "the vocabulary is empty");
  std::ranges::stable_sort(entries, {}, &Entries::value_type::second);
  if (entries.front().second < 0) {
    refuse_tokenizer(name, "the token " + io::in_quotes(entries.front().first) + " has the id " +
                               std::to_string(entries.front().second) + ", ids start at 0");
  }
  tokens_.reserve(entries.size());
  ids_.reserve(entries.size());
  for (auto& [token, id] : entries) {
    if (id < size()) {
      refuse_tokenizer(name, "the id " + std::to_string(id) + " belongs to two tokens, " +
                                 io::in_quotes(tokens_.back()) + " and " + io::in_quotes(token));
    }
    if (id > size()) {
      refuse_tokenizer(name, "no token has the id " + std::to_string(size()) + "; the " +
                                 std::to_string(entries.size()) + " ids go up to " +
                                 std::to_string(entries.back().second));
    }
    if (token.size() > kTokenLimit) {
      refuse_tokenizer(name, "the token with id " + std::to_string(id) + " has " +
                                 std::to_string(token.size()) + " bytes, at most " +
                                 std::to_string(kTokenLimit) + " are read");
    }
    longest_token_ = std::max(longest_token_, token.size());
    tokens_.push_back(std::move(token));
    if (!ids_.emplace(tokens_.back(), id).second) {
      refuse_tokenizer(name, "the token " + io::in_quotes(tokens_.back()) + " has two ids, " +
                                 std::to_string(ids_[tokens_.back()]) + " and " +
                                 std::to_string(id));
    }
  }
  is_special_.resize(tokens_.size());
  is_only_added_.resize(tokens_.size());
}

std::optional<int64_t> Vocabulary::find(std::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::optional<int64_t> Vocabulary::find_plain(std::string_view token) const {
  const std::optional<int64_t> id = find(token);
  return id && is_plain(*id) ? id : std::nullopt;
}

}  // namespace headlight::text
