// Pieces that are looked up, as a whole or by their beginnings.
#include <algorithm>

#include "headlight/text/model.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

bool is_start(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

Trie plain_tokens(const Vocabulary& vocabulary, const std::string& name) {
  std::vector<std::pair<std::string_view, int32_t>> texts;
  for (int64_t id = 0; id < vocabulary.size(); ++id) {
    const std::string& token = vocabulary.token(id);
    if (token.empty() || !vocabulary.is_plain(id)) continue;
    texts.emplace_back(token, static_cast<int32_t>(id));
  }
  return {std::move(texts), name};
}

int32_t node_of(const Trie& tokens, std::string_view beginning) {
  int32_t node = Trie::kRoot;
  for (const char byte : beginning) {
    if (node != Trie::kNone) node = tokens.child(node, byte);
  }
  return node;
}

}  // namespace

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
    : settings_(std::move(settings)),
      tokens_(plain_tokens(vocabulary, name)),
      continued_(node_of(tokens_, settings_.prefix)) {
  const std::optional<int64_t> unknown = vocabulary.find(settings_.unknown);
  if (!unknown) {
    refuse_tokenizer(name, "the unknown token " + io::in_quotes(settings_.unknown) + " has no id");
  }
  unknown_ = *unknown;
}

std::optional<WordPiece::Found> WordPiece::longest_at(std::string_view piece, size_t begin) const {
  std::optional<Found> longest;
  int32_t node = begin == 0 ? Trie::kRoot : continued_;
  for (size_t at = begin; at < piece.size() && node != Trie::kNone;) {
    node = tokens_.child(node, piece[at++]);
    const int32_t id = node == Trie::kNone ? Trie::kNone : tokens_.value(node);
    if (id == Trie::kNone || (at < piece.size() && !is_start(piece[at]))) continue;
    longest = {.id = id, .bytes = at - begin};
  }
  return longest;
}

void WordPiece::encode(const Vocabulary&, std::string_view piece, Ids& ids) const {
  const size_t before = ids.size();
  bool is_known = std::ranges::count_if(piece, is_start) <= settings_.longest_piece;
  for (size_t begin = 0; begin < piece.size() && is_known;) {
    const std::optional<Found> token = longest_at(piece, begin);
    is_known = token.has_value();
    if (!token) break;
    ids.push_back(token->id);
    begin += token->bytes;
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
