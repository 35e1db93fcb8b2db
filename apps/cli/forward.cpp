// `headlight forward`: a model on ids, with logits, loss, gradients and every intermediate.
#include "apps/cli/forward_run.h"
#include "apps/cli/interruption.h"
#include "apps/cli/places.h"
#include "apps/cli/print_array.h"
#include "apps/cli/program.h"
#include "apps/cli/words.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kForwardExamples =
    R"(  headlight forward MODEL --ids ids.npy --logits logits.npy
      the model's logits (B,T,V) for ids (B,T)
  headlight forward MODEL --ids ids.npy --targets targets.npy --grads grads.safetensors --json
      the mean loss over targets that are not -1, and the gradient of every tensor of the folder
  headlight forward MODEL --ids out.npy --source-ids in.npy --source-lens l.npy --trace t.safetensors
      an encoder-decoder, with every intermediate in a file
  headlight forward MODEL --ids ids.npy --trace t.safetensors --only decoder.0.self.head.2.weights
      one intermediate; nothing else is computed for it

Arrays are .npy, .json (nested lists), .csv (2-D) or .safetensors (x.safetensors:NAME picks one).
)";

constexpr Option kForwardOptions[] = {
    {"ids", "FILE", "ids that the model reads, (B,T) or (T,); needed"},
    {"source-ids", "FILE", "ids that an encoder-decoder translates, (B,S) or (S,)"},
    {"source-lens", "FILE", "how many of each source count, (B,) (default: all)"},
    {"logits", "FILE", "write the logits, (B,T,V)"},
    {"targets", "FILE", "the right ids, (B,T); -1 does not count. The loss is printed"},
    {"grads", "FILE", "write the gradients of the loss (.safetensors)"},
    {"trace", "FILE", "write every intermediate (.safetensors)"},
    {"only", "NAME,...", "of the trace only these, e.g. decoder.0.self.head.2.weights"},
    {"heads-off", "HEAD,...", "leave out what these heads give, e.g. decoder.0.self.3"},
};

ForwardOptions read_options(Arguments& arguments) {
  if (!arguments.has("ids")) {
    throw Error(ErrorKind::usage, "--ids", "",
                "is missing: a file of ids, e.g. headlight forward MODEL --ids ids.npy");
  }
  require_other(arguments, "grads", "targets", "from which the loss follows");
  require_other(arguments, "only", "trace", "the file that they go to");
  require_other(arguments, "source-lens", "source-ids", "whose lengths they are");
  ForwardOptions options;
  options.ids = array_place(arguments, "ids").value();
  options.source_ids = array_place(arguments, "source-ids");
  options.source_lens = array_place(arguments, "source-lens");
  options.logits = array_place(arguments, "logits");
  options.targets = array_place(arguments, "targets");
  options.grads = safetensors_path(arguments, "grads");
  options.trace = safetensors_path(arguments, "trace");
  if (const auto only = arguments.text("only")) {
    for (const std::string& name : split_words(*only, ',')) options.only.insert(name);
  }
  options.heads_off = head_names(arguments, "heads-off");
  return options;
}

void write_files(Session& session, const ForwardOptions& options, const ForwardResult& result) {
  const Uninterrupted files_are_written;
  if (options.logits) io::write_array(session.files, *options.logits, result.logits);
  if (options.trace) io::write_safetensors(session.files, *options.trace, result.trace);
  if (options.grads) io::write_safetensors(session.files, *options.grads, result.gradients);
}

// {"loss":...} with targets, the logits where they go nowhere else.
void print_json(StandardOutput& output, const ForwardOptions& options,
                const ForwardResult& result) {
  if (options.prints_logits()) {
    print_array_json(output, "logits", result.logits);
    return;
  }
  io::Json::Object document;
  if (result.loss) document.emplace_back("loss", static_cast<double>(*result.loss));
  if (options.logits) document.emplace_back("logits", shape_json(result.logits));
  if (options.trace) document.emplace_back("trace", result.trace.size());
  if (options.grads) document.emplace_back("grads", result.gradients.size());
  output.write(io::json_text(document) + "\n");
}

void print_text(StandardOutput& output, const ForwardOptions& options,
                const ForwardResult& result) {
  if (result.loss) output.write("loss " + io::number_text(*result.loss) + "\n");
  if (options.prints_logits()) output.write(array_text("logits", result.logits, "--logits"));
}

void forward(Session& session) {
  const ForwardOptions options = read_options(session.arguments);
  check_outputs(session.files, session.arguments,
                {.inputs = {"ids", "source-ids", "source-lens", "targets"},
                 .outputs = {"logits", "trace", "grads"}});
  const recipes::LoadedModel loaded = load_model(session);
  if (loaded.model->capabilities().translates && !options.source_ids) {
    throw Error(ErrorKind::bad_input, "--source-ids", "",
                "is missing: the model is an encoder-decoder, which reads a source");
  }
  const ForwardInputs inputs = read_forward_inputs(session.files, options);
  base::ThreadPool threads(session.threads);
  const ForwardResult result = run_forward(threads, options, inputs, *loaded.model);
  write_files(session, options, result);
  if (session.json) {
    print_json(session.output, options, result);
  } else {
    print_text(session.output, options, result);
  }
}

}  // namespace

const Command kForward = {
    "forward",        "run a model on ids: logits, loss, gradients, every intermediate",
    kForwardExamples, kForwardOptions,
    forward,          {.name = "MODEL"}};

}  // namespace headlight::cli
