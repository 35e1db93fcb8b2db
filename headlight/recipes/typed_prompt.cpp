// Texts to ids, and where a model is asked.
#include "headlight/recipes/typed_prompt.h"

#include <algorithm>

#include "headlight/io/io.h"
#include "headlight/recipes/typed_words.h"

namespace headlight::recipes {
namespace {

using Ids = std::vector<int64_t>;

// "3,1,2", of a model that has no tokenizer.
Ids typed_ids(const PromptReader& reader, std::string_view which, const std::string& text) {
  Ids ids;
  if (text.empty()) return ids;
  for (const std::string& word : split_words(text, ',')) {
    const std::optional<int64_t> id = io::parse_number<int64_t>(word);
    if (!id) {
      base::refuse(
          reader.what, which,
          io::in_quotes(word) + " is no id: the model has no tokenizer and takes ids, as 3,1,2");
    }
    ids.push_back(*id);
  }
  return ids;
}

Ids encoded(const PromptReader& reader, std::string_view which, const std::string& text) {
  if (reader.tokenizer == nullptr) return typed_ids(reader, which, text);
  const std::vector<std::string> unknown =
      text::unknown_words(*reader.tokenizer, text, reader.special);
  if (!unknown.empty()) base::refuse(reader.what, which, text::unknown_text(unknown));
  return reader.tokenizer->encode(text, {.special = reader.special});
}

// Ids with what the tokenizer puts around a text: around `text`, whose own ids are `plain`.
Ids framed(const PromptReader& reader, const std::string& text, const Ids& ids) {
  const text::EncodeOptions options{.special = reader.special, .framed = true};
  const Ids plain = reader.tokenizer->encode(text, {.special = reader.special});
  Ids all = reader.tokenizer->encode(text, options);
  const auto found = std::search(all.begin(), all.end(), plain.begin(), plain.end());
  if (found == all.end() && !plain.empty()) return ids;
  const auto begin = all.erase(found, found + static_cast<int64_t>(plain.size()));
  all.insert(begin, ids.begin(), ids.end());
  return all;
}

// The text around masks is read piece by piece.
Ids read_masked(const PromptReader& reader, const std::string& text) {
  if (reader.tokenizer == nullptr) return typed_ids(reader, "prompt", text);
  const std::optional<int64_t> mask = reader.tokenizer->special().mask;
  Ids ids;
  for (size_t begin = 0;;) {
    const std::string mask_text = mask ? reader.tokenizer->token(*mask) : "";
    const size_t end = mask ? text.find(mask_text, begin) : std::string::npos;
    const Ids piece = encoded(reader, "prompt", text.substr(begin, end - begin));
    ids.insert(ids.end(), piece.begin(), piece.end());
    if (end == std::string::npos) break;
    ids.push_back(*mask);
    begin = end + mask_text.size();
  }
  return ids.empty() ? ids : framed(reader, text, ids);
}

// As generate reads it.
Ids read_beginning(const PromptReader& reader, const std::string& text) {
  const Ids ids = encoded(reader, "prompt", text);
  return reader.tokenizer == nullptr ? ids : reader.tokenizer->encode_prompt(text, reader.special);
}

int64_t start_id(const PromptReader& reader) {
  const models::SpecialIds& special = reader.model.special_ids();
  if (special.decoder_start) return *special.decoder_start;
  if (special.begin) return *special.begin;
  base::refuse(reader.what, "decoder_start_token_id",
               "the model does not say what its decoder starts with");
}

void check_prompt_ids(const PromptReader& reader, std::string_view which, const Ids& ids,
                      int64_t known) {
  if (ids.empty()) base::refuse(reader.what, which, "is empty: there are no tokens");
  const auto count = static_cast<int64_t>(ids.size());
  if (count > reader.model.context_length()) {
    base::refuse(reader.what, which,
                 "has " + std::to_string(count) + " tokens, the model reads at most " +
                     std::to_string(reader.model.context_length()));
  }
  for (const int64_t id : ids) {
    if (id >= 0 && id < known) continue;
    base::refuse(reader.what, which,
                 "id " + std::to_string(id) + " is none of the model's, which are 0 to " +
                     std::to_string(known - 1));
  }
}

std::vector<std::string> labels_of(const PromptReader& reader, const Ids& ids) {
  std::vector<std::string> labels;
  for (const int64_t id : ids) labels.push_back(label_of(reader, id));
  return labels;
}

int64_t mask_position(const PromptReader& reader, const Ids& ids) {
  const std::optional<int64_t> mask =
      reader.tokenizer == nullptr ? std::nullopt : reader.tokenizer->special().mask;
  const auto count = mask ? std::count(ids.begin(), ids.end(), *mask) : 0;
  if (count == 1) return std::find(ids.begin(), ids.end(), *mask) - ids.begin();
  const std::string name = mask ? reader.tokenizer->token(*mask) : "mask";
  base::refuse(reader.what, "prompt",
               "has " + std::to_string(count) + " times " + name +
                   ", and the model fills masks: hide one word, or give the position with --at");
}

int64_t position_in(const PromptReader& reader, const PromptText& text, const Ids& ids) {
  const auto count = static_cast<int64_t>(ids.size());
  if (!text.at) {
    return reader.model.capabilities().fills_masks ? mask_position(reader, ids) : count - 1;
  }
  if (*text.at >= 0 && *text.at < count) return *text.at;
  base::refuse(reader.what, "position " + std::to_string(*text.at),
               count == 1 ? "there is one token, at 0"
                          : "there are " + std::to_string(count) + " tokens, 0 to " +
                                std::to_string(count - 1));
}

tensor::Tensor one_sequence(const Ids& ids) {
  return tensor::Tensor::of({1, static_cast<int64_t>(ids.size())}, ids);
}

}  // namespace

TypedPrompt read_prompt(const PromptReader& reader, const PromptText& text) {
  const models::Model& model = reader.model;
  const models::Capabilities can = model.capabilities();
  if (!model.has_logits()) {
    base::refuse(reader.what, model.type(),
                 "the model predicts no words: there are no logits to ask about");
  }
  if (text.source && !can.translates) {
    base::refuse(reader.what, "source", "the model has no encoder that would read one");
  }
  TypedPrompt prompt;
  Ids ids;
  if (can.translates) {
    if (!text.source) {
      base::refuse(reader.what, "source", "is missing: the model's encoder has nothing to read");
    }
    Ids source = encoded(reader, "source", *text.source);
    if (reader.tokenizer != nullptr && !source.empty()) {
      source = framed(reader, *text.source, source);
    }
    check_prompt_ids(reader, "source", source, model.source_vocab_size());
    prompt.batch.source_ids = one_sequence(source);
    prompt.source_tokens = labels_of(reader, source);
    ids = encoded(reader, "prompt", text.prompt);
    ids.insert(ids.begin(), start_id(reader));
  } else {
    ids = can.fills_masks ? read_masked(reader, text.prompt) : read_beginning(reader, text.prompt);
  }
  check_prompt_ids(reader, "prompt", ids, model.vocab_size());
  prompt.batch.ids = one_sequence(ids);
  prompt.tokens = labels_of(reader, ids);
  prompt.position = position_in(reader, text, ids);
  return prompt;
}

TypedWord read_word(const PromptReader& reader, std::string_view which, const std::string& text) {
  const Ids ids = encoded(reader, which, text);
  if (ids.empty()) base::refuse(reader.what, which, "is empty: no token stands for it");
  if (ids.front() < 0 || ids.front() >= reader.model.vocab_size()) {
    base::refuse(reader.what, which,
                 io::in_quotes(text) + " has the id " + std::to_string(ids.front()) +
                     ", the model predicts 0 to " + std::to_string(reader.model.vocab_size() - 1));
  }
  TypedWord word{.text = text,
                 .token = label_of(reader, ids.front()),
                 .id = ids.front(),
                 .tokens = static_cast<int64_t>(ids.size())};
  if (reader.tokenizer == nullptr || text.starts_with(' ')) return word;
  const Ids spaced = reader.tokenizer->encode(" " + text);
  if (spaced.size() == 1 && spaced != ids) word.after_space = label_of(reader, spaced.front());
  return word;
}

std::string label_of(const PromptReader& reader, int64_t id) {
  return reader.tokenizer == nullptr ? std::to_string(id) : text::label_of(*reader.tokenizer, id);
}

}  // namespace headlight::recipes
