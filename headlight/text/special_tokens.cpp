// Names of special tokens, and finding them in a text.
#include "headlight/text/special_tokens.h"

#include <algorithm>
#include <array>
#include <iterator>

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

bool stands_alone(std::string_view text, size_t at, size_t length) {
  if (at + length < text.size() && is_word(code_point_at(text, at + length).value)) return false;
  if (at == 0) return true;
  size_t before = at - 1;
  while (before > 0 && (static_cast<unsigned char>(text[before]) & 0xC0) == 0x80) --before;
  return !is_word(code_point_at(text, before).value);
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
                        .is_single_word = entry.flag("single_word", false),
                        .takes_left = entry.flag("lstrip", false),
                        .takes_right = entry.flag("rstrip", false)};
    if (token.content.empty()) entry.refuse("an added token has no \"content\"");
    token.is_normalized = entry.flag("normalized", !token.is_special);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

io::Json added_tokens_json(const std::vector<AddedToken>& tokens) {
  io::Json::Array list;
  for (const AddedToken& token : tokens) {
    list.emplace_back(io::Json::Object{{"id", token.id},
                                       {"content", token.content},
                                       {"single_word", token.is_single_word},
                                       {"lstrip", token.takes_left},
                                       {"rstrip", token.takes_right},
                                       {"normalized", token.is_normalized},
                                       {"special", token.is_special}});
  }
  return list;
}

bool is_well_known(std::string_view token) {
  return std::ranges::any_of(std::array<Names, 5>{kPad, kBegin, kEnd, kUnknown, kMask},
                             [&](Names names) { return is_one_of(token, names); });
}

SpecialIds special_ids(const Vocabulary& vocabulary, std::optional<int64_t> unknown,
                       const TokenRoles& roles) {
  // BERT's [CLS] and [SEP] stand where others have a beginning and an end.
  const auto id_of = [&](const char* role, const char* second, Names names) {
    auto found = roles.find(role);
    if (found == roles.end()) found = roles.find(second);
    return found == roles.end() ? first_of(vocabulary, names) : vocabulary.find(found->second);
  };
  return {.pad = id_of("pad_token", "", kPad),
          .bos = id_of("bos_token", "cls_token", kBegin),
          .eos = id_of("eos_token", "sep_token", kEnd),
          .unk = unknown ? unknown : first_of(vocabulary, kUnknown),
          .mask = id_of("mask_token", "", kMask)};
}

AddedTokenFinder raw_finder(const std::vector<AddedToken>& tokens) {
  std::vector<AddedToken> raw;
  std::ranges::copy_if(tokens, std::back_inserter(raw),
                       [](const AddedToken& token) { return !token.is_normalized; });
  return AddedTokenFinder(raw);
}

AddedTokenFinder normalized_finder(std::vector<AddedToken> tokens, const Normalizer& normalizer,
                                   const std::string& name) {
  std::erase_if(tokens, [](const AddedToken& token) { return !token.is_normalized; });
  for (AddedToken& token : tokens) {
    check_utf8(token.content);
    std::string content = normalizer.apply(token.content);
    if (content.empty()) {
      refuse_tokenizer(name, "nothing is left of the added token " + io::in_quotes(token.content) +
                                 " when it is normalized");
    }
    token.content = std::move(content);
  }
  return AddedTokenFinder(tokens);
}

AddedTokenFinder written_finder(const std::vector<AddedToken>& tokens) {
  std::vector<AddedToken> written;
  std::ranges::copy_if(tokens, std::back_inserter(written), [](const AddedToken& token) {
    return token.is_special && token.is_normalized;
  });
  return AddedTokenFinder(written);
}

namespace {

std::vector<std::string_view> contents_of(const std::vector<AddedToken>& tokens) {
  std::vector<std::string_view> contents;
  for (const AddedToken& token : tokens) contents.push_back(token.content);
  return contents;
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(const std::vector<AddedToken>& tokens)
    : tokens_(tokens), search_(contents_of(tokens_)) {}

// One text. Tokens are found first, whatever they take with them: white space that one takes is
// still there for the next one to be found in.
class AddedTokenFinder::Splitting {
 public:
  Splitting(const AddedTokenFinder& finder, std::string_view text, const SpecialPlaces& special)
      : finder_(finder), text_(text), special_(special), walk_(finder.search_, text) {}

  // The next token from the place on, which becomes its end; nothing: there is none.
  const AddedToken* next(size_t& at) {
    while (at < text_.size()) {
      const int32_t longest = walk_.longest_at(at);
      if (longest == TokenSearch::kNone) {
        ++at;
        continue;
      }
      const int32_t chosen = allowed(longest, at);
      const AddedToken& token = finder_.token(chosen == TokenSearch::kNone ? longest : chosen);
      const size_t length = token.content.size();
      const bool is_hidden = chosen == TokenSearch::kNone;
      // What is plain text as a whole hides no shorter tokens, as others have it.
      at += is_hidden && !special_.are_plain(at, at + length) ? 1 : length;
      if (is_hidden) continue;
      if (token.is_single_word && !stands_alone(text_, at - length, length)) continue;
      return &token;
    }
    return nullptr;
  }

  // Where the white space after a place ends. Runs of it are looked at once.
  size_t end_of_space(size_t at) {
    if (at < space_begin_ || at >= space_end_) {
      space_begin_ = at;
      space_end_ = at + white_space_after(text_.substr(at));
    }
    return std::max(at, space_end_);
  }

 private:
  // A template's own token counts where a longer one would reach into what was given.
  int32_t allowed(int32_t index, size_t at) const {
    const auto may_be = [&](int32_t which) {
      const AddedToken& token = finder_.token(which);
      return !token.is_special || special_.allow(at, at + token.content.size());
    };
    if (may_be(index)) return index;
    if (special_.are_plain(at, at + finder_.token(index).content.size())) return TokenSearch::kNone;
    do index = finder_.search_.next_shorter(index);
    while (index != TokenSearch::kNone && !may_be(index));
    return index;
  }

  const AddedTokenFinder& finder_;
  std::string_view text_;
  const SpecialPlaces& special_;
  TokenSearch::Walk walk_;
  size_t space_begin_ = 0;
  size_t space_end_ = 0;
};

void AddedTokenFinder::split(std::string_view text, const SpecialPlaces& special,
                             const std::function<void(std::string_view)>& plain,
                             const std::function<void(int64_t)>& found) const {
  size_t begin = 0;
  const auto give_plain = [&](size_t end) {
    if (end > begin) plain(text.substr(begin, end - begin));
  };
  Splitting splitting(*this, text, special);
  for (size_t at = 0; const AddedToken* token = empty() ? nullptr : splitting.next(at);) {
    const size_t start = at - token->content.size();
    const size_t end = token->takes_right ? splitting.end_of_space(at) : at;
    // It begins behind what the one before has taken, where nothing may be left of it.
    if (token->takes_left && end <= begin) continue;
    const std::string_view before = text.substr(begin, start > begin ? start - begin : 0);
    give_plain(start - (token->takes_left ? white_space_before(before) : 0));
    found(token->id);
    begin = end;
  }
  give_plain(text.size());
}

}  // namespace headlight::text
