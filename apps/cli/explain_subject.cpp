// The worked model over the user's sentences, or a model that was trained elsewhere.
#include "apps/cli/explain_subject.h"

#include <algorithm>

#include "apps/cli/model_tokenizer.h"
#include "headlight/data/data.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;
using explain::SentencePair;

std::vector<SentencePair> data_set(const Session& session, const ExplainOptions& options) {
  if (!options.sentences) return explain::default_sentences();
  const std::string text = text::read_text(session.files, *options.sentences,
                                           session.arguments.text("encoding").value_or(""));
  std::vector<SentencePair> sentences;
  for (const data::Pair& pair : data::parse_pairs(text, *options.sentences)) {
    sentences.push_back({pair.source, pair.target});
  }
  return sentences;
}

// Words of the text that the tokenizer does not have are told with the way out.
void check_words(const explain::WorkedModel& worked, const std::string& text) {
  const std::vector<std::string> unknown = explain::unknown_words(worked.tokenizer, text);
  if (unknown.empty()) return;
  constexpr size_t kMost = 5;
  std::string list;
  for (size_t i = 0; i < std::min(unknown.size(), kMost); ++i) {
    list += (i > 0 ? ", " : "") + io::in_quotes(unknown[i]);
  }
  throw Error(ErrorKind::bad_input, "explain", "text",
              std::to_string(unknown.size()) + (unknown.size() == 1 ? " word is" : " words are") +
                  " not in the vocabulary: " + list + (unknown.size() > kMost ? ", ..." : "") +
                  "; --target TEXT adds the sentence with its continuation, --sentences FILE "
                  "gives a data set of your own");
}

void load_weights(const Session& session, const std::string& path,
                  const explain::WorkedModel& worked) {
  const io::Safetensors tensors = io::open_safetensors(session.files, path);
  worked.model->load_state(models::read_state(tensors), path);
}

Subject worked_subject(const Session& session, const ExplainOptions& options) {
  Subject subject{.name = "", .text = options.text, .target = options.target};
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
  subject.worked = explain::make_worked_model(std::move(sentences), options.worked);
  if (options.weights) load_weights(session, *options.weights, *subject.worked);
  check_words(*subject.worked, options.text);
  return subject;
}

Subject loaded_subject(const Session& session, const ExplainOptions& options) {
  LoadedModel loaded = load_model_argument(session);
  Subject subject{.name = session.arguments.text("model").value(),
                  .loaded_tokenizer = need_tokenizer(session, loaded),
                  .text = options.text,
                  .target = options.target};
  subject.loaded = std::move(loaded.model);
  return subject;
}

}  // namespace

std::optional<std::string> Subject::says(base::ThreadPool& threads) const {
  if (model().type() != "headlight-seq2seq") return std::nullopt;
  return continuation_of(threads, model(), tokenizer(), text);
}

Subject make_subject(const Session& session, const ExplainOptions& options) {
  Subject subject =
      options.has_model ? loaded_subject(session, options) : worked_subject(session, options);
  subject.input = explain::make_input(
      subject.model(), subject.tokenizer(),
      {.text = subject.text, .target = subject.target, .special = options.special});
  return subject;
}

}  // namespace headlight::cli
