// `headlight heads score`, `ablate` and `find`: heads measured on examples.
#include "apps/cli/heads/experiment.h"
#include "apps/cli/program/places.h"
#include "apps/cli/program/terminal.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kScoreExamples =
    R"(  headlight heads score numbers
      what each of the 72 heads is worth, on held-out cases of the task it was trained on
  headlight heads score stories --data text.txt --html heads.html
      the same of a GPT on a text, as a page: click a head to see what it looks at
  headlight heads score stories --data text.txt --svg heads.svg --csv
      pictures for a paper, and the numbers for a spreadsheet

--json:
    {"heads":[{"head":"decoder.0.self.0","gradient":0,"gradient_signed":0,
       "entropy":0,"confidence":0,"mean_distance":0,"previous":0,
       "duplicate":0,"induction":0,"prefix_matching":0,"copying":0,
       "role":""}],"examples":1,"loss":0}
A score that a model cannot have is null.
)";

constexpr std::string_view kAblateExamples =
    R"(  headlight heads ablate numbers
      how the loss changes when each head's output is zero
  headlight heads ablate stories --data text.txt --by mean --greedy
      with its mean instead; then one head after another, the cheapest first
  headlight heads ablate model --ids ids.npy --targets targets.npy
      of a model without a tokenizer: rows of ids, and what is right there
  headlight heads ablate numbers --all-but-one --out ablation --resume
      each head as the only one of its attention layer; goes on where it stopped

--json:
    {"loss":0,"heads":[{"head":"decoder.0.self.0","loss":0,"change":0}]}
)";

constexpr std::string_view kFindExamples =
    R"(  headlight heads find thrones --from play --to game --data sentences.txt
      which heads look from one word to another, against random pairs of tokens
  headlight heads find stories --pairs pairs.tsv
      pairs from a file of lines: sentence, tab, word, tab, word
  headlight heads find model --task reverse
      the relation that a made-up task consists of: output to mirrored input
  headlight heads find model --ids ids.npy --pairs pairs.npy
      of a model without a tokenizer: rows of ids, and pairs (P,3) of example, row
      and key, each counted from 0

--json, the best first:
    {"pairs":1,"heads":[{"head":"decoder.0.self.0","weight":0,"chance":0,
       "interval":[0,0],"ablated_change":0}]}
)";

constexpr std::array<Option, 1> kAblateOwnOptions = {{
    {"by", "NAME", "zero, mean or resample: what stands for a head (default: zero)"},
}};
constexpr std::array<Option, 2> kAblateFlags = {{
    {"greedy", "", "also remove one head after another, always the one that costs least"},
    {"all-but-one", "", "also each head as the only one left in its attention layer"},
}};
constexpr std::array<Option, 3> kFindOwnOptions = {{
    {"from", "WORD", "a word that is expected to look"},
    {"to", "WORD", "at this one"},
    {"pairs", "FILE", "lines of sentence, tab, word, tab, word instead"},
}};

constexpr auto kScoreOptions =
    joined_options(kExampleOptions, kIdOptions, kDocumentOptions, kFolderOptions, kRankOptions);
constexpr auto kAblateOptions =
    joined_options(kAblateOwnOptions, kAblateFlags, kExampleOptions, kIdOptions, kDocumentOptions,
                   kFolderOptions, kResumeOptions, kRankOptions);
constexpr auto kFindOptions =
    joined_options(kFindOwnOptions, kExampleOptions, kIdOptions, kAblateOwnOptions,
                   kDocumentOptions, kFolderOptions, kRankOptions);

constexpr std::string_view kAblationKinds[] = {"zero", "mean", "resample"};

std::vector<narrate::ReportSentence> sentences_in(Session& session, base::ThreadPool& threads,
                                                  const recipes::LoadedModel& loaded,
                                                  const recipes::ExamplesRequest& request) {
  return sentences_of(session, threads, loaded,
                      recipes::make_head_examples(session.files, loaded, request).batches);
}

void run_score(Session& session) {
  ExperimentDocuments documents(session, {"data", "ids", "targets"});
  const recipes::ExamplesRequest request = read_examples(session);
  const recipes::LoadedModel loaded = load_model(session);
  check_same_on_ranks(session, kScoreOptions, loaded, request);
  base::ThreadPool threads(session.threads);
  const auto work = [&] {
    Progress progress(session, command_text(session, "command.progress.heads"));
    return recipes::score_model_heads(threads, session.files, loaded, request,
                                      watch_of(session, progress));
  };
  const heads::HeadScores scores = with_model(work);
  narrate::Report report = narrate::score_report(scores, shown_model(session));
  if (documents.has_page()) report.sentences = sentences_in(session, threads, loaded, request);
  documents.write(report, heads::head_scores_json(scores));
}

io::Json::Object ablation_request(Session& session, const recipes::LoadedModel& loaded,
                                  const recipes::ExamplesRequest& examples,
                                  const heads::AblationOptions& options) {
  io::Json::Object request = recipes::examples_json(session.files, examples);
  request.emplace_back("experiment", "ablate");
  request.emplace_back("model", recipes::model_sum(*loaded.model));
  request.emplace_back("by", heads::name_of(options.by));
  return request;
}

void run_ablate(Session& session) {
  Arguments& arguments = session.arguments;
  ExperimentDocuments documents(session, {"data", "ids", "targets"}, OutFolder::resumed);
  const recipes::ExamplesRequest request = read_examples(session);
  heads::AblationOptions options{.by = heads::ablation_kind(arguments.choice("by", kAblationKinds)),
                                 .all_but_one = arguments.has("all-but-one"),
                                 .greedy = arguments.has("greedy")};
  const recipes::LoadedModel loaded = load_model(session);
  check_same_on_ranks(session, kAblateOptions, loaded, request);
  base::ThreadPool threads(session.threads);
  SavedWork saved(session, documents);
  recipes::ExperimentState state(session.files,
                                 {.folder = documents.folder(),
                                  .resume = documents.resumes(),
                                  .request = ablation_request(session, loaded, request, options),
                                  .group = group_of(session)});
  recipes::keep_ablations(options, state);
  const auto work = [&] {
    Progress progress(session, command_text(session, "command.progress.ablating"));
    options.watch = watch_of(session, progress, [&] { return saved.is_interrupted(); });
    return recipes::ablate_model_heads(threads, session.files, loaded, request, options);
  };
  const heads::AblationResult result = with_model(work);
  if (!saved.finish(session, state, result.interrupted)) return;
  narrate::Report report = narrate::ablation_report(result, shown_model(session));
  if (documents.has_page()) report.sentences = sentences_in(session, threads, loaded, request);
  documents.write(report, heads::ablation_json(result));
}

// Words, a file of pairs, or a task that is made of a relation.
recipes::RelationRequest read_relation(Session& session) {
  Arguments& arguments = session.arguments;
  exclude(arguments, "from", "pairs");
  exclude(arguments, "to", "pairs");
  for (const std::string_view option : {"from", "to"})
    exclude(arguments, option, "ids", "has no meaning: ids have no words; --pairs says which");
  require_other(arguments, "from", "to", "the word that is looked at");
  require_other(arguments, "to", "from", "the word that looks");
  const bool names_relation =
      arguments.has("from") || arguments.has("pairs") || arguments.has("task");
  if (!names_relation) {
    throw Error(ErrorKind::usage, "--from", "",
                "is missing: --from WORD --to WORD, --pairs FILE, or --task reverse or copy");
  }
  if (arguments.has("ids")) array_place(arguments, "pairs");
  return {.from = arguments.text("from").value_or(""),
          .to = arguments.text("to").value_or(""),
          .pairs = arguments.text("pairs").value_or(""),
          .data = {}};
}

void run_find(Session& session) {
  Arguments& arguments = session.arguments;
  ExperimentDocuments documents(session, {"data", "pairs", "ids", "targets"});
  recipes::RelationRequest request = read_relation(session);
  if (!request.pairs.empty())
    exclude(arguments, "data", "pairs", "has no meaning: the file has its own sentences");
  request.data = read_examples(session, !request.from.empty());
  heads::FindOptions options{.by = heads::ablation_kind(arguments.choice("by", kAblationKinds))};
  const recipes::LoadedModel loaded = load_model(session);
  check_same_on_ranks(session, kFindOptions, loaded, request.data);
  base::ThreadPool threads(session.threads);
  const auto work = [&] {
    Progress progress(session, command_text(session, "command.progress.heads"));
    options.watch = watch_of(session, progress);
    return recipes::find_model_heads(threads, session.files, loaded, request, options);
  };
  const recipes::FoundRelation relation = with_model(work);
  narrate::Report report = narrate::find_report(relation, shown_model(session));
  if (documents.has_page()) {
    const recipes::RelationExamples made =
        recipes::make_relation(threads, session.files, loaded, request);
    report.sentences = sentences_of(session, threads, loaded, made.examples);
  }
  documents.write(report, recipes::found_relation_json(relation));
}

}  // namespace

const Command kHeadsScore = {.name = "heads score",
                             .summary = "what each head does and what it is worth",
                             .examples = kScoreExamples,
                             .options = kScoreOptions,
                             .run = run_score,
                             .operand = {"MODEL"},
                             .runs_on_ranks = true};
const Command kHeadsAblate = {.name = "heads ablate",
                              .summary = "what is lost without each head",
                              .examples = kAblateExamples,
                              .options = kAblateOptions,
                              .run = run_ablate,
                              .operand = {"MODEL"},
                              .runs_on_ranks = true};
const Command kHeadsFind = {.name = "heads find",
                            .summary = "which heads look from one word to another",
                            .examples = kFindExamples,
                            .options = kFindOptions,
                            .run = run_find,
                            .operand = {"MODEL"},
                            .runs_on_ranks = true};

}  // namespace headlight::cli
