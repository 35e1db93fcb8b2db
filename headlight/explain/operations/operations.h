// What the files of operations/ need of each other and of explain. Inside explain only.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "headlight/explain/operation.h"
#include "headlight/explain/trace_builder.h"
#include "headlight/explain/variant_builder.h"

namespace headlight::explain {

// "encoder.0.self" of "encoder.0.self.scores".
inline std::string place_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

inline std::vector<Axis> without_last(std::vector<Axis> axes) {
  axes.pop_back();
  return axes;
}

// The rows in which the tensors of one attention are shown: projections; queries, keys and values;
// scores; weights; what they mix; the heads put together. 0: no row of its own, first.
enum AttentionRow {
  kProjectionRow = 1,
  kHeadsRow,
  kScoresRow,
  kWeightsRow,
  kValuesRow,
  kOutputRow
};
// The row of a product or copy, by its name.
inline int row_of(const std::string& name) {
  if (name.find(".projected") != std::string::npos) return kProjectionRow;
  return name.ends_with(".self.output") || name.ends_with(".cross.output") ? kOutputRow : 0;
}

// A rule's combination for the activation that the attribute `function` names.
CombinationRule activation_combination();
// dx = dy f'(x) for the activation that the attribute `function` names; x is the operand.
tensor::Tensor activation_gradient(const GradientFlow& flow);

// Puts the sum of a step's two inputs (of an add, or of a norm with a residual).
void put_sum(TraceBuilder& builder, const RecordedStep& step, const std::string& name,
             int64_t value);

// Maximum and sum of the rows of `input` and what softmax makes of it, under the formulas
// "<formula>.row_max", ...; in this order.
struct SoftmaxNames {
  std::string input;
  std::string maximum;
  std::string sum;
  std::string name;
  std::string formula;
  int row = 0;
};
std::vector<TracedTensor> softmax_tensors(const SoftmaxNames& names, const std::vector<Axis>& axes);

}  // namespace headlight::explain
