// Words and texts around attribution, lens and patching.
#include "headlight/recipes/logit_questions.h"

namespace headlight::recipes {
namespace {

// Both words of a question.
struct AskedWords {
  TypedWord word;
  std::optional<TypedWord> against = {};

  heads::LogitMetric metric(int64_t position) const {
    heads::LogitMetric metric{.position = position, .word = word.id};
    if (against) metric.against = against->id;
    return metric;
  }
};

AskedWords read_words(const PromptReader& reader, const std::string& word,
                      const std::optional<std::string>& against) {
  AskedWords words{.word = read_word(reader, "word", word)};
  if (!against) return words;
  words.against = read_word(reader, "against", *against);
  if (words.against->id == words.word.id) {
    base::refuse(reader.what, "against",
                 io::in_quotes(word) + " and " + io::in_quotes(*against) + " are the same token " +
                     io::in_quotes(words.word.token) + ": there is no difference to explain");
  }
  return words;
}

io::Json typed_word_json(const TypedWord& word) {
  return io::Json::Object{
      {"text", word.text}, {"token", word.token}, {"id", word.id}, {"tokens", word.tokens}};
}

io::Json labels_json(const std::vector<std::string>& labels) {
  return io::Json::Array(labels.begin(), labels.end());
}

void add_question(io::Json::Object& json, int64_t position, const TypedWord& word,
                  const std::optional<TypedWord>& against) {
  json.emplace_back("at", position);
  json.emplace_back("word", typed_word_json(word));
  json.emplace_back("against", against ? typed_word_json(*against) : io::Json());
}

void check_same_length(const PromptReader& reader, const std::vector<std::string>& clean,
                       const std::vector<std::string>& corrupt) {
  if (clean.size() == corrupt.size()) return;
  base::refuse(reader.what, "tokens",
               "the clean text has " + std::to_string(clean.size()) + " and the corrupted one " +
                   std::to_string(corrupt.size()) +
                   "; the same number is needed, so that each position has its counterpart");
}

}  // namespace

AttributeAnswer attribute(base::ThreadPool& threads, const models::Model& model,
                          const text::Tokenizer* tokenizer, const AttributeRequest& request) {
  const PromptReader reader{model, tokenizer, "attribute", request.special};
  const TypedPrompt prompt = read_prompt(reader, request.text);
  const AskedWords words = read_words(reader, request.word, request.against);
  const heads::LogitMetric metric = words.metric(prompt.position);
  AttributeAnswer answer{
      .prompt = prompt,
      .word = words.word,
      .against = words.against,
      .attribution = heads::attribute_logits(threads, model, prompt.batch, metric)};
  if (request.lens) {
    answer.lens = heads::logit_lens(threads, model, prompt.batch, metric, request.top);
  }
  return answer;
}

io::Json::Object attribute_json(const AttributeAnswer& answer, const text::Tokenizer* tokenizer) {
  io::Json::Object json = heads::attribution_json(answer.attribution);
  add_question(json, answer.prompt.position, answer.word, answer.against);
  json.emplace_back("tokens", labels_json(answer.prompt.tokens));
  if (!answer.prompt.source_tokens.empty()) {
    json.emplace_back("source_tokens", labels_json(answer.prompt.source_tokens));
  }
  if (answer.lens) {
    json.emplace_back("lens", heads::logit_lens_json(*answer.lens, [tokenizer](int64_t id) {
                        return tokenizer == nullptr ? std::to_string(id)
                                                    : text::label_of(*tokenizer, id);
                      }));
  }
  return json;
}

std::optional<PatchAnswer> patch(base::ThreadPool& threads, const models::Model& model,
                                 const text::Tokenizer* tokenizer, const PatchRequest& request) {
  const PromptReader reader{model, tokenizer, "patch", request.special};
  const bool translates = model.capabilities().translates;
  if (!translates && !request.prompt.empty()) {
    base::refuse(reader.what, "prompt",
                 "the clean and the corrupted text are what the model reads; only an "
                 "encoder-decoder has written something besides");
  }
  const auto read = [&](const std::string& text) {
    return translates ? read_prompt(reader, {request.prompt, text, request.at})
                      : read_prompt(reader, {text, std::nullopt, request.at});
  };
  PatchAnswer answer{.clean = read(request.clean),
                     .corrupt = read(request.corrupt),
                     .word = {},
                     .against = {},
                     .patching = {}};
  check_same_length(reader, answer.clean.tokens, answer.corrupt.tokens);
  check_same_length(reader, answer.clean.source_tokens, answer.corrupt.source_tokens);
  if (answer.clean.position != answer.corrupt.position) {
    base::refuse(reader.what, "mask",
                 "stands at position " + std::to_string(answer.clean.position) +
                     " of the clean and at " + std::to_string(answer.corrupt.position) +
                     " of the corrupted text; hide the same one");
  }
  const AskedWords words = read_words(reader, request.word, request.against);
  answer.word = words.word;
  answer.against = words.against;
  auto patching = heads::patch_heads(threads, model, answer.clean.batch, answer.corrupt.batch,
                                     words.metric(answer.clean.position), request.options);
  if (!patching) return {};
  answer.patching = *std::move(patching);
  return answer;
}

io::Json::Object patch_json(const PatchAnswer& answer) {
  io::Json::Object json = heads::patching_json(answer.patching);
  add_question(json, answer.clean.position, answer.word, answer.against);
  json.emplace_back("clean_tokens", labels_json(answer.clean.tokens));
  json.emplace_back("corrupt_tokens", labels_json(answer.corrupt.tokens));
  if (!answer.clean.source_tokens.empty()) {
    json.emplace_back("clean_source_tokens", labels_json(answer.clean.source_tokens));
    json.emplace_back("corrupt_source_tokens", labels_json(answer.corrupt.source_tokens));
  }
  return json;
}

}  // namespace headlight::recipes
