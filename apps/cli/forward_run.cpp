// Reading ids, running the model once, and going back from the loss.
#include "apps/cli/forward_run.h"

#include <algorithm>

#include "apps/cli/trace.h"

namespace headlight::cli {
namespace {

using autograd::Context;
using autograd::Value;
using tensor::Tensor;

// (T,) becomes a batch of one.
Tensor read_ids(base::FileSystem& files, const char* option, const std::string& place,
                bool& is_one) {
  const Tensor ids = io::as_int64(io::read_array(files, place), option).contiguous();
  if (ids.rank() != 1 && ids.rank() != 2) {
    base::refuse(option, place, "shape is " + ids.shape().text() + ", (T,) or (B,T) is needed");
  }
  if (ids.elements() == 0)
    base::refuse(option, place, "shape is " + ids.shape().text() + ", no ids");
  is_one = ids.rank() == 1;
  return is_one ? ids.reshaped({1, ids.size(0)}) : ids;
}

void check_lens(const Tensor& lens, const Tensor& ids, const std::string& place) {
  if (lens.shape() != tensor::Shape{ids.size(0)}) {
    base::refuse("--source-lens", place,
                 "shape is " + lens.shape().text() + ", there are " + std::to_string(ids.size(0)) +
                     " sources");
  }
}

void check_targets(const Tensor& targets, const Tensor& ids, const std::string& place) {
  if (targets.shape() != ids.shape()) {
    base::refuse("--targets", place,
                 "shape is " + targets.shape().text() + ", the ids are " + ids.shape().text());
  }
  const int64_t* numbers = targets.data<int64_t>();
  if (std::all_of(numbers, numbers + targets.elements(), [](int64_t id) { return id == -1; })) {
    base::refuse("--targets", place,
                 "all " + std::to_string(targets.elements()) + " are -1, none counts for the loss");
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

Tensor without_batch(const Tensor& logits) {
  return logits.reshaped({logits.size(1), logits.size(2)});
}

}  // namespace

ForwardInputs read_forward_inputs(base::FileSystem& files, const ForwardOptions& options) {
  ForwardInputs inputs;
  bool is_one = false;
  inputs.batch.ids = read_ids(files, "--ids", options.ids, inputs.is_one);
  if (options.source_ids) {
    inputs.batch.source_ids = read_ids(files, "--source-ids", *options.source_ids, is_one);
  }
  if (options.source_lens) {
    const std::string& place = *options.source_lens;
    inputs.batch.source_lens =
        io::as_int64(io::read_array(files, place), "--source-lens").contiguous();
    check_lens(inputs.batch.source_lens, inputs.batch.source_ids, place);
  }
  if (options.targets) {
    inputs.batch.targets = read_ids(files, "--targets", *options.targets, is_one);
    check_targets(inputs.batch.targets, inputs.batch.ids, *options.targets);
  }
  return inputs;
}

ForwardResult run_forward(base::ThreadPool& threads, const ForwardOptions& options,
                          const ForwardInputs& inputs, models::Model& model) {
  recipes::HeadsOff heads_off(options.heads_off, model, "--heads-off");
  tensor::Arena arena;
  autograd::Tape tape;
  NamedTrace trace(options.only);
  Context context{.threads = threads,
                  .arena = arena,
                  .tape = options.grads ? &tape : nullptr,
                  .observer = options.trace ? &trace : nullptr,
                  .intervention = heads_off.empty() ? nullptr : &heads_off};
  const Value output = model.forward(context, inputs.batch);
  ForwardResult result;
  const bool traces_logits = options.trace && model.has_logits() &&
                             (trace.wants("logits") || trace.wants("probabilities"));
  if (options.logits || options.prints_logits() || traces_logits) {
    Context looking = context;
    looking.tape = nullptr;
    const Tensor logits = model.logits(looking, Value::leaf(output.data())).data();
    result.logits = inputs.is_one ? without_batch(logits) : logits;
  }
  if (options.trace) {
    trace.check_all_seen();
    result.trace = trace.tensors();
  }
  if (options.targets) {
    const Value loss = model.loss(context, output, inputs.batch.targets, 0);
    result.loss = *loss.data().data<float>();
    if (options.grads) {
      tape.backward(context, loss);
      result.gradients = gradients_of(model);
    }
  }
  return result;
}

}  // namespace headlight::cli
