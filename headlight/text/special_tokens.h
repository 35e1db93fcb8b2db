// Tokens that stand for no text, and how they are found in one. For text's own use.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/text/component.h"
#include "headlight/text/marked_text.h"
#include "headlight/text/normalizer.h"
#include "headlight/text/token_search.h"
#include "headlight/text/tokenizer.h"
#include "headlight/text/vocabulary.h"

namespace headlight::text {

// A token that is found in a text before the text is split.
struct AddedToken {
  int64_t id = 0;
  std::string content = {};
  bool is_special = true;       // or else it is always found
  bool is_normalized = false;   // normalised itself, and found in the normalised text
  bool is_single_word = false;  // not found where a letter, number or _ stands right beside it
  bool takes_left = false;      // takes the white space before it, or after it, with it
  bool takes_right = false;
};

// Which token has which role, as tokenizer_config.json writes it: "eos_token" is "</s>".
using TokenRoles = std::map<std::string, std::string>;

std::vector<AddedToken> read_added_tokens(const io::Json& document, const std::string& name);
io::Json added_tokens_json(const std::vector<AddedToken>& tokens);

// Tokens whose names say that they are special: for files that do not.
bool is_well_known(std::string_view token);
// By the roles that files give to tokens ("eos_token"), or else by their names, among the special
// ones.
SpecialIds special_ids(const Vocabulary& vocabulary, std::optional<int64_t> unknown,
                       const TokenRoles& roles);

// Where special tokens are found in a text: nowhere, everywhere, or where no byte was given.
struct SpecialPlaces {
  bool anywhere = false;
  const MarkedText* marks = nullptr;  // of a text that the one in question is a part of
  size_t offset = 0;                  // its place in that

  // Whether no byte of it can be a part of a special token.
  bool are_plain(size_t begin, size_t end) const {
    return !anywhere || (marks && !marks->has_written(offset + begin, offset + end));
  }
  bool allow(size_t begin, size_t end) const {
    return anywhere && !(marks && marks->has_given(offset + begin, offset + end));
  }
};

// Finds added tokens in texts: the leftmost, of those the longest.
class AddedTokenFinder {
 public:
  explicit AddedTokenFinder(const std::vector<AddedToken>& tokens);

  bool empty() const { return tokens_.empty(); }
  const std::vector<AddedToken>& tokens() const { return tokens_; }

  // Calls `plain` with each stretch of text without added tokens, `found` with each token's id.
  void split(std::string_view text, const SpecialPlaces& special,
             const std::function<void(std::string_view)>& plain,
             const std::function<void(int64_t)>& found) const;

 private:
  class Splitting;
  const AddedToken& token(int32_t index) const { return tokens_[static_cast<size_t>(index)]; }

  std::vector<AddedToken> tokens_;
  TokenSearch search_;
};

// Those that are found in the text as it is, or in the normalised one; what is looked for there is
// their own text, normalised. `name` is for errors.
AddedTokenFinder raw_finder(const std::vector<AddedToken>& tokens);
AddedTokenFinder normalized_finder(std::vector<AddedToken> tokens, const Normalizer& normalizer,
                                   const std::string& name);
// The special ones of the latter, by their own text in the text as it is.
AddedTokenFinder written_finder(const std::vector<AddedToken>& tokens);

Frame read_frame(const Component& component, const Vocabulary& vocabulary);

}  // namespace headlight::text
