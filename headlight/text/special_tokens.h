// Tokens that stand for no text, and how they are found in one. For text's own use.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headlight/text/component.h"
#include "headlight/text/tokenizer.h"
#include "headlight/text/vocabulary.h"

namespace headlight::text {

// A token that is found in a text before the text is normalised and split.
struct AddedToken {
  int64_t id = 0;
  std::string content;
  bool is_special = true;   // or else it is always found
  bool takes_left = false;  // takes the white space before it, or after it, with it
  bool takes_right = false;
};

std::vector<AddedToken> read_added_tokens(const io::Json& document, const std::string& name);
io::Json added_tokens_json(const std::vector<AddedToken>& tokens);

// Tokens whose names say that they are special: for files that do not.
bool is_well_known(std::string_view token);
// By their names, among the special ones.
SpecialIds special_ids(const Vocabulary& vocabulary, std::optional<int64_t> unknown);

// Finds added tokens in texts: the leftmost, of those the longest.
class AddedTokenFinder {
 public:
  explicit AddedTokenFinder(const std::vector<AddedToken>& tokens);
  AddedTokenFinder(AddedTokenFinder&&) = default;  // not copied: the index points into the tokens
  AddedTokenFinder& operator=(AddedTokenFinder&&) = default;

  // Calls `plain` with each stretch of text without added tokens, `found` with each token's id.
  void split(std::string_view text, bool with_special,
             const std::function<void(std::string_view)>& plain,
             const std::function<void(int64_t)>& found) const;

 private:
  const AddedToken* token_at(std::string_view text, size_t at, bool with_special) const;

  std::vector<AddedToken> tokens_;
  std::unordered_map<std::string_view, const AddedToken*> by_content_;
  std::vector<size_t> lengths_;  // longest first
  std::vector<bool> is_first_byte_;
};

// What is put around a text.
struct Frame {
  std::vector<int64_t> before;
  std::vector<int64_t> after;
};
Frame read_frame(const Component& component, const Vocabulary& vocabulary);

}  // namespace headlight::text
