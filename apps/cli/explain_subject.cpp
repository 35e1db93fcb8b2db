// The worked model over the user's sentences, or a model that was trained elsewhere.
#include "apps/cli/explain_subject.h"

#include <algorithm>

#include "headlight/data/data.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;
using recipes::SentencePair;

std::vector<SentencePair> data_set(const Session& session, const ExplainOptions& options) {
  if (!options.sentences) return recipes::default_sentences();
  const std::string text = text::read_text(session.files, *options.sentences,
                                           session.arguments.text("encoding").value_or(""));
  std::vector<SentencePair> sentences;
  for (const data::Pair& pair : data::parse_pairs(text, *options.sentences)) {
    sentences.push_back({pair.source, pair.target});
  }
  return sentences;
}

// Words that the tokenizer does not have are told with the way out.
void check_words(const Subject& subject, const char* which, const std::string& text, bool special) {
  const text::Tokenizer& tokenizer = subject.tokenizer();
  const std::vector<std::string> unknown = explain::unknown_words(tokenizer, text, special);
  if (unknown.empty()) return;
  const auto is_special = [&](const std::string& word) {
    const std::optional<int64_t> id = tokenizer.find(word);
    return id && tokenizer.is_special(*id);
  };
  std::string ways;
  if (std::ranges::any_of(unknown, is_special)) {
    ways += "; --special reads texts of special tokens as these";
  }
  if (subject.worked && !std::ranges::all_of(unknown, is_special)) {
    ways +=
        "; --target TEXT adds the sentence with its continuation, --sentences FILE gives a data "
        "set of your own";
  }
  throw Error(ErrorKind::bad_input, "explain", which, explain::unknown_text(unknown) + ways);
}

// Weights as they are and packed for the kernels; where they learn, gradients, and two moments with
// a copy of them.
void check_worked_memory(const Session& session, const ExplainOptions& options,
                         const std::vector<SentencePair>& sentences) {
  const int64_t parameters = recipes::parameter_count(sentences, options.worked);
  const double copies = options.train || options.backward ? 7 : 2;
  base::check_memory(session.files, copies * sizeof(float) * static_cast<double>(parameters),
                     "worked model", std::to_string(parameters) + " parameters",
                     "; --heads, --head-width and --width make it smaller");
}

void load_weights(const Session& session, const std::string& path,
                  const recipes::WorkedModel& worked) {
  const io::Safetensors tensors = io::open_safetensors(session.files, path);
  worked.model->load_state(models::read_state(tensors), path);
}

Subject worked_subject(const Session& session, const ExplainOptions& options) {
  Subject subject{
      .name = "", .text = options.text, .target = options.target, .special = options.special};
  std::vector<SentencePair> sentences = data_set(session, options);
  const auto known =
      std::find_if(sentences.begin(), sentences.end(),
                   [&](const SentencePair& pair) { return pair.source == options.text; });
  if (known == sentences.end() && options.target) {
    sentences.push_back({options.text, *options.target});
  } else if (known != sentences.end()) {
    if (options.target) known->target = *options.target;
    subject.target = known->target;
  }
  check_worked_memory(session, options, sentences);
  subject.worked = recipes::make_worked_model(std::move(sentences), options.worked);
  if (options.weights) load_weights(session, *options.weights, *subject.worked);
  return subject;
}

Subject loaded_subject(const Session& session, const ExplainOptions& options) {
  recipes::LoadedModel loaded = load_model(session);
  Subject subject{.name = session.arguments.text("model").value(),
                  .loaded_tokenizer = recipes::need_tokenizer(session.files, loaded),
                  .text = options.text,
                  .target = options.target,
                  .special = options.special};
  subject.loaded = std::move(loaded.model);
  return subject;
}

}  // namespace

std::optional<std::string> Subject::says(base::ThreadPool& threads) const {
  if (!model().capabilities().translates) return std::nullopt;
  return recipes::continuation_of(threads, model(), tokenizer(), text, {.special = special});
}

Subject make_subject(const Session& session, const ExplainOptions& options) {
  Subject subject =
      options.has_model ? loaded_subject(session, options) : worked_subject(session, options);
  check_words(subject, "text", subject.text, options.special);
  if (subject.target) check_words(subject, "target", *subject.target, options.special);
  subject.input = explain::make_input(
      subject.model(), subject.tokenizer(),
      {.text = subject.text, .target = subject.target, .special = options.special});
  return subject;
}

}  // namespace headlight::cli
