// `headlight heads gates`, `prune`, `curve` and `bench`: models with fewer heads, what that costs
// and what it saves.
#include <algorithm>

#include "apps/cli/heads/experiment.h"
#include "apps/cli/program/terminal.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kGatesExamples =
    R"(  headlight heads gates numbers --task numbers --penalty 0.02 --out gated
      each head gets a gate that learns to close where the loss allows it; the model
      without the closed heads goes to a folder
  headlight heads gates stories --data text.txt --penalty 0.01 --steps 600 --out g --html g.html
      with more steps, and a page with a map of the gates; --resume goes on where it was
      interrupted

Hard-concrete L0 gates (Louizos et al. 2018, Voita et al. 2019): what is made small is the
loss + penalty * the expected number of open gates. Then each gate is made open or closed.

--json:
    {"penalty":0,"steps":1,"trained_weights":false,"expected_open":0,"open":0,
     "heads":[{"head":"decoder.0.self.0","log_alpha":0,"probability":0,
       "value":0,"open":true}],
     "before":{"loss":0},"gated":{"loss":0},"binary":{"loss":0},
     "bytes":{"before":0,"after":0}}
)";

constexpr std::string_view kPruneExamples =
    R"(  headlight heads prune numbers --keep 0.5 --by gradient --finetune 200 --out half
      half of the heads gone for good, the rest trained on for 200 steps
  headlight heads prune stories --heads-off decoder.0.self.1,decoder.2.self.3 --out without
      these heads, whatever they are worth
  headlight heads prune stories --keep 0.75 --by ablation --data text.txt --same-shape --out s
      a folder of the same shape, with zeros, which other programs open

--by says which heads go first. gradient: those that the loss hardly depends on. ablation:
those whose removal raises the loss least. entropy: those that look at all tokens alike.
gates: those whose learned gates close. random: any. What is measured is measured anew
after every round, in which a tenth of the heads goes.

--json:
    {"by":"gradient","heads":72,"kept":36,
     "removed":[{"head":"decoder.0.self.0","round":1,"score":0}],
     "same_shape":false,"parameters":{"before":0,"after":0},
     "before":{"loss":0},"pruned":{"loss":0},"finetuned":{"loss":0},
     "bytes":{"before":0,"after":0}}
)";

constexpr std::string_view kCurveExamples =
    R"(  headlight heads curve numbers --task numbers --out curve
      quality against the share of heads removed: every method, every kind of attention,
      before and after fine-tuning; --resume goes on where it was interrupted
  headlight heads curve stories --data text.txt --methods gradient,random --finetune 0 --svg c.svg
      two methods without fine-tuning, as a picture

--methods are those of `headlight heads prune --by`.

--json:
    {"curves":[{"method":"gradient","type":"all","finetuned":false,
       "points":[{"removed":0,"quality":0,"heads":0,"loss":0}]}],
     "metric":"loss","higher_is_better":false,"examples":1}
Points of random are means and have "low" and "high" of all orders.
)";

constexpr std::string_view kPrunedBenchExamples =
    R"(  headlight heads bench numbers half
      the speed of a model beside that of another one of fewer heads, and what its
      arithmetic promises
  headlight heads bench numbers half --batches 1,32 --tokens 16,64 --svg speed.svg
      batches and lengths of your own, as a picture

Both models take turns on the same random tokens, predicting every word.

--json:
    {"rows":[{"batch":1,"tokens":16,"bound":1,"measured":1,"low":1,"high":1,
       "pairs":5,"seconds_full":0,"seconds_pruned":0,"saved":1,
       "reason":"reached"}],"threads":2}
)";

constexpr std::array<Option, 1> kModelFolderOptions = {{
    {"out", "DIR", "a new folder for the model without these heads"},
}};
constexpr std::array<Option, 3> kGatesOwnOptions = {{
    {"penalty", "X", "what each open gate adds to the loss; above 0"},
    {"steps", "N", "of training the gates (default: 300)"},
    {"train-weights", "", "train the model's weights together with the gates"},
}};
constexpr std::array<Option, 4> kPruneOwnOptions = {{
    {"keep", "SHARE", "how much of all heads stays, above 0 and at most 1"},
    {"by", "NAME", "gradient, ablation, entropy, gates or random (default: gradient)"},
    {"heads-off", "HEAD,...", "these heads go instead, such as decoder.0.self.3"},
    {"same-shape", "", "keep the shape: output weights of removed heads become 0"},
}};
constexpr std::array<Option, 3> kFineTuneOptions = {{
    {"finetune", "N", "steps of training after the removal (default: 0; curve: 20)"},
    {"learning-rate", "X", "of these steps (default: 0.064 / the model's width)"},
    {"penalty", "X", "of the method gates: what each open gate adds (default: 0.01)"},
}};
constexpr std::array<Option, 4> kCurveOwnOptions = {{
    {"methods", "NAME,...", "gradient, ablation, entropy, gates, random (default: all)"},
    {"types", "NAME,...", "all, encoder, decoder, cross (default: all that there are)"},
    {"shares", "X,...", "removed, from 0 to 1 (default: tenths)"},
    {"random-orders", "N", "how many orders of heads are drawn for random (default: 10)"},
}};
constexpr std::array<Option, 3> kBenchOwnOptions = {{
    {"batches", "N,...", "sizes of batches (default: 1,8,64)"},
    {"tokens", "N,...", "lengths of sequences (default: 16,64,128,256,512, as far as they fit)"},
    {"seconds", "X", "for each of them, at least five runs (default: 1)"},
}};

constexpr std::array<Option, 1> kGatesResumeOptions = {{
    {"resume", "", "go on with the training that was interrupted"},
}};
constexpr auto kGatesOptions =
    joined_options(kGatesOwnOptions, kModelFolderOptions, kGatesResumeOptions, kExampleOptions,
                   kIdOptions, kDocumentOptions, kRankOptions);
constexpr std::array<Option, 1> kPruneResumeOptions = {{
    {"resume", "", "go on with the rounds of choosing that were interrupted"},
}};
constexpr auto kPruneOptions =
    joined_options(kPruneOwnOptions, kFineTuneOptions, kModelFolderOptions, kPruneResumeOptions,
                   kExampleOptions, kIdOptions, kDocumentOptions, kRankOptions);
constexpr auto kCurveOptions =
    joined_options(kCurveOwnOptions, kFineTuneOptions, kExampleOptions, kIdOptions,
                   kDocumentOptions, kFolderOptions, kResumeOptions, kRankOptions);
constexpr auto kPrunedBenchOptions =
    joined_options(kBenchOwnOptions, kDocumentOptions, kFolderOptions);

constexpr std::string_view kPruneMethodNames[] = {"gradient", "ablation", "entropy", "gates",
                                                  "random"};
constexpr std::string_view kHeadTypeNames[] = {"all", "encoder", "decoder", "cross"};
constexpr int64_t kMostSteps = 100'000'000;
constexpr double kLargest = 1e30;

// A number above 0; nothing where it is not given.
std::optional<double> positive_number(const Arguments& arguments, std::string_view option) {
  const auto number = arguments.real(option, {-kLargest, kLargest});
  if (number && *number <= 0) {
    throw Error(ErrorKind::usage, arguments.source(option), *arguments.text(option),
                "must be above 0");
  }
  return number;
}

// Words of a list with commas, each one of `choices` and named once; none where it is not given.
std::vector<std::string> listed_words(const Arguments& arguments, std::string_view option,
                                      std::span<const std::string_view> choices) {
  std::vector<std::string> words;
  if (!arguments.has(option)) return words;
  for (std::string& word : split_words(*arguments.text(option), ',')) {
    const auto refuse_word = [&](const std::string& why) {
      throw Error(ErrorKind::usage, arguments.source(option), io::in_quotes(word), why);
    };
    if (std::ranges::find(choices, word) == choices.end()) {
      std::string names;
      for (const std::string_view choice : choices)
        names.append(names.empty() ? "" : ", ").append(choice);
      refuse_word("is none of " + names + base::nearest_hint(word, choices));
    }
    if (std::ranges::find(words, word) != words.end()) refuse_word("is named twice");
    words.push_back(std::move(word));
  }
  return words;
}

std::vector<double> listed_shares(const Arguments& arguments) {
  std::vector<double> shares;
  for (const std::string& word : split_words(*arguments.text("shares"), ','))
    shares.push_back(recipes::real_of(arguments.source("shares"), word, {0, 1}));
  return shares;
}

// --learning-rate has a meaning only where there are steps.
double learning_rate_of(Arguments& arguments) {
  if (arguments.integer("finetune", {0, kMostSteps}) == 0) {
    exclude(arguments, "learning-rate", "finetune", "has no meaning: --finetune 0 trains nothing");
  }
  return positive_number(arguments, "learning-rate").value_or(0);
}

// While it lives, signals wait for folders to be whole; work asks it whether to stop.
heads::Watch stopping_watch(const Session& session, Progress& progress,
                            const UntilSaved& until_written) {
  return watch_of(session, progress, [&until_written] { return until_written.is_signalled(); });
}

std::vector<narrate::ReportSentence> sentences_of_data(Session& session, base::ThreadPool& threads,
                                                       const recipes::LoadedModel& loaded,
                                                       const recipes::ExamplesRequest& request) {
  return sentences_of(session, threads, loaded,
                      recipes::make_head_examples(session.files, loaded, request).batches);
}

narrate::SmallerModel smaller_model(Session& session, const recipes::LoadedModel& loaded,
                                    const std::string& folder) {
  return {.whole = shown_model(session),
          .program = program_name(),
          .written = recipes::pruned_folder(session.files, loaded, folder)};
}

// Where the training stands is kept beside the new folder until that is there.
recipes::ModelGatesResult train_kept_gates(Session& session, base::ThreadPool& threads,
                                           const recipes::LoadedModel& loaded,
                                           recipes::GatesRequest request) {
  const UntilSaved until_written(session);
  recipes::ExperimentState state(
      session.files, {.folder = recipes::unfinished_folder(request.out),
                      .resume = session.arguments.has("resume"),
                      .request = recipes::gates_request_json(session.files, loaded, request),
                      .group = group_of(session)});
  recipes::KeptGates kept(session.files, state, request);
  recipes::ModelGatesResult result;
  try {
    Progress progress(session, command_text(session, "command.progress.gates"));
    result = recipes::gate_model_heads(threads, session.files, loaded, request,
                                       stopping_watch(session, progress, until_written));
  } catch (const Error& error) {
    // When all gates have closed there is nothing to go on with.
    const int64_t steps = request.steps > 0 ? request.steps : heads::GateOptions{}.steps;
    const bool is_refused = error.kind() == ErrorKind::bad_input && kept.step() == steps;
    is_refused || kept.step() == 0 ? kept.remove() : kept.save();
    throw;
  }
  if (!result.interrupted || kept.step() == 0) {
    kept.remove();
  } else {
    kept.save();
    if (!session.arguments.has("quiet")) {
      say_line(session, "command.heads.interrupted_steps",
               {{"steps", std::to_string(kept.step())}});
    }
  }
  if (result.interrupted) leave_interrupted(session);
  return result;
}

void run_gates(Session& session) {
  Arguments& arguments = session.arguments;
  const auto penalty = positive_number(arguments, "penalty");
  if (!penalty) {
    throw Error(ErrorKind::usage, "--penalty", "",
                "is missing: --penalty X, what each open gate adds to the loss, such as 0.01; "
                "`headlight heads gates --help` has examples");
  }
  recipes::GatesRequest request{.data = read_examples(session, true),
                                .penalty = *penalty,
                                .steps = arguments.integer("steps", {1, kMostSteps}).value_or(0),
                                .trains_weights = arguments.has("train-weights"),
                                .out = arguments.text("out").value_or("")};
  ExperimentDocuments documents(session, {"data", "ids", "targets"}, OutFolder::model);
  const recipes::LoadedModel loaded = load_model(session);
  check_same_on_ranks(session, kGatesOptions, loaded, request.data);
  if (!is_first_rank(session)) request.out.clear();
  base::ThreadPool threads(session.threads);
  const recipes::ModelGatesResult result =
      with_model([&] { return train_kept_gates(session, threads, loaded, request); });
  if (!is_first_rank(session)) return;
  const narrate::SmallerModel smaller = smaller_model(session, loaded, request.out);
  narrate::Report report = narrate::gates_report(result, smaller);
  if (documents.has_page())
    report.sentences = sentences_of_data(session, threads, loaded, request.data);
  io::Json::Object facts = recipes::model_gates_json(result);
  recipes::add_folder_json(facts, smaller.written);
  documents.write(report, facts);
}

// Which heads go: a share by a method, or those that are named.
recipes::PruneRequest read_prune(Session& session) {
  Arguments& arguments = session.arguments;
  exclude(arguments, "keep", "heads-off");
  exclude(arguments, "by", "heads-off");
  if (!arguments.has("keep") && !arguments.has("heads-off")) {
    throw Error(ErrorKind::usage, "--keep", "",
                "is missing: --keep SHARE, such as 0.5, or --heads-off HEAD,...; `headlight heads "
                "prune --help` has examples");
  }
  recipes::PruneRequest request{
      .data = read_examples(session),
      .keep = arguments.real("keep", {0, 1}).value_or(1),
      .heads_off = arguments.text("heads-off").value_or(""),
      .by = heads::prune_method(arguments.choice("by", kPruneMethodNames)),
      .penalty = positive_number(arguments, "penalty").value_or(0),
      .finetune = arguments.integer("finetune", {0, kMostSteps}).value_or(0),
      .learning_rate = learning_rate_of(arguments),
      .same_shape = arguments.has("same-shape"),
      .out = arguments.text("out").value_or("")};
  require_other(arguments, "learning-rate", "finetune", "the steps that it is the rate of");
  if (request.keep == 0) {
    throw Error(ErrorKind::usage, arguments.source("keep"), *arguments.text("keep"),
                "leaves no head; at least one must stay");
  }
  if (arguments.has("penalty") && (!arguments.has("by") || request.by != heads::PruneMethod::gates))
    throw Error(ErrorKind::usage, arguments.source("penalty"), "", "asks for --by gates");
  return request;
}

// Rounds in which heads are chosen are kept beside the new folder until that is there.
heads::PruneResult prune_in_rounds(Session& session, base::ThreadPool& threads,
                                   const recipes::LoadedModel& loaded,
                                   recipes::PruneRequest request) {
  const UntilSaved until_written(session);
  const bool has_rounds = request.heads_off.empty() && request.by != heads::PruneMethod::random;
  recipes::ExperimentState state(
      session.files, {.folder = has_rounds ? recipes::unfinished_folder(request.out) : "",
                      .resume = session.arguments.has("resume"),
                      .request = recipes::prune_request_json(session.files, loaded, request),
                      .group = group_of(session)});
  recipes::keep_rounds(request, state);
  heads::PruneResult result;
  try {
    Progress progress(session, command_text(session, "command.progress.pruning"));
    result = recipes::prune_model_heads(threads, session.files, loaded, request,
                                        stopping_watch(session, progress, until_written));
  } catch (...) {
    state.finished() > 0 ? state.save() : state.remove();
    throw;
  }
  if (!result.interrupted || state.finished() == 0) {
    state.remove();
  } else {
    save_interrupted(session, state);
  }
  if (result.interrupted) leave_interrupted(session);
  return result;
}

void run_prune(Session& session) {
  Arguments& arguments = session.arguments;
  recipes::PruneRequest request = read_prune(session);
  const std::vector<heads::HeadName> named = head_names(arguments, "heads-off");
  ExperimentDocuments documents(session, {"data", "ids", "targets"}, OutFolder::model);
  const recipes::LoadedModel loaded = load_model(session);
  for (const heads::HeadName& head : named)
    heads::find_head(*loaded.model, head, arguments.source("heads-off"));
  check_same_on_ranks(session, kPruneOptions, loaded, request.data);
  if (!is_first_rank(session)) request.out.clear();
  base::ThreadPool threads(session.threads);
  const heads::PruneResult result =
      with_model([&] { return prune_in_rounds(session, threads, loaded, request); });
  if (!is_first_rank(session)) return;
  const narrate::SmallerModel smaller = smaller_model(session, loaded, request.out);
  narrate::Report report = narrate::prune_report(result, heads::heads_of(*loaded.model), smaller);
  if (documents.has_page() && result.before)
    report.sentences = sentences_of_data(session, threads, loaded, request.data);
  io::Json::Object facts = heads::prune_json(result);
  recipes::add_folder_json(facts, smaller.written);
  documents.write(report, facts);
}

recipes::CurveRequest read_curve(Session& session) {
  constexpr int64_t kFineTuneSteps = 20;
  constexpr int64_t kMostOrders = 10'000;
  Arguments& arguments = session.arguments;
  recipes::CurveRequest request{
      .data = read_examples(session, true),
      .penalty = positive_number(arguments, "penalty").value_or(0),
      .finetune = arguments.integer("finetune", {0, kMostSteps}).value_or(kFineTuneSteps),
      .learning_rate = learning_rate_of(arguments)};
  heads::CurveOptions& curves = request.curves;
  const std::vector<std::string> methods = listed_words(arguments, "methods", kPruneMethodNames);
  if (!methods.empty()) curves.methods.clear();
  for (const std::string& method : methods) curves.methods.push_back(heads::prune_method(method));
  curves.types = listed_words(arguments, "types", kHeadTypeNames);
  if (arguments.has("shares")) curves.shares = listed_shares(arguments);
  curves.random_orders =
      arguments.integer("random-orders", {1, kMostOrders}).value_or(curves.random_orders);
  return request;
}

void run_curve(Session& session) {
  recipes::CurveRequest request = read_curve(session);
  ExperimentDocuments documents(session, {"data", "ids", "targets"}, OutFolder::resumed);
  const recipes::LoadedModel loaded = load_model(session);
  check_same_on_ranks(session, kCurveOptions, loaded, request.data);
  base::ThreadPool threads(session.threads);
  SavedWork saved(session, documents);
  recipes::ExperimentState state(
      session.files, {.folder = documents.folder(),
                      .resume = documents.resumes(),
                      .request = recipes::curve_request_json(session.files, loaded, request),
                      .group = group_of(session)});
  recipes::keep_curves(request.curves, state);
  const auto work = [&] {
    Progress progress(session, command_text(session, "command.progress.curve"));
    return recipes::curve_model_heads(
        threads, session.files, loaded, request,
        watch_of(session, progress, [&] { return saved.is_interrupted(); }));
  };
  const heads::CurveResult result = with_model(work);
  if (!saved.finish(session, state, result.interrupted)) return;
  documents.write(narrate::curve_report(result, shown_model(session)), heads::curves_json(result));
}

heads::SpeedOptions read_speed(const Session& session) {
  constexpr int64_t kMostTokens = 1 << 20;
  const Arguments& arguments = session.arguments;
  heads::SpeedOptions options{.seed = session.seed};
  const auto sizes = [&](std::string_view option, std::vector<int64_t>& numbers) {
    if (const auto text = arguments.text(option))
      numbers = integers_of(arguments.source(option), *text, {1, kMostTokens});
  };
  sizes("batches", options.batches);
  sizes("tokens", options.tokens);
  options.seconds = positive_number(arguments, "seconds").value_or(options.seconds);
  return options;
}

void run_pruned_bench(Session& session) {
  const Arguments& arguments = session.arguments;
  heads::SpeedOptions options = read_speed(session);
  ExperimentDocuments documents(session, {});
  const recipes::LoadedModel full = load_model(session, "full");
  const recipes::LoadedModel pruned = load_model(session, "pruned");
  base::ThreadPool threads(session.threads);
  const auto work = [&] {
    Progress progress(session, command_text(session, "command.progress.speed"));
    options.watch = watch_of(session, progress);
    return recipes::compare_model_speed(threads, session.files, full, pruned, options);
  };
  const heads::SpeedResult result = with_model(work);
  documents.write(narrate::speed_report(result, *arguments.text("full"), *arguments.text("pruned")),
                  heads::speed_json(result));
}

}  // namespace

const Command kHeadsGates = {.name = "heads gates",
                             .summary = "gates that learn which heads are needed",
                             .examples = kGatesExamples,
                             .options = kGatesOptions,
                             .run = run_gates,
                             .operand = {"MODEL"},
                             .runs_on_ranks = true};
const Command kHeadsPrune = {.name = "heads prune",
                             .summary = "a smaller model without some of its heads",
                             .examples = kPruneExamples,
                             .options = kPruneOptions,
                             .run = run_prune,
                             .operand = {"MODEL"},
                             .runs_on_ranks = true};
const Command kHeadsCurve = {.name = "heads curve",
                             .summary = "quality against the share of heads removed",
                             .examples = kCurveExamples,
                             .options = kCurveOptions,
                             .run = run_curve,
                             .operand = {"MODEL"},
                             .runs_on_ranks = true};
const Command kHeadsBench = {"heads bench",
                             "how much faster a pruned model is",
                             kPrunedBenchExamples,
                             kPrunedBenchOptions,
                             run_pruned_bench,
                             {"FULL"},
                             {"PRUNED"}};

}  // namespace headlight::cli
