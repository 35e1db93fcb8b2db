// Names of special tokens, and finding them in a text.
#include "headlight/text/special_tokens.h"

#include <algorithm>
#include <array>
#include <set>

#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

using Names = std::span<const std::string_view>;
constexpr std::string_view kPad[] = {"<pad>", "[PAD]", "<|pad|>"};
constexpr std::string_view kBegin[] = {"<start>", "<s>", "<bos>", "[CLS]", "<|startoftext|>"};
constexpr std::string_view kEnd[] = {"<end>", "</s>", "<eos>", "[SEP]", "<|endoftext|>"};
constexpr std::string_view kUnknown[] = {"<unk>", "[UNK]"};
constexpr std::string_view kMask[] = {"<mask>", "[MASK]"};

bool is_one_of(std::string_view token, Names names) {
  return std::ranges::find(names, token) != names.end();
}

std::optional<int64_t> first_of(const Vocabulary& vocabulary, Names names) {
  for (const std::string_view name : names) {
    const std::optional<int64_t> id = vocabulary.find(name);
    if (id && vocabulary.is_special(*id)) return id;
  }
  return std::nullopt;
}

size_t white_space_before(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t at = end - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    if (!is_white_space(code_point_at(text, at).value)) break;
    end = at;
  }
  return text.size() - end;
}

size_t white_space_after(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && is_white_space(code_point_at(text, at).value)) {
    at += code_point_at(text, at).length;
  }
  return at;
}

}  // namespace

std::vector<AddedToken> read_added_tokens(const io::Json& document, const std::string& name) {
  std::vector<AddedToken> tokens;
  const io::Json* list = document.find("added_tokens");
  if (!list || list->is_null()) return tokens;
  if (!list->array()) refuse_tokenizer(name, "\"added_tokens\" is not a list");
  for (const io::Json& json : *list->array()) {
    const Component entry(json, "added_tokens", name);
    AddedToken token = {.id = entry.integer("id", -1),
                        .content = entry.text("content", ""),
                        .is_special = entry.flag("special", false),
                        .takes_left = entry.flag("lstrip", false),
                        .takes_right = entry.flag("rstrip", false)};
    if (token.content.empty()) entry.refuse("an added token has no \"content\"");
    entry.require("single_word", false, false);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

io::Json added_tokens_json(const std::vector<AddedToken>& tokens) {
  io::Json::Array list;
  for (const AddedToken& token : tokens) {
    list.emplace_back(io::Json::Object{{"id", token.id},
                                       {"content", token.content},
                                       {"single_word", false},
                                       {"lstrip", token.takes_left},
                                       {"rstrip", token.takes_right},
                                       {"normalized", false},
                                       {"special", token.is_special}});
  }
  return list;
}

bool is_well_known(std::string_view token) {
  return std::ranges::any_of(std::array<Names, 5>{kPad, kBegin, kEnd, kUnknown, kMask},
                             [&](Names names) { return is_one_of(token, names); });
}

SpecialIds special_ids(const Vocabulary& vocabulary, std::optional<int64_t> unknown) {
  return {.pad = first_of(vocabulary, kPad),
          .bos = first_of(vocabulary, kBegin),
          .eos = first_of(vocabulary, kEnd),
          .unk = unknown ? unknown : first_of(vocabulary, kUnknown)};
}

AddedTokenFinder::AddedTokenFinder(const std::vector<AddedToken>& tokens)
    : tokens_(tokens), is_first_byte_(256) {
  std::set<size_t, std::greater<>> lengths;
  for (const AddedToken& token : tokens_) {
    by_content_.emplace(token.content, &token);
    lengths.insert(token.content.size());
    is_first_byte_[static_cast<unsigned char>(token.content[0])] = true;
  }
  lengths_.assign(lengths.begin(), lengths.end());
}

const AddedToken* AddedTokenFinder::token_at(std::string_view text, size_t at,
                                             bool with_special) const {
  if (!is_first_byte_[static_cast<unsigned char>(text[at])]) return nullptr;
  for (const size_t length : lengths_) {
    if (length > text.size() - at) continue;
    const auto found = by_content_.find(text.substr(at, length));
    if (found == by_content_.end()) continue;
    if (with_special || !found->second->is_special) return found->second;
  }
  return nullptr;
}

void AddedTokenFinder::split(std::string_view text, bool with_special,
                             const std::function<void(std::string_view)>& plain,
                             const std::function<void(int64_t)>& found) const {
  size_t begin = 0;
  const auto give_plain = [&](size_t end) {
    if (end > begin) plain(text.substr(begin, end - begin));
  };
  for (size_t at = 0; at < text.size();) {
    const AddedToken* token = token_at(text, at, with_special);
    if (!token) {
      ++at;
      continue;
    }
    const std::string_view before = text.substr(begin, at - begin);
    give_plain(at - (token->takes_left ? white_space_before(before) : 0));
    found(token->id);
    at += token->content.size();
    if (token->takes_right) at += white_space_after(text.substr(at));
    begin = at;
  }
  give_plain(text.size());
}

}  // namespace headlight::text
