// `headlight attend`: attention on the user's own arrays.
#include "apps/cli/arrays/print_array.h"
#include "apps/cli/attend/options.h"
#include "apps/cli/attend/run.h"
#include "apps/cli/program/interruption.h"
#include "apps/cli/program/places.h"
#include "apps/cli/program/progress.h"

namespace headlight::cli {
namespace {

constexpr std::string_view kAttendExamples =
    R"(  headlight attend --query x.npy --heads 4 --causal
      self-attention of x with itself in 4 heads; small results are printed
  headlight attend --query q.npy --key k.npy --value v.npy --heads 8 --valid-lens 3,2 --out y.npy
      cross-attention over the first 3 keys of sequence 0 and 2 of sequence 1
  headlight attend --query x.npy --weights m.safetensors:h.0.attn --heads 12 --trace t.safetensors
      a whole module with its projections, and every intermediate in a file
  headlight attend --query x.npy --heads 4 --grad-out g.npy --grads grads.safetensors
      gradients of sum(output * g)

Arrays are .npy, .json (nested lists), .csv (2-D) or .safetensors (x.safetensors:NAME picks one).
Order: scale, softcap, bias, masks, softmax. A query that may see nothing gives zeros.
)";

void write_files(Session& session, const AttendOptions& options, const AttendResult& result) {
  const Uninterrupted files_are_written;
  if (options.out) io::write_array(session.files, *options.out, result.output);
  if (options.trace) io::write_safetensors(session.files, *options.trace, result.trace);
  if (options.grads) io::write_safetensors(session.files, *options.grads, result.gradients);
}

void say_what_was_written(const AttendOptions& options, const AttendResult& result) {
  if (options.out) print_line(*options.out + ": " + result.output.shape().text());
  const auto count = [](size_t number, const char* what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  if (options.trace) print_line(*options.trace + ": " + count(result.trace.size(), "tensor"));
  if (options.grads) print_line(*options.grads + ": " + count(result.gradients.size(), "gradient"));
}

void run_attend(Session& session) {
  const AttendOptions options = read_attend_options(session.arguments);
  check_outputs(session.files, session.arguments,
                {.inputs = {"query", "key", "value", "weights", "past", "valid-lens", "keep-mask",
                            "forbid-mask", "bias", "head-gates", "grad-out"},
                 .outputs = {"out", "trace", "grads"}});
  const AttendInputs inputs = read_attend_inputs(session.files, options);
  if (options.out) io::check_rank_fits(*options.out, inputs.rank);
  base::ThreadPool threads(session.threads);
  const auto work = [&] {
    const Progress progress(session, command_text(session, "command.progress.computing"));
    AttendResult result = attend(session.files, threads, options, inputs);
    write_files(session, options, result);
    return result;
  };
  const AttendResult result = work();
  if (session.talkative) say_what_was_written(options, result);
  if (session.json) {
    print_array_json(session.output, "output", result.output);
  } else if (!options.out) {
    session.output.write(array_text("output", result.output, "--out"));
  }
}

}  // namespace

const Command kAttend = {"attend", "multi-head attention on your own arrays", kAttendExamples,
                         kAttendOptions, run_attend};

}  // namespace headlight::cli
