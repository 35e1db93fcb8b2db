// Reading arrays, where each mistake names the option it came with; three ways to attend with one
// interface, a trace by observing, gradients by going back.
#include "apps/cli/attend/run.h"

#include <functional>

#include "apps/cli/arrays/named_trace.h"
#include "headlight/models/models.h"

namespace headlight::cli {
namespace {

using autograd::Context;
using autograd::Value;
using tensor::Shape;
using tensor::Tensor;

Tensor read_floats(base::FileSystem& files, const std::string& place) {
  return io::as_float32(io::read_array(files, place)).contiguous();
}

// Added to the scores: of true and false one would be added where a mask was meant.
Tensor read_bias(base::FileSystem& files, const std::string& place) {
  const Tensor array = io::read_array(files, place);
  if (array.dtype() == tensor::DType::boolean) {
    base::refuse("--bias", place,
                 "holds true and false, numbers to add are needed; --keep-mask (true: may attend) "
                 "or --forbid-mask (true: may not) takes it");
  }
  return io::as_float32(array).contiguous();
}

// Query, key or value; (T, C) becomes a batch of one. The first one read decides the rank of all.
Value read_sequence(base::FileSystem& files, const std::string& option, const std::string& place,
                    bool wants_grad, int& rank) {
  const Tensor array = read_floats(files, place);
  if (array.rank() < 2 || array.rank() > 4) {
    base::refuse(option, place,
                 "shape is " + array.shape().text() + ", (T,C), (B,T,C) or (B,H,T,D) is needed");
  }
  if (rank != 0 && array.rank() != rank) {
    base::refuse(
        option, place,
        "shape is " + array.shape().text() + ", the query has rank " + std::to_string(rank));
  }
  rank = array.rank();
  return Value::leaf(rank == 2 ? array.reshaped({1, array.size(0), array.size(1)}) : array,
                     wants_grad);
}

// (B,); a single number stands for all sequences.
Tensor past_of(base::FileSystem& files, const IntegersOrPlace& past, int64_t batch) {
  if (const auto* numbers = std::get_if<std::vector<int64_t>>(&past)) {
    if (numbers->size() > 1) return Tensor::of({static_cast<int64_t>(numbers->size())}, *numbers);
    return Tensor::of({batch}, std::vector<int64_t>(static_cast<size_t>(batch), numbers->front()));
  }
  const auto& place = std::get<std::string>(past);
  const Tensor array = io::as_int64(io::read_array(files, place), "--past").contiguous();
  for (int64_t i = 0; i < array.elements(); ++i) {
    const int64_t number = array.data<int64_t>()[i];
    if (number >= kPastRange.lowest && number <= kPastRange.highest) continue;
    base::refuse("--past", place,
                 "number " + std::to_string(i) + " is " + std::to_string(number) +
                     ", it must be from " + recipes::readable_number(kPastRange.lowest) + " to " +
                     recipes::readable_number(kPastRange.highest));
  }
  return array;
}

Tensor lengths_of(base::FileSystem& files, const IntegersOrPlace& lengths) {
  if (const auto* numbers = std::get_if<std::vector<int64_t>>(&lengths)) {
    return Tensor::of({static_cast<int64_t>(numbers->size())}, *numbers);
  }
  return io::as_int64(io::read_array(files, std::get<std::string>(lengths)), "--valid-lens");
}

// "a.safetensors:h.0.attn" gives all tensors whose names start with "h.0.attn.".
void read_state(base::FileSystem& files, const std::string& weights, AttendInputs& inputs) {
  const io::ArrayPlace place = io::split_place(weights);
  inputs.prefix = place.name;
  if (!inputs.prefix.empty() && !inputs.prefix.ends_with('.') && !inputs.prefix.ends_with('/'))
    inputs.prefix += '.';
  inputs.weights = std::make_shared<io::Safetensors>(io::open_safetensors(files, place.path));
  const io::Safetensors& file = *inputs.weights;
  inputs.state = models::stored_state(file);
  std::erase_if(inputs.state,
                [&](const auto& named) { return !named.first.starts_with(inputs.prefix); });
  if (inputs.state.empty()) {
    base::refuse(place.path, inputs.prefix,
                 file.entries().empty() ? "the file holds no tensors"
                                        : "no tensor's name starts so; the first is " +
                                              io::in_quotes(file.entries().front().name));
  }
}

autograd::AttentionOptions read_call(base::FileSystem& files, const AttendOptions& options,
                                     int64_t batch) {
  const bool wants_grads = options.grads.has_value();
  autograd::AttentionOptions call;
  call.scale = options.scale;
  call.softcap = options.softcap;
  call.causal = options.causal;
  call.window = options.window;
  if (options.past) call.past = past_of(files, *options.past, batch);
  if (options.valid_lens) call.valid_lens = lengths_of(files, *options.valid_lens);
  if (options.keep_mask) {
    call.keep_mask = io::as_boolean(io::read_array(files, *options.keep_mask), "--keep-mask");
  }
  if (options.forbid_mask) {
    call.forbid_mask = io::as_boolean(io::read_array(files, *options.forbid_mask), "--forbid-mask");
  }
  if (options.bias) call.bias = Value::leaf(read_bias(files, *options.bias), wants_grads);
  if (options.head_gates) {
    call.gates = Value::leaf(read_floats(files, *options.head_gates), wants_grads);
  }
  return call;
}

// The engine takes the heads of a 4-D array from its shape; a number that says otherwise is a
// mistake.
void check_heads(const AttendOptions& options, const AttendInputs& inputs) {
  if (inputs.rank != 4) return;
  if (options.weights) {
    base::refuse(
        "--query", options.query,
        "shape is " + inputs.query.shape().text() + "; with --weights (T,C) or (B,T,C) is needed");
  }
  if (options.heads && *options.heads != inputs.query.size(1)) {
    base::refuse("--heads", std::to_string(*options.heads),
                 "the query has " + std::to_string(inputs.query.size(1)) + " heads, its shape is " +
                     inputs.query.shape().text());
  }
  if (options.kv_heads && *options.kv_heads != inputs.key.size(1)) {
    base::refuse("--kv-heads", std::to_string(*options.kv_heads),
                 "the key has " + std::to_string(inputs.key.size(1)) + " heads, its shape is " +
                     inputs.key.shape().text());
  }
}

// What runs, whichever way it is.
struct Attention {
  std::function<Value(Context&)> forward;
  nn::Parameters parameters;
  double heads = 1;
  double projected = 0;  // numbers that the module makes of each query and key before it attends
  double outputs = 0;    // of each query, by the heads and after them
};

Attention additive(const AttendOptions& options, const AttendInputs& inputs) {
  const auto module = nn::AdditiveAttention::load(
      inputs.state, {.prefix = inputs.prefix, .where = io::split_place(*options.weights).path});
  return {.forward =
              [module, &inputs](Context& context) {
                return module.forward(context, inputs.query, inputs.key, inputs.value, inputs.call);
              },
          .parameters = module.parameters(),
          .projected = static_cast<double>(module.parameters().front()->shape()[0]),
          .outputs = static_cast<double>(inputs.value.shape()[-1])};
}

Attention whole_module(const AttendOptions& options, const AttendInputs& inputs) {
  const auto module =
      nn::load_attention(inputs.state, {.layout = options.layout,
                                        .prefix = inputs.prefix,
                                        .heads = options.heads.value_or(1),
                                        .kv_heads = options.kv_heads.value_or(0),
                                        .where = io::split_place(*options.weights).path});
  const nn::MultiHeadAttentionOptions& sizes = module.options();
  const auto heads = static_cast<double>(sizes.heads);
  const auto value_width = static_cast<double>(sizes.value_head_dim);
  return {.forward =
              [module, &inputs](Context& context) {
                return module.forward(context, inputs.query, inputs.key, inputs.value, inputs.call);
              },
          .parameters = module.parameters(),
          .heads = heads,
          .projected = heads * (static_cast<double>(sizes.head_dim) + value_width),
          .outputs = heads * value_width + static_cast<double>(sizes.out_dim)};
}

Attention as_they_are(const AttendOptions& options, const AttendInputs& inputs) {
  autograd::AttentionOptions call = inputs.call;
  call.heads = options.heads.value_or(1);
  call.kv_heads = options.kv_heads.value_or(0);
  return {.forward =
              [call, &inputs](Context& context) {
                return autograd::attention(context, inputs.query, inputs.key, inputs.value, call);
              },
          .parameters = {},
          .heads = static_cast<double>(inputs.rank == 4 ? inputs.query.size(1) : call.heads),
          .outputs = static_cast<double>(inputs.value.shape()[-1]) *
                     static_cast<double>(inputs.rank == 4 ? inputs.query.size(1) : 1)};
}

Attention attention_for(const AttendOptions& options, const AttendInputs& inputs) {
  if (options.additive) return additive(options, inputs);
  return options.weights ? whole_module(options, inputs) : as_they_are(options, inputs);
}

// Weights as they are and packed for the kernels; their gradients too.
void check_weights_memory(base::FileSystem& files, const AttendOptions& options,
                          const AttendInputs& inputs) {
  double numbers = 0;
  for (const auto& [name, tensor] : inputs.state) {
    if (!nn::is_mask_buffer(name, tensor)) numbers += static_cast<double>(tensor.shape.elements());
  }
  base::check_memory(files, (options.grads ? 3 : 2) * numbers * sizeof(float), "--weights",
                     options.weights.value_or(""));
}

// All that a run holds beside its inputs: projections, outputs, gradients of either, and of a trace
// the scores and what becomes of them, all at once.
void check_run_memory(base::FileSystem& files, const AttendOptions& options,
                      const AttendInputs& inputs, const Attention& attention) {
  const Shape& query = inputs.query.shape();
  const auto batch = static_cast<double>(query[0]);
  const double queries = batch * static_cast<double>(query[-2]);
  const double keys = batch * static_cast<double>(inputs.key.shape()[-2]);
  double numbers = (queries + keys) * attention.projected + queries * attention.outputs;
  if (options.grads) {
    numbers *= 2;
    for (const Value* value : {&inputs.query, &inputs.key, &inputs.value}) {
      numbers += static_cast<double>(value->shape().elements());
    }
  }
  base::check_memory(files, numbers * sizeof(float), "memory for attend", options.query);
  if (!options.trace) return;
  const double scores = attention.heads * queries * static_cast<double>(inputs.key.shape()[-2]);
  numbers += (options.softcap > 0 ? 5 : 4) * scores;
  base::check_memory(files, numbers * sizeof(float), "--trace", *options.trace);
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

AttendInputs read_attend_inputs(base::FileSystem& files, const AttendOptions& options) {
  const bool wants_grads = options.grads.has_value();
  AttendInputs inputs;
  const auto read = [&](const char* option, const std::string& place) {
    return read_sequence(files, option, place, wants_grads, inputs.rank);
  };
  inputs.query = read("--query", options.query);
  inputs.key = options.key ? read("--key", *options.key) : inputs.query;
  inputs.value = options.value ? read("--value", *options.value) : inputs.key;
  inputs.call = read_call(files, options, inputs.query.size(0));
  if (options.grad_out) inputs.grad_out = read_floats(files, *options.grad_out);
  if (options.weights) read_state(files, *options.weights, inputs);
  check_heads(options, inputs);
  return inputs;
}

AttendResult attend(base::FileSystem& files, base::ThreadPool& threads,
                    const AttendOptions& options, const AttendInputs& inputs) {
  check_weights_memory(files, options, inputs);
  const Attention attention = attention_for(options, inputs);
  check_run_memory(files, options, inputs, attention);
  tensor::Arena arena;
  autograd::Tape tape;
  NamedTrace trace;
  Context context{.threads = threads,
                  .arena = arena,
                  .tape = options.grads ? &tape : nullptr,
                  .observer = options.trace ? &trace.recording() : nullptr};
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
