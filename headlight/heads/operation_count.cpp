// Sums over the reports of a run.
#include "headlight/heads/operation_count.h"

#include <algorithm>
#include <vector>

namespace headlight::heads {
namespace {

using autograd::Report;
using tensor::Tensor;

// The memory of some parameters, to know by a weight whose it is.
class ParameterMemory {
 public:
  void add(const nn::Parameters& parameters) {
    for (const nn::ParameterHandle& parameter : parameters) {
      const Tensor& numbers = parameter->value().data();
      if (numbers.elements() == 0) continue;
      ranges_.emplace_back(numbers.data<float>(), numbers.data<float>() + numbers.elements());
    }
  }
  bool holds(const Tensor& numbers) const {
    const float* at = numbers.data<float>();
    return std::ranges::any_of(ranges_, [&](const auto& range) {
      return std::greater_equal<const float*>()(at, range.first) &&
             std::less<const float*>()(at, range.second);
    });
  }

 private:
  std::vector<std::pair<const float*, const float*>> ranges_;
};

const Tensor* input_of(const Report& report, std::string_view role) {
  for (const autograd::ReportedValue& input : report.inputs) {
    if (input.role == role) return &input.value.data();
  }
  return nullptr;
}

template <class T>
T attribute_of(const Report& report, std::string_view name) {
  for (const autograd::Attribute& attribute : report.attributes) {
    if (attribute.name == name) return std::get<T>(attribute.value);
  }
  return {};
}

// Keys that the queries of one sequence see, all queries together.
int64_t seen_keys(const Report& report, int64_t queries, int64_t keys) {
  const bool causal = attribute_of<bool>(report, "causal");
  const int64_t window = attribute_of<int64_t>(report, "window");
  int64_t seen = 0;
  for (int64_t i = 0; i < queries; ++i) {
    const int64_t first = window > 0 ? std::max<int64_t>(0, i - window + 1) : 0;
    int64_t end = causal ? std::min(keys, i + 1) : keys;
    if (window > 0) end = std::min(end, i + window);
    seen += std::max<int64_t>(0, end - first);
  }
  return seen;
}

class OperationCounter : public autograd::Observer {
 public:
  explicit OperationCounter(models::Model& model) {
    for (const nn::MultiHeadAttention* attention : model.attentions())
      attention_.add(attention->parameters());
  }

  bool wants(std::string_view /*place*/) override { return false; }
  void see(std::string_view /*place*/, const Tensor& /*values*/) override {}
  bool listens() const override { return true; }
  void report(const Report& report) override {
    if (report.operation == "linear") add_linear(report);
    if (report.operation == "attention") add_attention(report);
  }
  void name(std::string_view /*place*/, const autograd::Value& /*value*/) override {}

  OperationCount count;

 private:
  void add_linear(const Report& report) {
    const Tensor& input = *input_of(report, "input");
    const Tensor& weight = *input_of(report, "weight");
    if (weight.elements() == 0) return;
    const auto rows = static_cast<double>(input.elements() / input.size(-1));
    const double operations = 2 * rows * static_cast<double>(weight.elements());
    (attention_.holds(weight) ? count.attention : count.rest) += operations;
  }

  // Rows of query and value are (B, T, H*D) and (B, S, Hkv*E).
  void add_attention(const Report& report) {
    const Tensor& query = *input_of(report, "query");
    const Tensor& value = *input_of(report, "value");
    const auto heads = static_cast<double>(attribute_of<int64_t>(report, "heads"));
    if (heads == 0) return;  // of a layer that has lost all
    const auto kv_heads = static_cast<double>(attribute_of<int64_t>(report, "kv_heads"));
    const double columns = static_cast<double>(query.size(-1)) +
                           static_cast<double>(value.size(-1)) / kv_heads * heads;
    const auto seen = static_cast<double>(seen_keys(report, query.size(-2), value.size(-2)));
    count.attention += 2 * static_cast<double>(query.size(0)) * seen * columns;
  }

  ParameterMemory attention_;
};

}  // namespace

OperationCount count_operations(base::ThreadPool& threads, models::Model& model,
                                const models::Batch& batch) {
  OperationCounter counter(model);
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena, .observer = &counter};
  const autograd::Value output = model.forward(context, batch);
  model.run_head(context, output, batch);
  return counter.count;
}

}  // namespace headlight::heads
