// `headlight heads attribute` and `patch`: what single words come from.
#include "apps/cli/heads/experiment.h"
#include "apps/cli/program/terminal.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kAttributeExamples =
    R"(  headlight heads attribute stories --prompt "Tom has lost a red coin." --word " He"
      what each head and layer adds to the logit of the next word
  headlight heads attribute stories --prompt "Tom has lost a red coin." --word " He" --against " She" --lens
      to the difference of two words; and what each layer would say
  headlight heads attribute numbers --source "on iki" --word 1
      of an encoder-decoder: the first that it writes

--json:
    {"measured":0,"parts":[{"part":"decoder.0.self.0","value":0}],"sum":0}
)";

constexpr std::string_view kPatchExamples =
    R"(  headlight heads patch stories --clean "Tom has lost a coin." --corrupt "Sara has lost a coin." --word " He" --against " She"
      what comes back of the clean sentence's answer when single heads of it are put
      into the run on the other one
  headlight heads patch numbers --clean "on iki" --corrupt "on beş" --word 1 --at 0 --html p.html
      of an encoder-decoder, as a page

Both texts need the same number of tokens.

--json:
    {"clean":0,"corrupt":0,"direction":"","correlation":0,
     "heads":[{"head":"decoder.0.self.0","position":0,"restored":0,
       "estimated":0}]}
)";

constexpr std::array<Option, 4> kAttributeOwnOptions = {{
    {"prompt", "TEXT", "what the model reads; of an encoder-decoder, what it has written"},
    {"source", "TEXT", "what an encoder-decoder translates"},
    {"lens", "", "also what each layer would say"},
    {"top", "N", "how many words --lens shows of each (default: 5)"},
}};
constexpr std::array<Option, 4> kWordOptions = {{
    {"at", "N", "the position whose next word is meant, from 0 (default: the last)"},
    {"word", "WORD", "one token, or its first"},
    {"against", "WORD", "the word to compare with"},
    {"special", "", "texts of special tokens become these"},
}};
constexpr std::array<Option, 4> kPatchOwnOptions = {{
    {"clean", "TEXT", "a text whose answer is right"},
    {"corrupt", "TEXT", "one of as many tokens whose answer is another"},
    {"prompt", "TEXT", "of an encoder-decoder: what it has written after both"},
    {"direction", "NAME", "clean-into-corrupt or corrupt-into-clean (default: the first)"},
}};
constexpr auto kAttributeOptions = joined_options(kAttributeOwnOptions, kWordOptions,
                                                  kDocumentOptions, kFolderOptions, kRankOptions);
constexpr auto kPatchOptions =
    joined_options(kPatchOwnOptions, kWordOptions, kDocumentOptions, kFolderOptions, kRankOptions);

std::string needed_text(const Arguments& arguments, std::string_view option,
                        std::string_view what) {
  if (const auto text = arguments.text(option)) return *text;
  throw Error(ErrorKind::usage, "--" + std::string(option), "",
              "is missing: --" + std::string(option) + " " + std::string(what) + "; `headlight " +
                  arguments.command() + " --help` has examples");
}

std::optional<int64_t> asked_position(const Arguments& arguments) {
  return arguments.integer("at", {0, INT32_MAX});
}

void run_attribute(Session& session) {
  Arguments& arguments = session.arguments;
  ExperimentDocuments documents(session, {});
  if (!arguments.has("prompt") && !arguments.has("source"))
    needed_text(arguments, "prompt", "TEXT");
  require_other(arguments, "top", "lens", "whose words it counts");
  const recipes::AttributeRequest request{.text = {.prompt = arguments.text("prompt").value_or(""),
                                                   .source = arguments.text("source"),
                                                   .at = asked_position(arguments)},
                                          .word = needed_text(arguments, "word", "WORD"),
                                          .against = arguments.text("against"),
                                          .lens = arguments.has("lens"),
                                          .top = arguments.integer("top", {1, 1000}).value_or(5),
                                          .special = arguments.has("special")};
  const recipes::LoadedModel loaded = load_model(session);
  check_same_on_ranks(session, kAttributeOptions, loaded);
  if (!is_first_rank(session)) return;  // one run, whose parts follow from each other
  const auto tokenizer = recipes::find_tokenizer(session.files, loaded);
  base::ThreadPool threads(session.threads);
  const auto work = [&] {
    const Progress progress(session, command_text(session, "command.progress.computing"));
    return recipes::attribute(threads, *loaded.model, tokenizer ? &*tokenizer : nullptr, request);
  };
  const recipes::AttributeAnswer answer = work();
  narrate::Report report =
      narrate::attribution_report(answer, shown_model(session), tokenizer ? &*tokenizer : nullptr);
  if (documents.has_page())
    report.sentences = sentences_of(session, threads, loaded, {answer.prompt.batch});
  documents.write(report, recipes::attribute_json(answer, tokenizer ? &*tokenizer : nullptr));
}

heads::PatchDirection asked_direction(const Arguments& arguments) {
  constexpr std::string_view kDirections[] = {"clean-into-corrupt", "corrupt-into-clean"};
  return arguments.choice("direction", kDirections) == kDirections[0]
             ? heads::PatchDirection::clean_into_corrupt
             : heads::PatchDirection::corrupt_into_clean;
}

void run_patch(Session& session) {
  Arguments& arguments = session.arguments;
  ExperimentDocuments documents(session, {});
  recipes::PatchRequest request{.clean = needed_text(arguments, "clean", "TEXT"),
                                .corrupt = needed_text(arguments, "corrupt", "TEXT"),
                                .prompt = arguments.text("prompt").value_or(""),
                                .at = asked_position(arguments),
                                .word = needed_text(arguments, "word", "WORD"),
                                .against = arguments.text("against"),
                                .special = arguments.has("special"),
                                .options = {.direction = asked_direction(arguments)}};
  const recipes::LoadedModel loaded = load_model(session);
  check_same_on_ranks(session, kPatchOptions, loaded);
  const auto tokenizer = recipes::find_tokenizer(session.files, loaded);
  base::ThreadPool threads(session.threads);
  const auto work = [&] {
    Progress progress(session, command_text(session, "command.progress.patching"));
    request.options.watch = watch_of(session, progress);
    return recipes::patch(threads, *loaded.model, tokenizer ? &*tokenizer : nullptr, request);
  };
  const recipes::PatchAnswer answer = work().value();
  narrate::Report report = narrate::patching_report(answer, shown_model(session));
  if (documents.has_page()) {
    report.sentences =
        sentences_of(session, threads, loaded, {answer.clean.batch, answer.corrupt.batch});
  }
  documents.write(report, recipes::patch_json(answer));
}

}  // namespace

const Command kHeadsAttribute = {.name = "heads attribute",
                                 .summary = "what each part adds to the logit of a word",
                                 .examples = kAttributeExamples,
                                 .options = kAttributeOptions,
                                 .run = run_attribute,
                                 .operand = {"MODEL"},
                                 .runs_on_ranks = true};
const Command kHeadsPatch = {.name = "heads patch",
                             .summary = "which heads carry the difference of two sentences",
                             .examples = kPatchExamples,
                             .options = kPatchOptions,
                             .run = run_patch,
                             .operand = {"MODEL"},
                             .runs_on_ranks = true};

}  // namespace headlight::cli
