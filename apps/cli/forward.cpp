// `headlight forward`: a model on ids, with logits, loss, gradients and every intermediate.
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/arrays/named_trace.h"
#include "apps/cli/arrays/print_array.h"
#include "apps/cli/program/arguments.h"
#include "apps/cli/program/interruption.h"
#include "apps/cli/program/places.h"
#include "apps/cli/program/progress.h"
#include "apps/cli/program/terminal.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {
namespace {

using autograd::Context;
using autograd::Value;
using base::Error;
using base::ErrorKind;
using tensor::Tensor;

constexpr std::string_view kForwardExamples =
    R"(  headlight forward MODEL --ids ids.npy --logits logits.npy
      the model's logits (B,T,V) for ids (B,T); of one that classifies (B,labels)
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
    {"logits", "FILE", "write the logits, (B,T,V), or (B,labels) of a model that classifies"},
    {"targets", "FILE",
     "the right ids, (B,T), or labels, (B,); -1 does not count. Prints the loss"},
    {"grads", "FILE", "write the gradients of the loss (.safetensors)"},
    {"trace", "FILE", "write every intermediate (.safetensors)"},
    {"only", "NAME,...",
     "of the trace only these, e.g. decoder.0.self.head.2.weights, or [3,5] of it"},
    {"heads-off", "HEAD,...", "leave out what these heads give, e.g. decoder.0.self.3"},
};

struct ForwardOptions {
  std::string ids;
  std::optional<std::string> source_ids;
  std::optional<std::string> source_lens;
  std::optional<std::string> logits;
  std::optional<std::string> targets;
  std::optional<std::string> grads;
  std::optional<std::string> trace;
  NamedSelections only;
  std::vector<heads::HeadName> heads_off;

  // Where nothing else is asked for, logits are what the command is for.
  bool prints_logits() const { return !logits && !targets && !trace; }
};

struct ForwardInputs {
  models::Batch batch;
  bool is_one = false;  // ids were (T,): a batch of one
};

struct ForwardResult {
  tensor::Tensor logits;      // where asked for; with the ids' rank and V more
  std::optional<float> loss;  // with targets
  std::vector<io::NamedTensor> trace;
  io::Metadata trace_notes;  // of a pruned model: which heads the axes of heads are
  std::vector<io::NamedTensor> gradients;
};

ForwardOptions read_options(Arguments& arguments) {
  if (!arguments.has("ids")) {
    throw Error(ErrorKind::usage, "--ids", "",
                "is missing: a file of ids, e.g. `headlight forward MODEL --ids ids.npy`");
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
  if (const auto only = arguments.text("only")) options.only = parse_selections(*only, "--only");
  options.heads_off = head_names(arguments, "heads-off");
  return options;
}

void check_lens(const Tensor& lens, const Tensor& ids, const std::string& place) {
  if (lens.shape() != tensor::Shape{ids.size(0)}) {
    base::refuse("--source-lens", place,
                 "shape is " + lens.shape().text() + ", there are " + std::to_string(ids.size(0)) +
                     " sources");
  }
}

std::vector<io::NamedTensor> gradients_of(const models::Model& model) {
  std::vector<io::NamedTensor> gradients;
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    // Nothing arrives at what was not used, e.g. at segments of BERT that no id has.
    const Tensor gradient = parameter->grad();
    gradients.push_back(
        {parameter->name(), gradient.defined()
                                ? gradient.contiguous()
                                : Tensor::zeros(tensor::DType::f32, parameter->shape())});
  }
  return gradients;
}

// Of words (T,V), of labels (labels,).
Tensor without_batch(const Tensor& logits) {
  if (logits.rank() == 2) return logits.reshaped({logits.size(1)});
  return logits.reshaped({logits.size(1), logits.size(2)});
}

// The numbers of the right labels, (B,), or one for ids (T,).
Tensor read_labels(base::FileSystem& files, const std::string& place, int64_t sequences) {
  const Tensor labels = io::as_int64(io::read_array(files, place), "--targets").contiguous();
  if (labels.elements() != sequences || labels.rank() > 1) {
    base::refuse("--targets", place,
                 "shape is " + labels.shape().text() +
                     ", the model classifies: one label for each "
                     "of " +
                     std::to_string(sequences) + " sequences is needed");
  }
  return labels.reshaped({sequences});
}

// Ids, lengths and targets; whole numbers of any type. Throws Error(bad_input).
ForwardInputs read_forward_inputs(base::FileSystem& files, const ForwardOptions& options,
                                  bool classifies) {
  ForwardInputs inputs;
  recipes::IdArray read = recipes::read_ids(files, "--ids", options.ids);
  inputs.batch.ids = std::move(read.ids);
  inputs.is_one = read.is_one;
  if (options.source_ids)
    inputs.batch.source_ids = recipes::read_ids(files, "--source-ids", *options.source_ids).ids;
  if (options.source_lens) {
    const std::string& place = *options.source_lens;
    inputs.batch.source_lens =
        io::as_int64(io::read_array(files, place), "--source-lens").contiguous();
    check_lens(inputs.batch.source_lens, inputs.batch.source_ids, place);
  }
  if (options.targets && classifies) {
    inputs.batch.targets = read_labels(files, *options.targets, inputs.batch.ids.size(0));
  } else if (options.targets) {
    inputs.batch.targets =
        recipes::read_targets(files, "--targets", *options.targets, inputs.batch.ids);
  }
  return inputs;
}

// Of names of one head, that the model has it.
void check_heads_of(const NamedSelections& only, const models::Model& model) {
  for (const auto& [name, selection] : only) {
    const auto head = heads::head_of_tensor(selection.place);
    if (head) heads::find_head(model, *head, "--only");
  }
}

io::Metadata notes_on(const models::Model& model) {
  const io::Json config = model.config();
  const io::Json* heads = config.find("headlight_heads");
  if (heads == nullptr) return {};
  return {{"headlight_heads", io::json_text(*heads)}};
}

ForwardResult run_forward(base::ThreadPool& threads, const ForwardOptions& options,
                          const ForwardInputs& inputs, models::Model& model) {
  heads::HeadsOff heads_off(options.heads_off, model, "--heads-off");
  check_heads_of(options.only, model);
  tensor::Arena arena;
  autograd::Tape tape;
  NamedTrace trace(options.only);
  Context context{.threads = threads,
                  .arena = arena,
                  .tape = options.grads ? &tape : nullptr,
                  .observer = options.trace ? &trace.recording() : nullptr,
                  .intervention = heads_off.empty() ? nullptr : &heads_off};
  const Value output = model.forward(context, inputs.batch);
  ForwardResult result;
  const bool classifies = model.classifier() != nullptr;
  const bool traces_logits =
      options.trace && model.has_logits() &&
      (trace.recording().wants("logits") || trace.recording().wants("probabilities"));
  if (options.logits || options.prints_logits() || traces_logits || (options.trace && classifies)) {
    Context looking = context;
    looking.tape = nullptr;
    const Value states = Value::leaf(output.data());
    const Tensor logits = (classifies ? model.class_logits(looking, states, inputs.batch)
                                      : model.logits(looking, states))
                              .data();
    result.logits = inputs.is_one ? without_batch(logits) : logits;
  }
  if (options.trace) {
    trace.check_all_seen();
    result.trace = trace.tensors();
    result.trace_notes = notes_on(model);
  }
  if (options.targets) {
    const Value loss = classifies
                           ? model.class_loss(context, output, inputs.batch, inputs.batch.targets)
                           : model.loss(context, output, inputs.batch.targets, 0);
    result.loss = loss.item();
    if (options.grads) {
      tape.backward(context, loss);
      result.gradients = gradients_of(model);
    }
  }
  return result;
}

void write_files(Session& session, const ForwardOptions& options, const ForwardResult& result) {
  const Uninterrupted files_are_written;
  if (options.logits) io::write_array(session.files, *options.logits, result.logits);
  if (options.trace) {
    io::write_safetensors(session.files, *options.trace, result.trace, result.trace_notes);
  }
  if (options.grads) io::write_safetensors(session.files, *options.grads, result.gradients);
}

void say_files_written(const Session& session, const ForwardOptions& options) {
  for (const auto& place : {options.logits, options.trace, options.grads}) {
    if (!place) continue;
    const std::string path = io::split_place(*place).path;
    base::FileStatus status;
    session.files.path_status(path, status);
    say_line(session, "message.written",
             {{"path", narrate::visible(path)},
              {"size", narrate::size_text(catalogue_of(session.arguments), status.size)}});
  }
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
  const bool classifies = loaded.model->classifier() != nullptr;
  const ForwardInputs inputs = read_forward_inputs(session.files, options, classifies);
  const int rank = (inputs.is_one ? 2 : 3) - (classifies ? 1 : 0);
  if (options.logits) io::check_rank_fits(*options.logits, rank);
  // A model refuses what is longer than its context by itself.
  if (inputs.batch.ids.size(1) <= loaded.model->context_length()) {
    recipes::check_forward_memory(session.files, *loaded.model, inputs.batch,
                                  {.logits = options.logits || options.prints_logits(),
                                   .gradients = options.grads.has_value(),
                                   .trace = options.trace && options.only.empty()},
                                  options.ids);
  }
  base::ThreadPool threads(session.threads);
  const auto work = [&] {
    const Progress progress(session, command_text(session, "command.progress.computing"));
    ForwardResult result = run_forward(threads, options, inputs, *loaded.model);
    write_files(session, options, result);
    return result;
  };
  const ForwardResult result = work();
  if (session.talkative) say_files_written(session, options);
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
