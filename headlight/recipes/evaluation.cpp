// Losses of whole data sets, translations against references, exams.
#include "headlight/recipes/evaluation.h"

#include <algorithm>
#include <cmath>

#include "headlight/recipes/decoding.h"
#include "headlight/recipes/spread_work.h"
#include "headlight/recipes/task_models.h"
#include "headlight/recipes/train_settings.h"
#include "headlight/train/train.h"

namespace headlight::recipes {
namespace {

using base::Error;
using base::ErrorKind;

constexpr int64_t kHeldOutOfEvaluation = 500;  // of each kind, for the loss
constexpr double kShareOfLoss = 0.1;           // of the time; translations take longer

class Evaluator {
 public:
  Evaluator(base::ThreadPool& threads, base::FileSystem& files, const LoadedModel& loaded,
            const EvaluationRequest& request)
      : threads_(threads),
        files_(files),
        loaded_(loaded),
        model_(*loaded.model),
        request_(request),
        group_(request.group == nullptr ? alone_ : *request.group) {}

  Evaluation on_text() {
    const text::Tokenizer tokenizer = need_tokenizer(files_, loaded_);
    data::TokenStream tokens = data::tokenize(tokenizer, read_data(), request_.data);
    data::ValidationWindows windows(tokens, model_.context_length(), request_.data);
    Evaluation result{.tokens = windows.target_count()};
    add_loss(*train::validation_task(std::move(windows)), result, {0, 1});
    return result;
  }

  Evaluation on_masked_text() {
    const text::Tokenizer tokenizer = need_tokenizer(files_, loaded_);
    data::MaskedValidationWindows windows(
        data::tokenize(tokenizer, read_data(), request_.data),
        data::masked_window_options(tokenizer, model_.context_length(), loaded_.folder),
        request_.data);
    Evaluation result{.tokens = windows.target_count()};
    add_loss(*train::validation_task(std::move(windows)), result, {0, 1});
    return result;
  }

  Evaluation on_pairs() {
    const text::Tokenizer tokenizer = need_tokenizer(files_, loaded_);
    const std::vector<data::Pair> pairs = data::parse_pairs(read_data(), request_.data);
    data::PairSet set = data::encode_pairs(tokenizer, tokenizer, pairs, request_.data);
    check_lengths(set, pairs);
    Evaluation result{.sentences = set.size()};
    add_loss(*train::validation_task(std::move(set), sequence_ids()), result, {0, kShareOfLoss});
    std::vector<std::vector<int64_t>> sources;
    std::vector<std::string> references;
    for (const data::Pair& pair : pairs) {
      sources.push_back(data::source_ids(tokenizer, pair.source));
      references.push_back(pair.target);
    }
    const std::vector<std::string> written = translations(tokenizer, sources);
    result.bleu = text::corpus_bleu(written, references).score;
    result.chrf = text::corpus_chrf(written, references);
    return result;
  }

  Evaluation on_generated(const std::string& name) {
    const auto task = data::generated_task(name);
    if (model_.source_vocab_size() != task->tokenizer().size()) {
      throw Error(ErrorKind::bad_input, "model", loaded_.folder,
                  "task " + name + " has " + std::to_string(task->tokenizer().size()) +
                      " tokens, the model " + std::to_string(model_.source_vocab_size()));
    }
    Evaluation result;
    add_loss(*train::generated_task(*task, 1, 0, kHeldOutOfEvaluation), result, {0, 0});
    result.exact_match = exact_match(
        threads_, model_, *task,
        {.scope = ExamScope::whole, .progress = progress_within({0, 1}), .group = &group_});
    return result;
  }

 private:
  // Each rank translates a part.
  std::vector<std::string> translations(const text::Tokenizer& tokenizer,
                                        const std::vector<std::vector<int64_t>>& sources) {
    const ranks::Range own = group_.own_part(static_cast<int64_t>(sources.size()));
    autograd::Context context{.threads = threads_, .arena = arena_};
    const TranslateOptions options{.search = request_.search,
                                   .progress = progress_within({kShareOfLoss, 1})};
    io::Json::Array mine;
    for (auto& found : translate(context, model_, tokenizer,
                                 {sources.begin() + own.first, sources.begin() + own.end}, options))
      mine.emplace_back(std::move(found.front().text));
    std::vector<std::string> all;
    for (const std::string& texts : group_.gather(io::json_text(mine))) {
      const io::Json read = io::parse_json(texts, "translations");
      for (const io::Json& text : *read.array()) all.push_back(*text.text());
    }
    return all;
  }

  std::string read_data() const {
    if (request_.data.empty())
      throw Error(ErrorKind::usage, "data", "", "is missing: a file to evaluate the model on");
    return text::read_text(files_, request_.data, request_.encoding);
  }

  // Of a part of the work, as a share of the whole.
  std::function<void(double share)> progress_within(Range<double> part) const {
    if (!request_.progress) return {};
    return [this, part](double share) {
      request_.progress(part.lowest + share * (part.highest - part.lowest));
    };
  }

  void add_loss(const train::Task& task, Evaluation& to, Range<double> part) {
    to.loss =
        train::validation_loss(threads_, arena_, model_, task, progress_within(part), &group_);
    to.perplexity = std::exp(to.loss);
  }

  // A target is read behind a start.
  void check_lengths(const data::PairSet& set, const std::vector<data::Pair>& pairs) const {
    for (int64_t i = 0; i < set.size(); ++i) {
      const int64_t longest = std::max(set.source_length(i), set.target_length(i) + 1);
      if (longest <= model_.context_length()) continue;
      const int64_t line = pairs[static_cast<size_t>(i)].line;
      throw Error(ErrorKind::bad_input, "pairs", request_.data + ":" + std::to_string(line),
                  "has " + std::to_string(longest) + " tokens, the model's context is " +
                      std::to_string(model_.context_length()));
    }
  }

  data::SequenceIds sequence_ids() const {
    const models::SpecialIds& ids = model_.special_ids();
    if (ids.decoder_start && ids.end)
      return {ids.padding.value_or(0), *ids.decoder_start, *ids.end};
    throw Error(
        ErrorKind::bad_input, "model", loaded_.folder,
        "has no decoder_start_token_id and eos_token_id, which " + request_.data + " needs");
  }

  base::ThreadPool& threads_;
  base::FileSystem& files_;
  const LoadedModel& loaded_;
  const models::Model& model_;
  const EvaluationRequest& request_;
  ranks::Group alone_;
  ranks::Group& group_;
  tensor::Arena arena_;
};

// What ranks that share an evaluation have in common.
SharedRequest shared_request(base::FileSystem& files, const std::string& task,
                             const EvaluationRequest& request) {
  SharedRequest shared{.asked = {{"task", task}, {"encoding", request.encoding}}};
  if (request.search) {
    shared.asked.emplace_back("beam", request.search->beams);
    shared.asked.emplace_back("length_penalty", request.search->length_penalty);
  }
  if (!request.data.empty()) shared.read.emplace_back("data", train::file_sum(files, request.data));
  return shared;
}

}  // namespace

std::string evaluation_task(const LoadedModel& loaded, const std::string& asked) {
  const std::string task = asked.empty() ? std::string(task_of_model(*loaded.model)) : asked;
  check_task_model(task, *loaded.model, loaded.folder, "needs");
  return task;
}

Evaluation evaluate(base::ThreadPool& threads, base::FileSystem& files, const LoadedModel& loaded,
                    const EvaluationRequest& request) {
  const std::string task = evaluation_task(loaded, request.task);
  if (request.group != nullptr && !request.group->is_alone())
    check_same_request(*request.group, files, loaded, shared_request(files, task, request));
  Evaluator evaluator(threads, files, loaded, request);
  if (is_generated_task(task)) return evaluator.on_generated(task);
  if (task == "lm") return evaluator.on_text();
  return task == "mlm" ? evaluator.on_masked_text() : evaluator.on_pairs();
}

io::Json::Object evaluation_json(const Evaluation& evaluation) {
  io::Json::Object facts;
  if (evaluation.tokens) facts.emplace_back("tokens", *evaluation.tokens);
  if (evaluation.sentences) facts.emplace_back("sentences", *evaluation.sentences);
  facts.emplace_back("loss", evaluation.loss);
  facts.emplace_back("perplexity", evaluation.perplexity);
  if (evaluation.bleu) facts.emplace_back("bleu", *evaluation.bleu);
  if (evaluation.chrf) facts.emplace_back("chrf", *evaluation.chrf);
  if (evaluation.exact_match) {
    for (auto& fact : exact_match_json(*evaluation.exact_match)) facts.push_back(std::move(fact));
    io::Json::Array forms = exam_forms_json(*evaluation.exact_match);
    if (!forms.empty()) facts.emplace_back("forms", std::move(forms));
  }
  return facts;
}

}  // namespace headlight::recipes
