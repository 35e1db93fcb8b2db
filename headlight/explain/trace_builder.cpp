// The model's parts in the order in which they compute.
#include "headlight/explain/trace_builder.h"

#include <algorithm>
#include <utility>

namespace headlight::explain {
namespace {

using tensor::Tensor;

// "encoder.0.self.scores" without its layer: "encoder.self.scores".
std::string without_layer(const std::string& name) {
  const size_t dot = name.find('.');
  if (dot == std::string::npos) return name;
  size_t end = dot + 1;
  while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
  return end == dot + 1 ? name : name.substr(0, dot) + name.substr(end);
}

}  // namespace

void TraceBuilder::put(Entry entry, Tensor values) {
  if (!values.defined()) values = recording_.find(entry.name);
  if (!values.defined()) return;
  const tensor::Shape shape = values.shape();
  trace_.add(made(std::move(entry), shape), std::move(values));
}

void TraceBuilder::put_later(Entry entry, const tensor::Shape& shape) {
  trace_.add(made(std::move(entry), shape), {});
}

TracedTensor TraceBuilder::made(Entry entry, const tensor::Shape& shape) const {
  TracedTensor tensor{.name = entry.name,
                      .operation = entry.operation,
                      .operands = std::move(entry.operands),
                      .attributes = std::move(entry.attributes),
                      .shape = shape,
                      .axes = std::move(entry.axes),
                      .formula = std::move(entry.formula),
                      .text = without_layer(entry.name),
                      .step = entry.step};
  const bool complete =
      std::all_of(tensor.operands.begin(), tensor.operands.end(),
                  [this](const Operand& operand) { return trace_.knows(operand.name); });
  if (!complete) {
    tensor.operation = Operation::given;
    tensor.operands.clear();
    tensor.attributes.clear();
  }
  return tensor;
}

void TraceBuilder::build(const models::Parts& parts) {
  const bool both = parts.encoder.layers != nullptr && parts.decoder.layers != nullptr;
  const models::Batch& batch = trace_.input().batch;
  if (parts.encoder.layers != nullptr) {
    const Side side{"encoder", both ? Axis::source_token : Axis::token, false, false};
    put_stack(side, parts, parts.encoder, both ? batch.source_ids : batch.ids);
  }
  if (parts.decoder.layers != nullptr) {
    put_stack({"decoder", Axis::token, both, true}, parts, parts.decoder, batch.ids);
  }
  const bool decodes = parts.decoder.layers != nullptr;
  put_prediction(parts, decodes ? "decoder.output" : "encoder.output", Axis::token);
}

void TraceBuilder::put_stack(const Side& side, const models::Parts& parts,
                             const models::Parts::Stack& stack, const Tensor& ids) {
  put({side.place + ".ids", Operation::given, {}, {Axis::batch, side.tokens}, "ids", 3}, ids);
  put_embedding(side, *stack.embedding, parts.segments, ids);
  std::string before = side.place + ".sum";
  if (parts.embedding_norm != nullptr) {
    const std::string& place = parts.embedding_norm->options().place;
    put({place + ".input",
         Operation::copy,
         {{"input", before}},
         rows_of(side.tokens),
         "residual.pass",
         side.step(6)});
    put_norm(*parts.embedding_norm, side.tokens, side.step(6));
    before = place + ".output";
  }
  for (const nn::TransformerBlock& block : stack.layers->blocks()) {
    put_layer(side, block, before);
    before = block.options().place + ".residual_out";
  }
  if (const nn::LayerNorm* norm = stack.layers->final_norm()) {
    const std::string& place = norm->options().place;
    put({place + ".input",
         Operation::copy,
         {{"input", before}},
         rows_of(side.tokens),
         "residual.pass",
         side.step(10)});
    put_norm(*norm, side.tokens, side.step(10));
    before = place + ".output";
  }
  put({side.place + ".output",
       Operation::copy,
       {{"input", before}},
       rows_of(side.tokens),
       "residual.pass",
       side.step(10)});
}

void TraceBuilder::put_embedding(const Side& side, const nn::SequenceEmbedding& embedding,
                                 const nn::Embedding* segments, const Tensor& ids) {
  const std::string& place = side.place;
  put({place + ".embedding",
       Operation::table,
       {{"ids", place + ".ids"}, {"table", embedding.parameters().front()->name()}},
       rows_of(side.tokens),
       "embedding.lookup",
       side.step(4),
       {{"scale", static_cast<double>(embedding.options().scale)}}});
  std::string left = place + ".embedding";
  if (segments != nullptr) {
    const Tensor& given = trace_.input().batch.segments;
    put({place + ".segment_ids", Operation::given, {}, {Axis::batch, side.tokens}, "ids", 3},
        given.defined() ? given : Tensor::zeros(tensor::DType::i64, ids.shape()));
    put({place + ".segments",
         Operation::table,
         {{"ids", place + ".segment_ids"}, {"table", segments->weight()->name()}},
         rows_of(side.tokens),
         "embedding.segments",
         side.step(4)});
  }
  put_positions(side, embedding);
  std::vector<Operand> operands = {{"left", left}, {"right", place + ".positions"}};
  if (segments != nullptr) operands.push_back({"more", place + ".segments"});
  put({place + ".sum", Operation::add, std::move(operands), rows_of(side.tokens), "embedding.sum",
       side.step(6)});
}

void TraceBuilder::put_positions(const Side& side, const nn::SequenceEmbedding& embedding) {
  const nn::SequenceEmbeddingOptions& options = embedding.options();
  Entry entry{side.place + ".positions",
              Operation::sinusoid,
              {},
              rows_of(side.tokens),
              "positions.sinusoid",
              side.step(5),
              {{"start", options.position_start}}};
  if (options.learned_positions.empty()) {
    entry.attributes.emplace_back("base", options.sinusoids.base);
    entry.attributes.emplace_back("order", options.sinusoids.halves ? "halves" : "interleaved");
    entry.attributes.emplace_back("divisor",
                                  options.sinusoids.half_minus_one ? "half_minus_one" : "half");
    entry.attributes.emplace_back("index", "pair");
    if (options.sinusoids.halves) entry.formula += ".halves";
    if (options.sinusoids.half_minus_one) entry.formula += ".minus_one";
  } else {
    entry.operation = Operation::table;
    entry.formula = "positions.learned";
    entry.operands = {{"table", embedding.parameters().back()->name()}};
  }
  put(std::move(entry));
}

void TraceBuilder::put_sum(const Side& side, const std::string& name, const std::string& branch,
                           const std::string& stream, bool pre_norm, int step) {
  Entry entry{name,
              Operation::add,
              {{"left", branch}, {"right", stream}},
              rows_of(side.tokens),
              pre_norm ? "residual.add.pre" : "residual.add",
              side.step(step)};
  if (branch.empty()) {
    entry.operation = Operation::copy;
    entry.operands = {{"input", stream}};
    entry.formula = "residual.pass";
  }
  put(std::move(entry));
}

void TraceBuilder::put_layer(const Side& side, const nn::TransformerBlock& block,
                             const std::string& before) {
  const std::string& place = block.options().place;
  const bool pre_norm = block.options().norm_place == nn::NormPlace::pre;
  std::string stream = place + ".residual_in";
  put_sum(side, stream, "", before, pre_norm, 7);

  std::string branch;  // what the last sublayer gave; added by the next norm
  // Puts a norm's input and the norm. Pre-norm: of the stream with the branch added; post-norm: the
  // same, and its output is the stream from there on.
  const auto put_normed = [&](const nn::LayerNorm& norm, int step) {
    const std::string& at = norm.options().place;
    put_sum(side, at + ".input", branch, stream, pre_norm, step);
    put_norm(norm, side.tokens, side.step(step));
    stream = at + (pre_norm ? ".input" : ".output");
    return at + ".output";
  };

  std::string x = pre_norm ? put_normed(*block.self_norm(), 8) : stream;
  put_attention({place + ".self", x, x, side.tokens, side.tokens, side.causal, side.step(7)},
                block.self());
  branch = place + ".self.output";
  if (!pre_norm) x = put_normed(*block.self_norm(), 8);
  if (block.cross() != nullptr) {
    if (pre_norm) x = put_normed(*block.cross_norm(), 11);
    put_attention(
        {place + ".cross", x, "encoder.output", side.tokens, Axis::source_token, false, 11},
        *block.cross());
    branch = place + ".cross.output";
    if (!pre_norm) x = put_normed(*block.cross_norm(), 11);
  }
  if (pre_norm) x = put_normed(*block.feed_forward_norm(), 10);
  put_feed_forward(block.feed_forward(), x, side.tokens, side.step(9));
  branch = place + ".ffn.output";
  if (!pre_norm) put_normed(*block.feed_forward_norm(), 10);

  put_sum(side, place + ".residual_out", pre_norm ? branch : "", stream, pre_norm, 10);
}

Trace trace_model(base::ThreadPool& threads, const models::Model& model, const Input& input,
                  const TraceOptions& options) {
  const Tensor& ids = input.batch.ids;
  if (!ids.defined() || ids.rank() != 2 || ids.size(0) != 1 || input.batch.lens.defined() ||
      input.batch.source_lens.defined()) {
    throw base::Error(base::ErrorKind::bad_input, "trace", "ids",
                      ids.defined() ? "are " + ids.shape().text() +
                                          ", one sequence without padding is needed: (1, T)"
                                    : std::string("are missing"));
  }
  tensor::Arena arena;
  Recording recording(options.layers);
  autograd::Context context{.threads = threads, .arena = arena, .observer = &recording};
  const autograd::Value output = model.forward(context, input.batch);
  if (model.has_logits()) model.logits(context, output);
  Trace trace(threads, input, model.parameters());
  TraceBuilder(trace, recording).build(model.parts());
  return trace;
}

}  // namespace headlight::explain
