// `headlight explain`: a sentence through every matrix to the predicted word, and back from the
// error to a weight.
#include "apps/cli/explain/options.h"
#include "apps/cli/program/interruption.h"
#include "apps/cli/program/places.h"
#include "apps/cli/program/progress.h"
#include "apps/cli/program/terminal.h"

namespace headlight::cli {
namespace {

constexpr std::string_view kExplainExamples =
    R"(  headlight explain --text "When you play the game of thrones" --target "you win or you die"
      all 14 steps on a tiny Transformer with random weights; --train trains it first, and shows both
  headlight explain --text "When you play the game of thrones" --only 7 --lang tr
      one step, in Turkish; --only 3-5 or --only encoder.0.self.scores are others
  headlight explain --text "When you play the game of thrones" --cell 'encoder.0.self.head.0.scores[3,5]'
      why this number: its terms, and the cells to continue with
  headlight explain --text "When you play the game of thrones" --backward --cell 'encoder.layers.0.fc1.weight[3,2]'
      why this weight changes: loss, gradients, AdamW, the new loss
  headlight explain MODEL --ids 5,1,7 --continue 8 --format html --out walk.html
      any model as a page, with the 8 tokens that it continues with
  headlight explain numbers --text "1 2 3" --format safetensors --out trace.safetensors
      every tensor of a trained model with what it was computed from

Without MODEL a small worked model is made from three sentences, or from those of --sentences. A text with a --target joins them.
A cell is NAME[ROW,COLUMN], e.g. encoder.0.self.head.2.scores[3,5], encoder.0.norm_1.mean[3] or shared.weight[5,0].

--format json:
    {"model","text","target","says","loss","training",
     "steps":[{"step","title","text"}],
     "trace":{"tokens","source_tokens","tensors":[{"name","step","operation",
       "operands","attributes","shape","axes","formula","text","values"}],
       "parameters"},
     "heads":[],"variants":[],"backward","before"}
with --cell:
    {"cell","operation","combination","value","combined","terms","ingredients"}
)";

void say_what_was_written(const Session& session, const ExplainOptions& options) {
  if (session.arguments.has("quiet")) return;
  base::FileStatus status;
  session.files.path_status(*options.out, status);
  const bool is_page = options.request.format == narrate::ExplainFormat::html;
  say_line(session, is_page ? "message.written_page" : "message.written",
           {{"path", narrate::visible(*options.out)},
            {"size", narrate::size_text(catalogue_of(session.arguments), status.size)}});
}

void run_explain(Session& session) {
  const ExplainOptions options = read_explain_options(session);
  check_outputs(session.files, session.arguments,
                {.inputs = {"weights", "sentences"}, .outputs = {"out"}});
  base::ThreadPool threads(session.threads);
  std::optional<Progress> progress;
  progress.emplace(session, command_text(session, "command.progress.computing"));
  const narrate::Explanation explanation(threads, session.files, options.request);
  if (!options.out) {
    progress.reset();
    if (options.request.format == narrate::ExplainFormat::text) session.output.allow_colors();
    return explanation.write(session.output);
  }
  {
    const Uninterrupted file_is_written;
    if (options.request.format == narrate::ExplainFormat::safetensors) {
      explanation.write_tensors(*options.out);
    } else {
      base::write_file(session.files, *options.out,
                       [&](base::Output& output) { explanation.write(output); });
    }
  }
  progress.reset();
  say_what_was_written(session, options);
}

}  // namespace

const Command kExplain = {
    "explain",        "a sentence through every matrix to the predicted word, and why",
    kExplainExamples, kExplainOptions,
    run_explain,      {.name = "MODEL", .required = false}};

}  // namespace headlight::cli
