// Three ways to attend with one interface, a trace by observing, gradients by going back.
#include "apps/cli/attend_run.h"

#include <functional>

#include "apps/cli/trace.h"

namespace headlight::cli {
namespace {

using autograd::Context;
using autograd::Value;
using tensor::Shape;
using tensor::Tensor;

// What runs, whichever way it is.
struct Attention {
  std::function<Value(Context&)> forward;
  nn::Parameters parameters;
};

Attention additive(const AttendInputs& inputs) {
  const auto module = nn::AdditiveAttention::load(inputs.state, {.prefix = inputs.prefix});
  return {.forward =
              [module, &inputs](Context& context) {
                return module.forward(context, inputs.query, inputs.key, inputs.value, inputs.call);
              },
          .parameters = module.parameters()};
}

Attention whole_module(const AttendOptions& options, const AttendInputs& inputs) {
  const auto module = nn::load_attention(inputs.state, {.layout = options.layout,
                                                        .prefix = inputs.prefix,
                                                        .heads = options.heads.value_or(1),
                                                        .kv_heads = options.kv_heads.value_or(0)});
  return {.forward =
              [module, &inputs](Context& context) {
                return module.forward(context, inputs.query, inputs.key, inputs.value, inputs.call);
              },
          .parameters = module.parameters()};
}

Attention as_they_are(const AttendOptions& options, const AttendInputs& inputs) {
  autograd::AttentionOptions call = inputs.call;
  call.heads = options.heads.value_or(1);
  call.kv_heads = options.kv_heads.value_or(0);
  return {.forward =
              [call, &inputs](Context& context) {
                return autograd::attention(context, inputs.query, inputs.key, inputs.value, call);
              },
          .parameters = {}};
}

Attention attention_for(const AttendOptions& options, const AttendInputs& inputs) {
  if (options.additive) return additive(inputs);
  return options.weights ? whole_module(options, inputs) : as_they_are(options, inputs);
}

// (B, H, T, E) as (B, T, H*E); a tensor of rank 3 is that already.
Tensor merged(const Tensor& output) {
  if (output.rank() == 3) return output;
  return output.permuted({0, 2, 1, 3})
      .contiguous()
      .reshaped({output.size(0), output.size(2), output.size(1) * output.size(3)});
}

Tensor in_given_rank(const Tensor& array, int rank) {
  return rank == 2 ? array.reshaped({array.size(1), array.size(2)}) : array;
}

std::vector<io::NamedTensor> gradients_of(Context& context, const AttendOptions& options,
                                          const AttendInputs& inputs, const Attention& attention,
                                          const Value& output) {
  const Tensor& from = inputs.grad_out;
  if (const Shape given = in_given_rank(output.data(), inputs.rank).shape();
      from.shape() != given) {
    throw base::Error(base::ErrorKind::bad_input, "--grad-out", *options.grad_out,
                      "shape is " + from.shape().text() + ", the output has " + given.text());
  }
  context.tape->backward(context, output, from.reshaped(output.shape()));
  std::vector<io::NamedTensor> gradients;
  const auto add = [&](std::string_view name, const Value& value, int rank) {
    if (!value.defined()) return;
    // Nothing arrives where nothing was used, e.g. at keys that nobody sees.
    const Tensor grad = value.grad().defined() ? value.grad().contiguous()
                                               : Tensor::zeros(tensor::DType::f32, value.shape());
    gradients.push_back({std::string(name), in_given_rank(grad, rank)});
  };
  add("query", inputs.query, inputs.rank);
  if (options.key) add("key", inputs.key, inputs.rank);
  if (options.value) add("value", inputs.value, inputs.rank);
  add("bias", inputs.call.bias, 0);
  add("head_gates", inputs.call.gates, 0);
  for (const nn::ParameterHandle& parameter : attention.parameters) {
    add(parameter->name(), parameter->value(), 0);
  }
  return gradients;
}

}  // namespace

AttendResult attend(base::ThreadPool& threads, const AttendOptions& options,
                    const AttendInputs& inputs) {
  const Attention attention = attention_for(options, inputs);
  tensor::Arena arena;
  autograd::Tape tape;
  NamedTrace trace;
  Context context{.threads = threads,
                  .arena = arena,
                  .tape = options.grads ? &tape : nullptr,
                  .observer = options.trace ? &trace : nullptr};
  const Value output = attention.forward(context);
  AttendResult result{.output = in_given_rank(output.data().contiguous(), inputs.rank)};
  if (options.trace) {
    // A module shows its merge; without one the output is the merge.
    if (!trace.has("concatenated")) trace.put("concatenated", merged(output.data()));
    trace.put("output", result.output);
    result.trace = trace.tensors();
  }
  if (options.grads) result.gradients = gradients_of(context, options, inputs, attention, output);
  return result;
}

}  // namespace headlight::cli
