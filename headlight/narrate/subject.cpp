// The worked model over the user's sentences, or a model that was trained elsewhere.
#include "headlight/narrate/subject.h"

#include <algorithm>

#include "headlight/data/data.h"

namespace headlight::narrate {
namespace {

using base::Error;
using base::ErrorKind;
using recipes::SentencePair;

std::vector<SentencePair> data_set(base::FileSystem& files, const ExplainRequest& request) {
  if (!request.pairs.empty()) return request.pairs;
  if (!request.sentences) return recipes::default_sentences();
  const std::string text = text::read_text(files, *request.sentences, request.encoding);
  std::vector<SentencePair> sentences;
  for (const data::Pair& pair : data::parse_pairs(text, *request.sentences)) {
    sentences.push_back({pair.source, pair.target});
  }
  return sentences;
}

// Where words that nobody knows come from.
struct CheckedText {
  const char* which;
  const std::string& text;
  bool special;
  bool is_typed;
};

// Words that the tokenizer does not have are told with the way out.
void check_words(const Subject& subject, const CheckedText& checked) {
  const text::Tokenizer& tokenizer = *subject.tokenizer();
  const std::vector<std::string> unknown =
      text::unknown_words(tokenizer, checked.text, checked.special);
  if (unknown.empty()) return;
  const auto is_special = [&](const std::string& word) {
    const std::optional<int64_t> id = tokenizer.find(word);
    return id && tokenizer.is_special(*id);
  };
  std::string ways;
  if (std::ranges::any_of(unknown, is_special)) {
    ways += std::string("; ") + (checked.is_typed ? "--special" : "special") +
            " reads texts of special tokens as these";
  }
  if (subject.worked && !std::ranges::all_of(unknown, is_special)) {
    ways += checked.is_typed
                ? "; --target TEXT adds the sentence with its continuation, --sentences FILE gives "
                  "a data set of your own"
                : "; a target adds the sentence with its continuation, sentences give a data set "
                  "of your own";
  }
  throw Error(ErrorKind::bad_input, "explain", checked.which, text::unknown_text(unknown) + ways);
}

// Weights as they are and packed for the kernels; where they learn, gradients, and two moments with
// a copy of them.
void check_worked_memory(base::FileSystem& files, const ExplainRequest& request,
                         const std::vector<SentencePair>& sentences) {
  const int64_t parameters = recipes::parameter_count(sentences, request.worked);
  const double copies = request.train || request.backward ? 7 : 2;
  base::check_memory(files, copies * sizeof(float) * static_cast<double>(parameters),
                     "worked model", std::to_string(parameters) + " parameters",
                     "; --heads, --head-width and --width make it smaller");
}

void load_weights(const io::Safetensors& tensors, const std::string& path,
                  const recipes::WorkedModel& worked) {
  worked.model->load_state(models::stored_state(tensors), path);
}

io::Safetensors tensors_in(const std::string& bytes) {
  return io::Safetensors(
      std::make_shared<base::MemoryInput>("weights", std::as_bytes(std::span(bytes))));
}

Subject worked_subject(base::FileSystem& files, const ExplainRequest& request) {
  Subject subject{
      .name = "", .text = request.text, .target = request.target, .special = request.special};
  std::vector<SentencePair> sentences = data_set(files, request);
  const auto known =
      std::find_if(sentences.begin(), sentences.end(),
                   [&](const SentencePair& pair) { return pair.source == request.text; });
  if (known == sentences.end() && request.target) {
    sentences.push_back({request.text, *request.target});
  } else if (known != sentences.end()) {
    if (request.target) known->target = *request.target;
    subject.target = known->target;
  }
  check_worked_memory(files, request, sentences);
  subject.worked = recipes::make_worked_model(std::move(sentences), request.worked);
  if (request.weights) {
    load_weights(io::open_safetensors(files, *request.weights), *request.weights, *subject.worked);
  }
  if (request.weights_bytes) {
    load_weights(tensors_in(*request.weights_bytes), "weights", *subject.worked);
  }
  return subject;
}

Subject named_subject(const ExplainRequest& request, std::string name,
                      std::unique_ptr<models::Model> model,
                      std::optional<text::Tokenizer> tokenizer) {
  Subject subject{.name = std::move(name),
                  .loaded_tokenizer = std::move(tokenizer),
                  .text = request.text,
                  .target = request.target,
                  .special = request.special};
  subject.loaded = std::move(model);
  return subject;
}

Subject loaded_subject(base::FileSystem& files, const ExplainRequest& request) {
  recipes::LoadedModel loaded = recipes::load_named_model(files, *request.model);
  std::optional<text::Tokenizer> tokenizer =
      request.ids ? recipes::find_tokenizer(files, loaded)
                  : recipes::need_tokenizer(files, loaded, "; --ids 1,2,3 needs none");
  return named_subject(request, *request.model, std::move(loaded.model), std::move(tokenizer));
}

void check_is_read(const ExplainRequest& request, const std::string& name, bool has_tokenizer) {
  if (request.ids || has_tokenizer) return;
  base::refuse("explain", name, "the model has no tokenizer that reads a text; give ids");
}

// With what the model reads of the text.
Subject with_input(Subject subject, const ExplainRequest& request) {
  if (request.continues) subject.target.reset();
  if (request.ids) {
    subject.given = {.ids = *request.ids, .target = request.target_ids};
    subject.name_ids();
  } else {
    check_words(subject, {"text", subject.text, subject.special, request.is_typed});
    if (subject.target) {
      check_words(subject, {"target", *subject.target, subject.special, request.is_typed});
    }
    subject.given = explain::encode_input(
        subject.model(), *subject.tokenizer(),
        {.text = subject.text, .target = subject.target, .special = subject.special});
  }
  subject.input = explain::make_input(subject.model(), subject.tokenizer(), subject.given);
  return subject;
}

}  // namespace

models::Model& Subject::changeable_model() const {
  if (worked) return *worked->model;
  if (loaded != nullptr) return *loaded;
  throw Error(ErrorKind::failed, "explain", name,
              "others use the model: the way back needs its own");
}

std::string Subject::text_of(const std::vector<int64_t>& ids) const {
  if (tokenizer() != nullptr) return tokenizer()->decode(ids, {.special = false});
  std::string text;
  for (const int64_t id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
  return text;
}

void Subject::name_ids() {
  text = text_of(given.ids);
  if (given.target) target = text_of(*given.target);
}

std::optional<std::string> Subject::continuation(base::ThreadPool& threads) const {
  if (input.written > 0) {
    const int64_t* ids = input.batch.ids.data<int64_t>() + input.batch.ids.elements();
    return text_of({ids - input.written, ids});
  }
  if (!model().capabilities().translates) return std::nullopt;
  constexpr int64_t kMostWords = 12;
  const std::vector<int64_t> ids = recipes::written_ids(threads, model(), given.ids, kMostWords);
  return text_of(ids) + (std::ssize(ids) == kMostWords ? " …" : "");
}

void Subject::write_on(base::ThreadPool& threads, int64_t most,
                       const std::function<void()>& go_on) {
  if (given.target) return;
  explain::InputIds read = given;
  read.target = recipes::written_ids(threads, model(), given.ids, most, go_on);
  read.target_is_written = true;
  if (read.target->empty()) read.target.reset();
  input = explain::make_input(model(), tokenizer(), std::move(read));
}

Subject make_subject(base::FileSystem& files, const ExplainRequest& request) {
  return with_input(request.model ? loaded_subject(files, request) : worked_subject(files, request),
                    request);
}

Subject make_subject(const ExplainRequest& request, std::string name,
                     std::unique_ptr<models::Model> model,
                     std::optional<text::Tokenizer> tokenizer) {
  check_is_read(request, name, tokenizer.has_value());
  return with_input(named_subject(request, std::move(name), std::move(model), std::move(tokenizer)),
                    request);
}

Subject make_shared_subject(const ExplainRequest& request, std::string name,
                            std::shared_ptr<const models::Model> model,
                            std::optional<text::Tokenizer> tokenizer) {
  check_is_read(request, name, tokenizer.has_value());
  Subject subject = named_subject(request, std::move(name), nullptr, std::move(tokenizer));
  subject.shared = std::move(model);
  return with_input(std::move(subject), request);
}

}  // namespace headlight::narrate
