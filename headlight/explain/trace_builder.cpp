// Names for values, and the walk over what was recorded.
#include "headlight/explain/trace_builder.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace headlight::explain {
namespace {

using autograd::Recording;
using tensor::Tensor;

// "encoder.0.self.scores" without its layer: "encoder.self.scores".
std::string without_layer(const std::string& name) {
  const size_t dot = name.find('.');
  if (dot == std::string::npos) return name;
  size_t end = dot + 1;
  while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
  return end == dot + 1 ? name : name.substr(0, dot) + name.substr(end);
}

// The number of "encoder.3.self.query"; -1 for what lies outside layers.
int64_t layer_of(std::string_view place) {
  const size_t dot = place.find('.');
  if (dot == std::string_view::npos) return -1;
  int64_t layer = -1;
  std::from_chars(place.data() + dot + 1, place.data() + place.size(), layer);
  return layer;
}

}  // namespace

int64_t begin_along(const Recording::Source& source, int axis) {
  return source.is_whole() ? 0 : source.begin[static_cast<size_t>(axis)];
}

TraceBuilder::TraceBuilder(Trace& trace, const Recording& recording, std::string variant)
    : trace_(trace), recording_(recording), variant_(std::move(variant)) {}

std::string TraceBuilder::full_name(const std::string& name) const {
  return variant_.empty() ? name : "variant." + variant_ + "." + name;
}

const TracedTensor* TraceBuilder::find(const std::string& name) const {
  const TracedTensor* own = trace_.find(full_name(name));
  return own != nullptr ? own : trace_.find(name);
}

void TraceBuilder::build() {
  for (size_t i = 0; i < recording_.steps().size(); ++i) {
    const RecordedStep& step = recording_.steps()[i];
    if (step.is_name()) continue;
    for (const Recording::Output& output : step.outputs) makers_.emplace(output.value, i);
  }
  for (size_t i = 0; i < recording_.steps().size(); ++i) put_step(i);
}

// The next name that a value is given from step `after` on; empty: none.
std::string TraceBuilder::given_name(int64_t value, size_t after) const {
  for (size_t i = after; i < recording_.steps().size(); ++i) {
    const RecordedStep& step = recording_.steps()[i];
    if (step.is_name() && step.outputs.front().value == value) return step.name;
  }
  return "";
}

void TraceBuilder::put_step(size_t number) {
  current_ = number;
  const RecordedStep& step = recording_.steps()[number];
  if (step.is_name()) return put_name(step);
  const auto expansion = operation_table().expansions.find(step.report.operation);
  if (expansion == operation_table().expansions.end()) return;
  const std::string name = given_name(step.output("output"), number);
  // What has neither a name nor a place is put when somebody uses it.
  if (name.empty() && step.report.place.empty()) return;
  expansion->second.put(*this, step, name);
}

void TraceBuilder::put_name(const RecordedStep& step) {
  const int64_t value = step.outputs.front().value;
  const auto known = latest_.find(value);
  if (known != latest_.end()) {
    // It may have been put under this name already, by the norm that reads it.
    if (!put_.contains(full_name(step.name))) put_copy(step.name, known->second, value);
    return;
  }
  if (step.named.is_whole()) return put_given(step.name, value);
  const Tensor& part = tensor(value);
  const auto maker = makers_.find(step.named.value);
  if (maker != makers_.end() && !latest_.contains(step.named.value)) {
    const RecordedStep& made_by = recording_.steps()[maker->second];
    const Expansion& expansion =
        operation_table().expansions.find(made_by.report.operation)->second;
    if (expansion.put_part != nullptr) {
      expansion.put_part(*this, made_by, step.name, step.named, part.size(-1));
      latest_[value] = full_name(step.name);
      return;
    }
  }
  const Input whole{"input", {step.named.value}, recording_.value(step.named.value)};
  const std::string input = name_of(whole, step.name);
  put({.name = step.name,
       .operation = "cut",
       .operands = {{"input", input}},
       .attributes = {{"begin", begin_along(step.named, part.rank() - 1)},
                      {"width", part.size(-1)}},
       .axes = axes_of(input, step.name, part.rank()),
       .formula = "attention.cut"},
      part, value);
}

void TraceBuilder::put_given(const std::string& name, int64_t value) {
  const Tensor& numbers = tensor(value);
  const bool is_ids = numbers.dtype() == tensor::DType::i64;
  std::vector<Axis> axes = {Axis::batch, tokens_of(name), Axis::column};
  axes.resize(static_cast<size_t>(numbers.rank()), Axis::column);
  if (is_ids && numbers.rank() == 2) {
    const Tensor& source = trace_.input().batch.source_ids;
    const bool is_source = source.defined() && source.memory() == numbers.memory();
    axes = {Axis::batch, is_source ? Axis::source_token : Axis::token};
  }
  put({.name = name, .axes = axes, .formula = is_ids ? "ids" : "residual.pass"}, numbers, value);
}

Axis TraceBuilder::tokens_of(const std::string& name) const {
  const TracedTensor* ids = trace_.find(name.substr(0, name.find('.')) + ".ids");
  return ids != nullptr && ids->axes.size() > 1 ? ids->axes[1] : Axis::token;
}

std::vector<Axis> TraceBuilder::axes_of(const std::string& operand, const std::string& name,
                                        int rank) const {
  if (const TracedTensor* known = operand.empty() ? nullptr : trace_.find(operand)) {
    if (known->shape.rank() == rank && !known->is_parameter()) return known->axes;
  }
  std::vector<Axis> axes = {Axis::batch, tokens_of(name)};
  axes.resize(static_cast<size_t>(rank), Axis::column);
  return axes;
}

const RecordedStep* TraceBuilder::unnamed_maker(const Source& source) const {
  if (!source.is_whole() || latest_.contains(source.value)) return nullptr;
  const auto maker = makers_.find(source.value);
  return maker == makers_.end() ? nullptr : &recording_.steps()[maker->second];
}

std::string TraceBuilder::name_of(const Input& input, const std::string& used_for) {
  if (input.source.value == Recording::kUnknown) return "";
  const auto known = latest_.find(input.source.value);
  if (known != latest_.end()) return known->second;
  const std::string name = used_for + "." + input.role;
  if (const RecordedStep* maker = unnamed_maker(input.source)) {
    const auto expansion = operation_table().expansions.find(maker->report.operation);
    if (expansion != operation_table().expansions.end()) {
      expansion->second.put(*this, *maker, name);
      if (latest_.contains(input.source.value)) return latest_[input.source.value];
    }
  }
  put_given(name, input.source.value);
  return latest_[input.source.value];
}

int64_t TraceBuilder::same_sum(const std::vector<int64_t>& operands, int64_t value) {
  if (std::find(operands.begin(), operands.end(), Recording::kUnknown) != operands.end()) {
    return Recording::kUnknown;
  }
  const auto [at, is_new] = sums_.emplace(operands, value);
  return is_new || at->second == value ? Recording::kUnknown : at->second;
}

TracedTensor TraceBuilder::completed(TracedTensor tensor) const {
  tensor.text = without_layer(tensor.name);
  tensor.name = full_name(tensor.name);
  tensor.variant = variant_;
  const bool complete =
      std::all_of(tensor.operands.begin(), tensor.operands.end(),
                  [this](const Operand& operand) { return trace_.knows(operand.name); });
  if (!complete) {
    tensor.operation = kGiven;
    tensor.operands.clear();
    tensor.attributes.clear();
  }
  return tensor;
}

// Where heads are pruned, an axis of all of them has their numbers.
void TraceBuilder::number_heads_of(TracedTensor& tensor) const {
  const int axis = tensor.head_axis();
  if (axis < 0 || !tensor.head_numbers.empty()) return;
  if (tensor.shape[axis] != std::ssize(heads_.numbers)) return;
  tensor.head_numbers = heads_.numbers;
  tensor.original_heads = heads_.original;
}

void TraceBuilder::put(TracedTensor tensor, const Tensor& values, int64_t value) {
  TracedTensor made = completed(std::move(tensor));
  made.shape = values.shape();
  number_heads_of(made);
  if (value != Recording::kUnknown) {
    latest_[value] = made.name;
    values_[made.name] = value;
  }
  put_.insert(made.name);
  if (names_ != nullptr) names_->push_back(made.name);
  if (trace_.find(made.name) != nullptr) return;
  trace_.add(std::move(made), values.contiguous());
}

void TraceBuilder::put(TracedTensor tensor, std::shared_ptr<const LateValues> values) {
  TracedTensor made = completed(std::move(tensor));
  number_heads_of(made);
  put_.insert(made.name);
  if (names_ != nullptr) names_->push_back(made.name);
  if (trace_.find(made.name) == nullptr) trace_.add(std::move(made), std::move(values));
}

void TraceBuilder::put_copy(const std::string& name, const std::string& original, int64_t value) {
  const Tensor& numbers = tensor(value);
  const TracedTensor* source = trace_.find(original);
  const bool reshaped = source != nullptr && source->shape != numbers.shape();
  put({.name = name,
       .operation = reshaped ? "reshape" : "copy",
       .operands = {{"input", original}},
       .axes = axes_of(original, name, numbers.rank()),
       .formula = reshaped ? "reshape" : "residual.pass"},
      numbers, value);
}

namespace {

// Asks at each operation whether the run is to go on.
class AskingObserver : public autograd::Observer {
 public:
  AskingObserver(Recording& recording, const std::function<void()>& go_on)
      : recording_(recording), go_on_(go_on) {}

  bool wants(std::string_view place) override { return recording_.wants(place); }
  void see(std::string_view place, const Tensor& values) override { recording_.see(place, values); }
  bool listens() const override { return recording_.listens(); }
  void report(const autograd::Report& report) override {
    if (go_on_) go_on_();
    recording_.report(report);
  }
  void name(std::string_view place, const autograd::Value& value) override {
    recording_.name(place, value);
  }
  autograd::RowRange rows(std::string_view place, int64_t queries) override {
    return recording_.rows(place, queries);
  }

 private:
  Recording& recording_;
  const std::function<void()>& go_on_;
};

}  // namespace

Trace trace_run(base::ThreadPool& threads, const nn::Parameters& parameters,
                const std::function<void(autograd::Context& context)>& run, const Input& input,
                const TraceOptions& options) {
  std::function<bool(std::string_view)> keeps;
  if (!options.layers.empty()) {
    keeps = [layers = options.layers](std::string_view place) {
      const int64_t layer = layer_of(place);
      return layer < 0 || layers.contains(layer);
    };
  }
  Trace trace(threads, input, parameters);
  Recording& recording = trace.record(std::move(keeps));
  TraceBuilder builder(trace, recording);
  for (const nn::ParameterHandle& parameter : parameters) {
    if (parameter->defined()) builder.know(recording.know(parameter->value()), parameter->name());
  }
  tensor::Arena arena;
  AskingObserver observer(recording, options.go_on);
  autograd::Context context{.threads = threads, .arena = arena, .observer = &observer};
  run(context);
  builder.build();
  return trace;
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
  const auto run = [&](autograd::Context& context) {
    const autograd::Value output = model.forward(context, input.batch);
    model.run_head(context, output, input.batch);
  };
  Trace trace = trace_run(threads, model.parameters(), run, input, options);
  for (const nn::MultiHeadAttention* attention : models::attentions_of(model)) {
    if (attention->heads().count() > 0) continue;
    trace.set_heads_lost(attention->options().place, attention->heads().original);
  }
  return trace;
}

}  // namespace headlight::explain
