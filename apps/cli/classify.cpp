// `headlight classify`: the labels that a model gives to texts.
#include "apps/cli/program/input.h"
#include "apps/cli/program/progress.h"
#include "headlight/infer/infer.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kClassifyExamples =
    R"(  headlight classify MODEL --text "A wonderful film."
      its labels with their probabilities, the likeliest first
  headlight classify MODEL --top 1 < sentences.txt
      the likeliest label of each line
  headlight classify MODEL --text "It rains." --pair "The street is wet."
      two texts together, as models of entailment or similarity read them
  headlight classify MODEL --json < pairs.tsv
      a line of JSON for each line; a tab parts two texts

Labels have the names that the folder gives them (id2label). Probabilities are a softmax where one label is right
(single_label_classification, the usual case) and a sigmoid of each where several may be (multi_label_classification); of a
regression the numbers themselves are shown. MODEL is a folder of a …ForSequenceClassification model.

In text, labels and numbers are parted by tabs. --json, a line for each:
    {"text":"","pair":"","labels":[{"label":"","probability":0,"logit":0}]}
without "pair" where there is one text, and of a regression with "value" in place of "probability".
)";

constexpr int64_t kUsualTop = 5;
constexpr Option kClassifyOptions[] = {
    {"text", "TEXT", "the text (default: standard input, one per line)"},
    {"pair", "TEXT", "a second text beside that of --text"},
    {"top", "N", "how many labels are shown (default: 5)"},
    {"encoding", "NAME", "of standard input, where it is not UTF-8: cp1254, cp949, latin1, ..."},
};

io::Json labels_json(const std::vector<models::LabelScore>& scores, bool is_number) {
  io::Json::Array labels;
  for (const models::LabelScore& one : scores) {
    labels.emplace_back(io::Json::Object{{"label", one.label},
                                         {is_number ? "value" : "probability", one.score},
                                         {"logit", static_cast<double>(one.logit)}});
  }
  return labels;
}

std::string labels_text(const std::vector<models::LabelScore>& scores) {
  std::string line;
  for (const models::LabelScore& one : scores) {
    line.append(line.empty() ? "" : "\t").append(narrate::visible(one.label));
    line.append("\t").append(io::number_text(static_cast<float>(one.score)));
  }
  return line;
}

void print(Session& session, const models::Classes& classes, const std::string& line,
           const std::vector<models::LabelScore>& scores) {
  if (!session.json) return session.output.write(labels_text(scores) + "\n");
  const size_t tab = line.find('\t');
  io::Json::Object document{{"text", line.substr(0, tab)}};
  if (tab != line.npos) document.emplace_back("pair", line.substr(tab + 1));
  const bool is_number = classes.problem == models::ClassProblem::regression;
  document.emplace_back("labels", labels_json(scores, is_number));
  session.output.write(io::json_text(document) + "\n");
}

const models::Classes& classes_of(const recipes::LoadedModel& loaded) {
  const models::Classifier* classifier = loaded.model->classifier();
  if (classifier != nullptr) return classifier->classes();
  throw Error(ErrorKind::bad_input, "classify", loaded.folder,
              "the model is a " + std::string(loaded.model->type()) +
                  " without labels; a folder of a …ForSequenceClassification model has them");
}

// --pair stands behind a tab, as in lines of standard input.
std::string with_pair(const Session& session, std::string line) {
  const auto pair = session.arguments.text("pair");
  if (!pair) return line;
  const bool has_tab = (line + *pair).find('\t') != std::string::npos;
  if (has_tab) throw Error(ErrorKind::bad_input, "--pair", "", "beside it no text may have a tab");
  return line + "\t" + *pair;
}

void run_classify(Session& session) {
  require_other(session.arguments, "pair", "text", "which it stands beside");
  TextLines lines(session);
  const int64_t top = session.arguments.integer("top", {1, INT64_MAX}).value_or(kUsualTop);
  const recipes::LoadedModel loaded = load_packed_model(session);
  const models::Classes& classes = classes_of(loaded);
  const text::Tokenizer tokenizer = recipes::need_tokenizer(session.files, loaded);
  base::ThreadPool threads(session.threads);
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena};
  BlockProgress progress(session, command_text(session, "command.progress.computing"));
  for (auto block = lines.next(); !block.empty(); block = lines.next()) {
    std::vector<infer::ClassifiedText> texts;
    for (std::string& line : block) line = with_pair(session, std::move(line));
    const EncodedBlock encoded =
        encode_block(lines, block, [&](const std::string& line, const std::string& place) {
          texts.push_back(recipes::classified_text(tokenizer, *loaded.model, line, place));
          return texts.back().ids;
        });
    progress.begin_block();
    const auto logits = infer::class_logits(context, *loaded.model, texts);
    progress.end_block();
    for (size_t i = 0; i < texts.size(); ++i) {
      print(session, classes, block[i],
            models::label_scores(classes, logits[i].data(), static_cast<size_t>(top)));
    }
    session.output.flush();
    if (encoded.refusal) std::rethrow_exception(encoded.refusal);
  }
}

}  // namespace

const Command kClassify = {"classify",        "labels of texts, with their probabilities",
                           kClassifyExamples, kClassifyOptions,
                           run_classify,      {.name = "MODEL"}};

}  // namespace headlight::cli
