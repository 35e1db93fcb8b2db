// Tokens and their ids. For text's own use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace headlight::text {

// What a file of tokens may be at most.
inline constexpr uint64_t kTokenizerFileLimit = 100'000'000;  // bytes
inline constexpr size_t kTokenLimit = 65'536;                 // bytes of one token

[[noreturn]] void refuse_tokenizer(const std::string& name, const std::string& why);

// Ids are 0 … size() - 1, each with one token. It can be moved but not copied: the index points
// into the tokens.
class Vocabulary {
 public:
  using Entries = std::vector<std::pair<std::string, int64_t>>;

  // Refuses what is empty, negative, twice there, too long or leaves a gap. `name` is for errors.
  Vocabulary(Entries entries, const std::string& name);
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  bool contains(int64_t id) const { return id >= 0 && id < size(); }
  const std::string& token(int64_t id) const { return tokens_[static_cast<size_t>(id)]; }
  std::optional<int64_t> find(std::string_view token) const;

  // Special tokens are not found in plain text.
  void make_special(int64_t id) { is_special_[static_cast<size_t>(id)] = true; }
  bool is_special(int64_t id) const { return is_special_[static_cast<size_t>(id)]; }
  // Tokens that are only added ones are not the model's: it never makes them of a part of a text.
  void make_only_added(int64_t id) { is_only_added_[static_cast<size_t>(id)] = true; }
  bool is_only_added(int64_t id) const { return is_only_added_[static_cast<size_t>(id)]; }
  bool is_plain(int64_t id) const { return !is_special(id) && !is_only_added(id); }
  std::optional<int64_t> find_plain(std::string_view token) const;

  size_t longest_token() const { return longest_token_; }  // bytes

 private:
  std::vector<std::string> tokens_;
  std::vector<bool> is_special_;
  std::vector<bool> is_only_added_;
  std::unordered_map<std::string_view, int64_t> ids_;
  size_t longest_token_ = 0;
};

}  // namespace headlight::text
