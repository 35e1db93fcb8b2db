// Texts to ids as training has them, with labels.
#include "headlight/explain/input.h"

#include <algorithm>
#include <set>
#include <utility>

namespace headlight::explain {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::Tensor;
using Ids = std::vector<int64_t>;

[[noreturn]] void refuse_input(const std::string& where, const std::string& why) {
  throw Error(ErrorKind::bad_input, "explain", where, why);
}

Ids encoded(const text::Tokenizer& tokenizer, const char* which, const std::string& text,
            text::EncodeOptions options) {
  const std::vector<std::string> unknown = unknown_words(tokenizer, text, options.special);
  if (!unknown.empty()) refuse_input(which, unknown_text(unknown));
  if (tokenizer.encode(text, {.special = options.special}).empty()) {
    refuse_input(which, "is empty: there is nothing to explain");
  }
  return tokenizer.encode(text, options);
}

void check_length(const models::Model& model, const char* which, const Ids& ids) {
  const auto length = static_cast<int64_t>(ids.size());
  if (length <= model.context_length()) return;
  refuse_input(which, "has " + std::to_string(length) + " tokens, the model reads at most " +
                          std::to_string(model.context_length()));
}

Tensor row_of(const Ids& ids) { return Tensor::of({1, static_cast<int64_t>(ids.size())}, ids); }

std::vector<std::string> labels_of(const text::Tokenizer& tokenizer, const Ids& ids) {
  std::vector<std::string> labels;
  for (const int64_t id : ids) {
    const std::string shown = tokenizer.decode(std::vector<int64_t>{id});
    labels.push_back(
        shown.empty() || shown.find("\uFFFD") != std::string::npos ? tokenizer.token(id) : shown);
  }
  return labels;
}

void read_pair(const models::Model& model, const text::Tokenizer& tokenizer, const InputText& text,
               Input& input) {
  const text::EncodeOptions options{.special = text.special};
  const Ids source = encoded(tokenizer, "text", text.text, options);
  const models::SpecialIds& special = model.special_ids();
  const std::optional<int64_t> start =
      special.decoder_start ? special.decoder_start : special.begin;
  if (!start)
    refuse_input("decoder_start_token_id", "the model does not say what its decoder starts with");
  Ids ids = {*start};
  Ids targets = {-1};
  if (text.target) {
    const Ids target = encoded(tokenizer, "target", *text.target, options);
    ids.insert(ids.end(), target.begin(), target.end());
    targets = target;
    targets.push_back(special.end.value_or(-1));
    input.batch.targets = row_of(targets);
  }
  check_length(model, "text", source);
  check_length(model, "target", ids);
  input.batch.source_ids = row_of(source);
  input.batch.ids = row_of(ids);
  input.source_tokens = labels_of(tokenizer, source);
  input.tokens = labels_of(tokenizer, ids);
}

void read_continuation(const models::Model& model, const text::Tokenizer& tokenizer,
                       const InputText& text, Input& input) {
  const text::EncodeOptions options{.special = text.special};
  Ids ids = encoded(tokenizer, "text", text.text, options);
  size_t known_from = 1;  // ids from here on are to be given
  if (text.target) {
    known_from = ids.size();
    const Ids target = encoded(tokenizer, "target", *text.target, options);
    ids.insert(ids.end(), target.begin(), target.end());
  }
  check_length(model, "text", ids);
  Ids targets(ids.size(), -1);
  for (size_t i = known_from; i < ids.size(); ++i) targets[i - 1] = ids[i];
  input.batch.ids = row_of(ids);
  if (ids.size() > 1) input.batch.targets = row_of(targets);
  input.tokens = labels_of(tokenizer, ids);
}

}  // namespace

std::vector<std::string> unknown_words(const text::Tokenizer& tokenizer, const std::string& text,
                                       bool special) {
  std::vector<std::string> unknown;
  std::set<std::string> seen;
  const std::optional<int64_t> id = tokenizer.special().unk;
  if (!id) return unknown;
  size_t begin = 0;
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (begin < text.size()) {
    size_t end = begin;
    while (end < text.size() && !is_space(text[end])) ++end;
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty() || !seen.insert(word).second) continue;
    if (special && word == tokenizer.token(*id)) continue;  // meant so
    const Ids ids = tokenizer.encode(word, {.special = special});
    if (std::find(ids.begin(), ids.end(), *id) != ids.end()) unknown.push_back(word);
  }
  return unknown;
}

std::string unknown_text(const std::vector<std::string>& words) {
  constexpr size_t kMost = 5;
  std::string list;
  for (size_t i = 0; i < std::min(words.size(), kMost); ++i) {
    list += (i > 0 ? ", " : "") + io::in_quotes(words[i]);
  }
  return std::to_string(words.size()) + (words.size() == 1 ? " word is" : " words are") +
         " not in the vocabulary: " + list + (words.size() > kMost ? ", ..." : "");
}

Input make_input(const models::Model& model, const text::Tokenizer& tokenizer,
                 const InputText& text) {
  Input input;
  const models::Capabilities can = model.capabilities();
  if (can.translates) {
    read_pair(model, tokenizer, text, input);
  } else if (can.continues_prompt) {
    read_continuation(model, tokenizer, text, input);
  } else {
    if (text.target) refuse_input("target", "the model has no decoder that could give one");
    const Ids ids =
        encoded(tokenizer, "text", text.text, {.special = text.special, .framed = true});
    check_length(model, "text", ids);
    input.batch.ids = row_of(ids);
    input.tokens = labels_of(tokenizer, ids);
  }
  for (int64_t id = 0; id < tokenizer.size(); ++id) {
    input.vocabulary.push_back(labels_of(tokenizer, {id}).front());
  }
  return input;
}

}  // namespace headlight::explain
