// `headlight evaluate`: how good a model is on data.
#include <algorithm>
#include <array>
#include <cmath>

#include "apps/cli/decoding_options.h"
#include "apps/cli/program.h"
#include "headlight/infer/infer.h"
#include "headlight/recipes/recipes.h"
#include "headlight/train/train.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kEvaluateExamples =
    R"(  headlight evaluate shakespeare --data other-plays.txt
      loss and perplexity of a GPT over a whole text, in windows that do not overlap
  headlight evaluate en-tr --data pairs.tsv --json
      loss, perplexity, BLEU and chrF of the translations
  headlight evaluate numbers --task numbers
      how many held-out cases of a made-up task are exactly right

Losses are natural-log, mean per target token. BLEU and chrF are sacreBLEU's.
)";

constexpr Option kEvaluateOptions[] = {
    {"data", "PATH", "a text, or tab-separated pairs for an encoder-decoder"},
    {"task", "NAME", "lm, translate, numbers, copy or reverse (default: by the model)"},
    {"beam", "N", "translate with this many beams (default: greedily)"},
    {"length-penalty", "A", "of beam scores (default: 1)"},
    {"encoding", "NAME", "of the text, when not UTF-8"},
};

struct Evaluation {
  Session& session;
  recipes::LoadedModel loaded;
  base::ThreadPool threads;
  tensor::Arena arena = {};
  io::Json::Object facts = {};

  const models::Model& model() const { return *loaded.model; }

  std::string read_data() const {
    return text::read_text(session.files, *session.arguments.text("data"),
                           session.arguments.text("encoding").value_or(""));
  }

  void add_loss(const train::Task& task) {
    const double loss = train::validation_loss(threads, arena, model(), task);
    facts.emplace_back("loss", loss);
    facts.emplace_back("perplexity", std::exp(loss));
  }

  void on_text() {
    const text::Tokenizer tokenizer = recipes::need_tokenizer(session.files, loaded);
    const std::string path = *session.arguments.text("data");
    data::TokenStream tokens = data::tokenize(tokenizer, read_data(), path);
    data::ValidationWindows windows(tokens, model().context_length(), path);
    facts.emplace_back("tokens", windows.target_count());
    add_loss(*train::validation_task(std::move(windows)));
  }

  void on_pairs() {
    const text::Tokenizer tokenizer = recipes::need_tokenizer(session.files, loaded);
    const std::string path = *session.arguments.text("data");
    const std::vector<data::Pair> pairs = data::parse_pairs(read_data(), path);
    data::PairSet set = data::encode_pairs(tokenizer, tokenizer, pairs, path);
    check_lengths(set, pairs, path);
    facts.emplace_back("sentences", set.size());
    add_loss(*train::validation_task(std::move(set), sequence_ids(path)));
    const std::vector<std::string> written = translations(tokenizer, pairs);
    std::vector<std::string> references;
    for (const data::Pair& pair : pairs) references.push_back(pair.target);
    facts.emplace_back("bleu", text::corpus_bleu(written, references).score);
    facts.emplace_back("chrf", text::corpus_chrf(written, references));
  }

  // A target is read behind a start.
  void check_lengths(const data::PairSet& set, const std::vector<data::Pair>& pairs,
                     const std::string& path) const {
    for (int64_t i = 0; i < set.size(); ++i) {
      const int64_t longest = std::max(set.source_length(i), set.target_length(i) + 1);
      if (longest <= model().context_length()) continue;
      const int64_t line = pairs[static_cast<size_t>(i)].line;
      throw Error(ErrorKind::bad_input, "pairs", path + ":" + std::to_string(line),
                  "has " + std::to_string(longest) + " tokens, the model's context is " +
                      std::to_string(model().context_length()));
    }
  }

  data::SequenceIds sequence_ids(const std::string& path) const {
    const models::SpecialIds& ids = model().special_ids();
    if (ids.decoder_start && ids.end)
      return {ids.padding.value_or(0), *ids.decoder_start, *ids.end};
    throw Error(ErrorKind::bad_input, "model", loaded.folder,
                "has no decoder_start_token_id and eos_token_id, which " + path + " needs");
  }

  std::vector<std::string> translations(const text::Tokenizer& tokenizer,
                                        const std::vector<data::Pair>& pairs) {
    std::vector<std::vector<int64_t>> sources;
    for (const data::Pair& pair : pairs) sources.push_back(tokenizer.encode(pair.source));
    autograd::Context context{.threads = threads, .arena = arena};
    infer::OutputOptions options;
    options.ending.tokenizer = &tokenizer;
    std::vector<std::string> texts;
    if (const auto search = read_search_options(session.arguments)) {
      for (auto& found : infer::beam_outputs(context, model(), sources, *search, options))
        texts.push_back(std::move(found.front().text));
    } else {
      for (auto& output : infer::greedy_outputs(context, model(), sources, options))
        texts.push_back(std::move(output.text));
    }
    return texts;
  }

  void on_generated(const std::string& name) {
    const auto task = data::generated_task(name);
    if (model().source_vocab_size() != task->tokenizer().size()) {
      throw Error(ErrorKind::bad_input, "model", loaded.folder,
                  "task " + name + " has " + std::to_string(task->tokenizer().size()) +
                      " tokens, the model " + std::to_string(model().source_vocab_size()));
    }
    add_loss(*train::generated_task(*task, 1, 0, 500));
    for (auto& fact : recipes::exact_match_json(recipes::exact_match(threads, model(), *task)))
      facts.push_back(std::move(fact));
  }
};

std::string task_of(const Session& session, const models::Model& model) {
  if (session.arguments.has("task")) return session.arguments.choice("task", recipes::kTasks);
  return std::string(recipes::task_of_model(model));
}

// What can be seen before a model is read.
void settle_evaluation(Arguments& arguments) {
  const std::string task = arguments.has("task") ? arguments.choice("task", recipes::kTasks) : "";
  const bool makes_data = !task.empty() && recipes::is_generated_task(task);
  if (makes_data) {
    for (const std::string_view option : {"data", "encoding"})
      exclude(arguments, option, "task", "task " + task + " makes its own data");
  }
  if (!task.empty() && task != "translate")
    exclude(arguments, "beam", "task", "has no meaning for task " + task);
  const bool needs_data = !makes_data || !arguments.has("task");
  if (needs_data && !arguments.has("data"))
    throw Error(ErrorKind::usage, "--data", "", "is missing: --data PATH");
  read_search_options(arguments);  // wrong numbers are told before a model is read
}

void run_evaluate(Session& session) {
  settle_evaluation(session.arguments);
  Evaluation evaluation{session, load_model(session), base::ThreadPool(session.threads)};
  const std::string task = task_of(session, evaluation.model());
  recipes::check_task_model(task, evaluation.model(), evaluation.loaded.folder, "needs");
  const bool has_beam = session.arguments.has("beam");
  if (has_beam && task != "translate" && session.arguments.level("beam") == Level::request) {
    throw Error(ErrorKind::bad_input, session.arguments.source("beam"), "",
                "has no meaning for task " + task + ", which the model is for");
  }
  if (task == "lm") {
    evaluation.on_text();
  } else if (task == "translate") {
    evaluation.on_pairs();
  } else {
    evaluation.on_generated(task);
  }
  if (session.json) {
    session.output.write(io::json_text(evaluation.facts) + "\n");
    return;
  }
  for (const auto& [name, value] : evaluation.facts) {
    std::string line = name;
    line.resize(18, ' ');
    session.output.write(
        line + (value.integer() ? io::json_text(value) : fixed_text(*value.number(), 4)) + "\n");
  }
}

}  // namespace

const Command kEvaluate = {"evaluate",        "how good a model is on data",
                           kEvaluateExamples, kEvaluateOptions,
                           run_evaluate,      {"MODEL"}};

}  // namespace headlight::cli
