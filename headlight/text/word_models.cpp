// Pieces that are looked up, as a whole or by their beginnings.
#include <algorithm>

#include "headlight/text/model.h"
#include "headlight/text/unicode.h"

namespace headlight::text {

int64_t unknown_id(std::optional<int64_t> unknown, std::string_view piece) {
  if (unknown) return *unknown;
  throw base::Error(base::ErrorKind::bad_input, "text", io::in_quotes(piece),
                    "is not in the vocabulary, which has no unknown token; leave it out");
}

WordLevel::WordLevel(const Vocabulary& vocabulary, std::string unknown)
    : unknown_token_(std::move(unknown)), unknown_(vocabulary.find(unknown_token_)) {}

void WordLevel::encode(const Vocabulary& vocabulary, std::string_view piece, Ids& ids) const {
  const std::optional<int64_t> id = vocabulary.find_plain(piece);
  ids.push_back(id ? *id : unknown_id(unknown_, piece));
}

io::Json::Object WordLevel::json(const Vocabulary&) const {
  return {{"type", "WordLevel"}, {"unk_token", unknown_token_}};
}

WordPiece::WordPiece(const Vocabulary& vocabulary, Settings settings, const std::string& name)
    : settings_(std::move(settings)) {
  const std::optional<int64_t> unknown = vocabulary.find(settings_.unknown);
  if (!unknown) {
    refuse_tokenizer(name, "the unknown token " + io::in_quotes(settings_.unknown) + " has no id");
  }
  unknown_ = *unknown;
}

void WordPiece::encode(const Vocabulary& vocabulary, std::string_view piece, Ids& ids) const {
  const size_t before = ids.size();
  const auto is_start = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  bool is_known = std::ranges::count_if(piece, is_start) <= settings_.longest_piece;
  std::string token;
  for (size_t begin = 0; begin < piece.size() && is_known;) {
    token.assign(begin == 0 ? "" : settings_.prefix);
    const size_t prefix = token.size();
    token += piece.substr(begin, vocabulary.longest_token());
    std::optional<int64_t> id;
    while (token.size() > prefix && !(id = vocabulary.find_plain(token))) {
      do token.pop_back();
      while (token.size() > prefix && begin + token.size() - prefix < piece.size() &&
             !is_start(piece[begin + token.size() - prefix]));
    }
    is_known = id.has_value();
    if (is_known) ids.push_back(*id);
    begin += token.size() - prefix;
  }
  if (is_known) return;
  ids.resize(before);
  ids.push_back(unknown_);
}

io::Json::Object WordPiece::json(const Vocabulary&) const {
  return {{"type", "WordPiece"},
          {"unk_token", settings_.unknown},
          {"continuing_subword_prefix", settings_.prefix},
          {"max_input_chars_per_word", settings_.longest_piece}};
}

}  // namespace headlight::text
