// attention: from queries, keys and values to the merged heads, as the tensors that a reader
// follows.
#include "headlight/explain/operations/attention.h"

#include <map>

#include "headlight/explain/tensor_index.h"

namespace headlight::explain {
namespace {

using autograd::Recording;
using kernels::ScoreStage;
using tensor::Shape;
using tensor::Tensor;

// A stage of attention that its Inside computes; rows that were asked for are kept for a while.
class StageValues : public LateValues {
 public:
  StageValues(std::shared_ptr<const autograd::Inside> inside, ScoreStage stage, int64_t queries)
      : inside_(std::move(inside)), stage_(stage), queries_(queries) {}

  Tensor values(const Trace& trace, int64_t head) const override {
    tensor::Arena arena;
    return inside_->stage({trace.threads(), arena}, stage_, head, {0, queries_});
  }
  double value(const Trace& trace, const std::vector<int64_t>& index) const override {
    const std::pair key(index[1], index[2]);
    auto row = rows_.find(key);
    if (row == rows_.end()) {
      constexpr size_t kMostRows = 4096;
      if (rows_.size() >= kMostRows) rows_.clear();
      tensor::Arena arena;
      const Tensor numbers =
          inside_->stage({trace.threads(), arena}, stage_, index[1], {index[2], 1});
      row = rows_.emplace(key, numbers).first;
    }
    return number_at(row->second, {index[0], 0, index[3]});
  }

 private:
  std::shared_ptr<const autograd::Inside> inside_;
  ScoreStage stage_;
  int64_t queries_;
  mutable std::map<std::pair<int64_t, int64_t>, Tensor> rows_;  // by head and query
};

// a_ij * v_j, of weights and values that have been put.
class WeightedValues : public LateValues {
 public:
  WeightedValues(std::string weights, std::string value, KeyValueReaders readers)
      : weights_(std::move(weights)), value_(std::move(value)), readers_(std::move(readers)) {}

  Tensor values(const Trace& trace, int64_t head) const override {
    const TracedTensor& of_all = trace.at(weights_);
    const Tensor weights = trace.values(head < 0 ? weights_
                                                 : place_of(weights_) + ".head." +
                                                       std::to_string(of_all.head_number(head)) +
                                                       weights_.substr(weights_.rfind('.')));
    const Tensor value = trace.values(value_);
    const int64_t heads = of_all.shape[1];
    const int64_t queries = weights.size(-2);
    std::vector<int64_t> sizes(weights.shape().sizes().begin(), weights.shape().sizes().end());
    sizes.push_back(value.size(3));
    Tensor result = Tensor::uninitialized(tensor::DType::f32, Shape(sizes));
    const int64_t per_head = queries * value.size(2);
    const int64_t shown = head < 0 ? heads : 1;
    for (int64_t i = 0; i < value.size(0) * shown; ++i) {
      const int64_t kv_head = readers_.kv_head(head < 0 ? i % shown : head, heads, value.size(1));
      kernels::weigh_values(
          {queries, value.size(2), value.size(3)}, weights.data<float>() + i * per_head,
          value.slice(0, i / shown, 1).slice(1, kv_head, 1).data<float>(), value.size(3),
          result.mutable_data<float>() + i * per_head * value.size(3));
    }
    return result;
  }
  double value(const Trace& trace, const std::vector<int64_t>& index) const override {
    const TracedTensor& weights = trace.at(weights_);
    const double weight = trace.value(weights, {index.begin(), index.end() - 1});
    if (weight == 0) return 0;  // what hides behind the mask never leaks
    const TracedTensor& values = trace.at(value_);
    const int64_t kv_head = readers_.kv_head(index[1], weights.shape[1], values.shape[1]);
    const double value = trace.value(values, {index[0], kv_head, index[3], index[4]});
    return static_cast<float>(weight) * static_cast<float>(value);
  }

 private:
  std::string weights_;
  std::string value_;
  KeyValueReaders readers_;
};

// The numbers of heads along an axis, where some have been pruned.
TraceBuilder::Heads heads_in(const RecordedStep& step, bool of_queries) {
  const Recording::Input* numbers = step.input(of_queries ? "head_numbers" : "kv_head_numbers");
  if (numbers == nullptr) return {};
  const Tensor& list = numbers->value.data();
  return {{list.data<int64_t>(), list.data<int64_t>() + list.elements()},
          static_cast<int64_t>(step.number(of_queries ? "original_heads" : "original_kv_heads"))};
}

// Which key/value head each head reads, where that is not the same number for each.
void put_readers(TraceBuilder& builder, const RecordedStep& step) {
  const Recording::Input* readers = step.input("kv_head_of");
  if (readers == nullptr) return;
  builder.put({.name = step.report.place + ".kv_head_of",
               .axes = {Axis::head},
               .formula = "attention.kv_head_of",
               .row = kHeadsRow},
              readers->value.data());
}

// Names the tensor above as an operand, where there is one.
void add_readers(const TraceBuilder& builder, const std::string& place, TracedTensor& tensor) {
  const TracedTensor* readers = builder.find(place + ".kv_head_of");
  if (readers != nullptr) tensor.operands.push_back({"kv_head_of", readers->name});
}

std::vector<Axis> heads_of(Axis tokens) { return {Axis::batch, Axis::head, tokens, Axis::column}; }

// Puts the projection in this role as heads, and says which axis its tokens are.
Axis put_heads(TraceBuilder& builder, const RecordedStep& step, const char* role) {
  const std::string name = autograd::place_name(step.report.place, role);
  const Recording::Input& input = *step.input(role);
  const std::string from = builder.name_of(input, name);
  const Tensor& numbers = input.value.data();
  const std::vector<Axis> axes = builder.axes_of(from, name, numbers.rank());
  const Axis tokens = numbers.rank() == 4 ? axes[2] : axes[1];
  const bool is_query = std::string_view(role) == "query";
  const auto heads = static_cast<int64_t>(step.number(is_query ? "heads" : "kv_heads"));
  TracedTensor tensor{.name = name,
                      .operation = numbers.rank() == 4 ? "copy" : "split",
                      .operands = {{"input", from}},
                      .axes = heads_of(tokens),
                      .formula = numbers.rank() == 4 ? "residual.pass" : "attention.split",
                      .row = kHeadsRow};
  if (numbers.rank() == 3) tensor.set_attribute("heads", heads);
  const TraceBuilder::Heads numbered = heads_in(step, is_query);
  tensor.head_numbers = numbered.numbers;
  tensor.original_heads = numbered.original;
  builder.put(std::move(tensor), split_heads(numbers, heads));
  return tokens;
}

// Truth as 1 and 0.
Tensor as_numbers(const Tensor& x) {
  const Tensor adjacent = x.contiguous();
  if (x.dtype() != tensor::DType::boolean) return adjacent;
  std::vector<float> numbers(adjacent.data<bool>(), adjacent.data<bool>() + adjacent.elements());
  return Tensor::of(x.shape(), numbers);
}

// A mask or bias of the run as a tensor of its own, with all four axes.
void put_option(TraceBuilder& builder, const RecordedStep& step, const char* role,
                const std::string& name, const AttentionRun& run) {
  const Recording::Input* input = step.input(role);
  if (input == nullptr) return;
  const Tensor numbers = as_numbers(input->value.data());
  std::vector<int64_t> sizes(numbers.shape().sizes().begin(), numbers.shape().sizes().end());
  if (sizes.size() == 2) sizes.insert(sizes.begin(), 1);
  if (sizes.size() == 3) sizes.insert(sizes.begin() + 1, 1);
  builder.put({.name = name,
               .axes = run.axes,
               .formula = std::string("attention.") + role,
               .row = kScoresRow},
              numbers.reshaped(Shape(sizes)));
}

int64_t first_of(const RecordedStep& step, const char* role) {
  return step.input(role)->value.data().contiguous().data<int64_t>()[0];
}

// The position bias of each pair, where there is one.
void put_position_bias(TraceBuilder& builder, const AttentionRun& run, const Shape& shape) {
  const std::string kind = run.step.word("position_bias");
  if (kind.empty()) return;
  const std::string name = run.place + ".position_bias";
  TracedTensor tensor{.name = name,
                      .operation = kind + "_bias",
                      .shape = shape,
                      .axes = run.axes,
                      .formula = "attention.position_bias." + kind,
                      .row = kScoresRow};
  if (run.step.input("past") != nullptr) tensor.set_attribute("past", first_of(run.step, "past"));
  const Recording::Input& given =
      *run.step.input(kind == "linear" ? "position_slopes" : "position_table");
  std::string operand = builder.name_of(given, name);
  if (operand.empty()) {
    operand = builder.full_name(name + ".slopes");
    builder.put({.name = name + ".slopes",
                 .axes = std::vector<Axis>(static_cast<size_t>(given.value.rank()), Axis::column),
                 .formula = "attention.position_slopes",
                 .row = kScoresRow},
                given.value.data());
  }
  tensor.operands = {{kind == "linear" ? "slopes" : "table", operand}};
  if (const Recording::Input* buckets = run.step.input("position_buckets")) {
    builder.put({.name = name + ".buckets",
                 .axes = {Axis::column},
                 .formula = "attention.position_buckets",
                 .row = kScoresRow},
                buckets->value.data());
    tensor.operands.push_back({"buckets", builder.full_name(name + ".buckets")});
    tensor.set_attribute("first_distance", static_cast<int64_t>(run.step.number("first_distance")));
  }
  builder.put(std::move(tensor), std::make_shared<StageValues>(
                                     run.step.report.inside, ScoreStage::position_bias, shape[2]));
}

TracedTensor mask_tensor(TraceBuilder& builder, const AttentionRun& run, const std::string& input) {
  const RecordedStep& step = run.step;
  const std::string& p = run.place;
  const bool causal = step.number("causal") != 0;
  TracedTensor tensor{.name = p + ".masked_scores",
                      .operation = "mask",
                      .operands = {{"input", input}},
                      .attributes = {{"causal", causal}},
                      .axes = run.axes,
                      .formula = causal ? "attention.mask" : "residual.pass",
                      .row = kScoresRow};
  if (step.number("window") > 0) {
    tensor.set_attribute("window", static_cast<int64_t>(step.number("window")));
    tensor.formula = "attention.mask.window";
  }
  if (step.input("past") != nullptr) tensor.set_attribute("past", first_of(step, "past"));
  if (step.input("query_lens") != nullptr) {
    tensor.set_attribute("queries", first_of(step, "query_lens"));
  }
  for (const char* role : {"keep_mask", "forbid_mask", "bias"}) {
    if (step.input(role) == nullptr) continue;
    const std::string name = p + "." + role;
    put_option(builder, step, role, name, run);
    tensor.operands.push_back({role, builder.full_name(name)});
    if (tensor.formula == "residual.pass") tensor.formula = "attention.mask.given";
  }
  if (const Recording::Input* lengths = step.input("valid_lens")) {
    Tensor numbers = lengths->value.data().contiguous();
    if (numbers.rank() == 1) numbers = numbers.reshaped({numbers.size(0), 1});
    builder.put({.name = p + ".valid_lens",
                 .axes = {Axis::batch, run.axes[2]},
                 .formula = "attention.valid_lens",
                 .row = kScoresRow},
                numbers);
    tensor.operands.push_back({"valid_lens", builder.full_name(p + ".valid_lens")});
    if (tensor.formula == "residual.pass") tensor.formula = "attention.mask.given";
  }
  if (!step.word("position_bias").empty()) {
    tensor.operands.push_back({"position_bias", builder.full_name(p + ".position_bias")});
    if (tensor.formula == "residual.pass") tensor.formula = "attention.mask.biased";
  }
  return tensor;
}

void put_merge(TraceBuilder& builder, const RecordedStep& step, const std::string& name,
               Axis queries) {
  const std::string& p = step.report.place;
  const auto heads = static_cast<int64_t>(step.number("heads"));
  const int64_t result = step.output("output");
  const int64_t ungated = step.output("ungated");
  const Tensor& merged = builder.tensor(result);
  builder.put(
      {.name = p + ".head_output",
       .operation = "sum_keys",
       .operands = {{"input", builder.full_name(p + ".weighted_values")}},
       .axes = heads_of(queries),
       .formula = "attention.sum",
       .row = kValuesRow},
      split_heads(ungated == Recording::kUnknown ? merged : builder.tensor(ungated), heads));
  TracedTensor tensor{.name = name.empty() ? p + ".concatenated" : name,
                      .operation = "merge",
                      .operands = {{"input", builder.full_name(p + ".head_output")}},
                      .axes = {Axis::batch, queries, Axis::column},
                      .formula = "attention.merge",
                      .row = kOutputRow};
  if (const Recording::Input* gates = step.input("gates")) {
    std::vector<Axis> axes = {Axis::batch, Axis::head};
    if (gates->value.rank() == 1) axes = {Axis::head};
    builder.put(
        {.name = p + ".head_gates", .axes = axes, .formula = "attention.gates", .row = kOutputRow},
        gates->value.data());
    tensor.operands.push_back({"gates", builder.full_name(p + ".head_gates")});
    if (gates->value.rank() == 2) tensor.set_attribute("per_sequence", true);
    tensor.formula = "attention.merge.gates";
  }
  builder.put(std::move(tensor), merged, result);
}

// How queries and keys are compared: by their product, or by a layer with weights of its own.
TracedTensor scores_tensor(TraceBuilder& builder, const RecordedStep& step) {
  const std::string& p = step.report.place;
  TracedTensor tensor{.name = p + ".scores",
                      .operation = "scores",
                      .operands = {{"query", builder.full_name(p + ".query")},
                                   {"key", builder.full_name(p + ".key")}},
                      .formula = "attention.scores",
                      .row = kScoresRow};
  if (const Recording::Input* weights = step.input("score_weights")) {
    tensor.operation = "additive_scores";
    tensor.operands.push_back({"weight", builder.name_of(*weights, tensor.name)});
    if (weights->value.rank() == 2) tensor.set_attribute("weight_rows", 1);
    tensor.formula = "attention.scores.additive";
  }
  add_readers(builder, p, tensor);
  return tensor;
}

}  // namespace

void put_attention(TraceBuilder& builder, const RecordedStep& step, const std::string& name) {
  const std::string& p = step.report.place;
  builder.number_heads(heads_in(step, true));
  put_readers(builder, step);
  const Axis queries = put_heads(builder, step, "query");
  const Axis keys = put_heads(builder, step, "key");
  put_heads(builder, step, "value");
  const Shape query = builder.find(p + ".query")->shape;  // copies: the trace grows
  const Shape value = builder.find(p + ".value")->shape;
  const std::vector<Axis> axes = {Axis::batch, Axis::head, queries, keys};
  const std::string scores = p + ".scores";
  TracedTensor compared = scores_tensor(builder, step);
  compared.shape = {query[0], query[1], query[2], value[2]};
  compared.axes = axes;
  builder.put(std::move(compared),
              std::make_shared<StageValues>(step.report.inside, ScoreStage::raw, query[2]));
  put_weights(builder, {.step = step,
                        .place = p,
                        .scores = builder.full_name(scores),
                        .value = builder.full_name(p + ".value"),
                        .scale_formula = "attention.scale",
                        .axes = axes,
                        .value_width = value[3]});
  put_merge(builder, step, name, queries);
  builder.number_heads({});
}

KeyValueReaders::KeyValueReaders(const Tensor& kv_head_of) : kv_head_of_(kv_head_of) {}

KeyValueReaders::KeyValueReaders(const Trace& trace, const TracedTensor& made) {
  const std::string* name = made.operand("kv_head_of");
  if (name != nullptr) kv_head_of_ = trace.values(*name);
}

int64_t KeyValueReaders::kv_head(int64_t head, int64_t heads, int64_t kv_heads) const {
  return kv_head_of_.defined() ? kv_head_of_.data<int64_t>()[head] : head / (heads / kv_heads);
}

Tensor split_heads(const Tensor& x, int64_t heads) {
  if (x.rank() == 4) return x.contiguous();
  const int64_t width = x.size(2) / heads;
  return x.contiguous()
      .reshaped({x.size(0), x.size(1), heads, width})
      .permuted({0, 2, 1, 3})
      .contiguous();
}

void put_weights(TraceBuilder& builder, const AttentionRun& run) {
  const RecordedStep& step = run.step;
  const std::string& p = run.place;
  const Shape shape = builder.trace().at(run.scores).shape;
  const auto stage = [&](ScoreStage of) {
    return std::make_shared<StageValues>(step.report.inside, of, shape[2]);
  };
  builder.put({.name = p + ".scaled_scores",
               .operation = "scale",
               .operands = {{"input", run.scores}},
               .attributes = {{"factor", step.number("scale")}},
               .shape = shape,
               .axes = run.axes,
               .formula = run.scale_formula,
               .row = kScoresRow,
               .shows_mask = step.number("causal") != 0},
              stage(ScoreStage::scaled));
  std::string last = builder.full_name(p + ".scaled_scores");
  if (step.number("softcap") > 0) {
    builder.put({.name = p + ".capped_scores",
                 .operation = "cap",
                 .operands = {{"input", last}},
                 .attributes = {{"cap", step.number("softcap")}},
                 .shape = shape,
                 .axes = run.axes,
                 .formula = "attention.cap",
                 .row = kScoresRow},
                stage(ScoreStage::capped));
    last = builder.full_name(p + ".capped_scores");
  }
  put_position_bias(builder, run, shape);
  TracedTensor masked = mask_tensor(builder, run, last);
  masked.shape = shape;
  masked.shows_mask = step.number("causal") != 0;
  builder.put(std::move(masked), stage(ScoreStage::masked));
  std::vector<TracedTensor> rows =
      softmax_tensors({.input = builder.full_name(p + ".masked_scores"),
                       .maximum = builder.full_name(p + ".row_max"),
                       .sum = builder.full_name(p + ".row_sum"),
                       .name = p + ".weights",
                       .formula = "attention",
                       .row = kWeightsRow},
                      run.axes);
  rows[0].name = p + ".row_max";
  rows[1].name = p + ".row_sum";
  for (TracedTensor& one : rows) one.shows_mask = step.number("causal") != 0;
  builder.put(rows[0], builder.tensor(step.output("row_max")));
  builder.put(rows[1], builder.tensor(step.output("row_sum")));
  rows[2].shape = shape;
  rows[2].is_attention = true;
  builder.put(rows[2], stage(ScoreStage::weights));
  std::vector<Axis> axes = run.axes;
  axes.push_back(Axis::column);
  TracedTensor weighted{
      .name = p + ".weighted_values",
      .operation = "weigh",
      .operands = {{"weights", builder.full_name(p + ".weights")}, {"value", run.value}},
      .shape = {shape[0], shape[1], shape[2], shape[3], run.value_width},
      .axes = axes,
      .formula = "attention.weigh",
      .row = kValuesRow};
  add_readers(builder, p, weighted);
  const Recording::Input* readers = step.input("kv_head_of");
  builder.put(std::move(weighted),
              std::make_shared<WeightedValues>(
                  builder.full_name(p + ".weights"), run.value,
                  KeyValueReaders(readers == nullptr ? Tensor() : readers->value.data())));
}

void add_attention(OperationTable& table) {
  table.add(Expansion{.operation = "attention", .put = put_attention});
  table.formulas.insert({"attention.split",
                         "attention.scores",
                         "attention.scale",
                         "attention.cap",
                         "attention.mask",
                         "attention.mask.window",
                         "attention.mask.given",
                         "attention.mask.biased",
                         "attention.weigh",
                         "attention.sum",
                         "attention.gates",
                         "attention.merge",
                         "attention.merge.gates",
                         "attention.keep_mask",
                         "attention.forbid_mask",
                         "attention.bias",
                         "attention.valid_lens",
                         "attention.position_bias.linear",
                         "attention.position_bias.buckets",
                         "attention.kv_head_of",
                         "attention.position_slopes",
                         "attention.position_buckets"});
}

}  // namespace headlight::explain
