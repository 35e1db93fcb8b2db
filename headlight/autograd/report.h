// Report: what an operation says of itself while somebody listens. What is shown of a run is read
// from these reports; nobody has to know a second time how a model computes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headlight/autograd/observer.h"

namespace headlight::autograd {

using AttributeValue = std::variant<bool, int64_t, double, std::string>;

struct Attribute {
  std::string name;
  AttributeValue value;
};

// What goes into an operation or comes out of it. Tensors that have no gradient (ids, masks, row
// statistics) are leaves.
struct ReportedValue {
  std::string role;  // "input", "weight", ...
  Value value;
};

// Numbers inside an operation that are too many to keep: they are computed when they are asked for,
// to the bits of the run. Keeps what it needs alive; safe to use from several threads.
class Inside {
 public:
  virtual ~Inside() = default;
  // Of all heads (`head` < 0) or of one, of these query rows: (B, H, rows, S) or (B, rows, S).
  virtual tensor::Tensor stage(const kernels::Execution& execution, kernels::ScoreStage stage,
                               int64_t head, const RowRange& rows) const = 0;
};

struct Report {
  std::string operation;                   // the name of its function: "linear"
  std::string place = {};                  // "decoder.0.self", of operations that know theirs
  std::vector<ReportedValue> inputs = {};  // those that are there
  std::vector<ReportedValue> outputs = {};
  std::vector<Attribute> attributes = {};
  std::shared_ptr<const Inside> inside = {};  // of those that have one
};

// Calls make() and passes its Report on, when the Context's observer listens.
template <class Make>
void report(const Context& context, const Make& make) {
  if (listening(context)) context.observer->report(make());
}

// Adds an input that is there.
inline void add_input(Report& report, const char* role, const Value& value) {
  if (value.defined()) report.inputs.push_back({role, value});
}
inline void add_input(Report& report, const char* role, const tensor::Tensor& tensor) {
  if (tensor.defined()) report.inputs.push_back({role, Value::leaf(tensor)});
}

}  // namespace headlight::autograd
