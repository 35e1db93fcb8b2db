// Texts to ids as training has them, with labels.
#include "headlight/explain/input.h"

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
  const std::vector<std::string> unknown = text::unknown_words(tokenizer, text, options.special);
  if (!unknown.empty()) refuse_input(which, text::unknown_text(unknown));
  if (tokenizer.encode(text, {.special = options.special}).empty()) {
    refuse_input(which, "is empty: there is nothing to explain");
  }
  return tokenizer.encode(text, options);
}

void check_ids(const char* which, const Ids& ids, int64_t known, int64_t most) {
  if (ids.empty()) refuse_input(which, "is empty: there is nothing to explain");
  const auto length = static_cast<int64_t>(ids.size());
  if (length > most) {
    refuse_input(which, "has " + std::to_string(length) + " tokens, the model reads at most " +
                            std::to_string(most));
  }
  for (const int64_t id : ids) {
    if (id >= 0 && id < known) continue;
    refuse_input("id " + std::to_string(id),
                 "the model has the ids 0 to " + std::to_string(known - 1));
  }
}

Tensor row_of(const Ids& ids) { return Tensor::of({1, static_cast<int64_t>(ids.size())}, ids); }

// Ids that the tokenizer does not have are their own labels.
std::vector<std::string> labels_of(const text::Tokenizer* tokenizer, const Ids& ids) {
  std::vector<std::string> labels;
  for (const int64_t id : ids) {
    labels.push_back(tokenizer == nullptr ? std::to_string(id) : text::label_of(*tokenizer, id));
  }
  return labels;
}

void read_pair(const models::Model& model, const InputIds& given, Input& input) {
  const models::SpecialIds& special = model.special_ids();
  const std::optional<int64_t> start =
      special.decoder_start ? special.decoder_start : special.begin;
  if (!start)
    refuse_input("decoder_start_token_id", "the model does not say what its decoder starts with");
  Ids ids = {*start};
  if (given.target) {
    ids.insert(ids.end(), given.target->begin(), given.target->end());
    Ids targets = *given.target;
    targets.push_back(special.end.value_or(-1));
    if (!given.target_is_written) input.batch.targets = row_of(targets);
  }
  check_ids("text", given.ids, model.source_vocab_size(), model.context_length());
  check_ids("target", ids, model.vocab_size(), model.context_length());
  input.batch.source_ids = row_of(given.ids);
  input.batch.ids = row_of(ids);
}

void read_continuation(const models::Model& model, const InputIds& given, Input& input) {
  Ids ids = given.ids;
  size_t known_from =
      1;  // ids from here on, up to where the model wrote by itself, are to be given
  size_t known_to = ids.size();
  if (given.target) {
    ids.insert(ids.end(), given.target->begin(), given.target->end());
    if (!given.target_is_written) known_from = std::exchange(known_to, ids.size());
  }
  check_ids("text", ids, model.vocab_size(), model.context_length());
  Ids targets(ids.size(), -1);
  for (size_t i = known_from; i < known_to; ++i) targets[i - 1] = ids[i];
  input.batch.ids = row_of(ids);
  if (known_to > 1) input.batch.targets = row_of(targets);
}

Ids ids_in(const Tensor& row) {
  return {row.data<int64_t>(), row.data<int64_t>() + row.elements()};
}

}  // namespace

InputIds encode_input(const models::Model& model, const text::Tokenizer& tokenizer,
                      const InputText& text) {
  const models::Capabilities can = model.capabilities();
  const bool has_decoder = can.translates || can.continues_prompt;
  if (text.target && !has_decoder) {
    refuse_input("target", "the model has no decoder that could give one");
  }
  InputIds input{.ids = encoded(tokenizer, "text", text.text,
                                {.special = text.special,
                                 .framed = !can.continues_prompt,
                                 .sizing = has_decoder ? text::Sizing::whole : text::Sizing::cut})};
  if (can.continues_prompt) input.ids = tokenizer.encode_prompt(text.text, text.special);
  if (text.target) {
    input.target = encoded(tokenizer, "target", *text.target, {.special = text.special});
  }
  return input;
}

Input make_input(const models::Model& model, const text::Tokenizer* tokenizer, InputIds ids) {
  Input input;
  const models::Capabilities can = model.capabilities();
  if (can.translates) {
    read_pair(model, ids, input);
    input.source_tokens = labels_of(tokenizer, ids.ids);
  } else if (can.continues_prompt) {
    read_continuation(model, ids, input);
  } else {
    if (ids.target) refuse_input("target", "the model has no decoder that could give one");
    check_ids("text", ids.ids, model.vocab_size(), model.context_length());
    input.batch.ids = row_of(ids.ids);
  }
  if (model.classifier() != nullptr) input.classes = model.classifier()->classes();
  input.tokens = labels_of(tokenizer, ids_in(input.batch.ids));
  if (ids.target && ids.target_is_written) {
    input.written = static_cast<int64_t>(ids.target->size());
  }
  for (int64_t id = 0; tokenizer != nullptr && id < tokenizer->size(); ++id) {
    input.vocabulary.push_back(labels_of(tokenizer, {id}).front());
  }
  return input;
}

Input make_input(const models::Model& model, const text::Tokenizer& tokenizer,
                 const InputText& text) {
  return make_input(model, &tokenizer, encode_input(model, tokenizer, text));
}

}  // namespace headlight::explain
