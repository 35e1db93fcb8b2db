// Two runs beside each other: the first step at which they differ, and by how much.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headlight/explain/trace.h"

namespace headlight::explain {

// Where two tensors of one name and shape are farthest apart.
struct TensorDifference {
  std::string name;
  double largest = 0;   // |a - b|; infinite where only one of them is a number
  double relative = 0;  // over the largest finite |a| of the tensor
  std::string at = {};  // the cell: "encoder.0.self.head.2.scores[3,5]"
  double a = 0;
  double b = 0;
};
struct OtherShape {
  std::string name;
  std::vector<int64_t> a, b;
};

struct Comparison {
  std::vector<TensorDifference> tensors = {};  // in the order in which `a` computes them
  std::vector<OtherShape> other_shapes = {};
  std::vector<std::string> only_a = {};
  std::vector<std::string> only_b = {};

  int64_t equal_count() const;
  // The first that differs by more.
  const TensorDifference* first_beyond(double tolerance) const;
};

// Tensors of the runs, not their parameters and variants. Weighted values are left out. `go_on` is
// called before each tensor; what it throws ends the comparison.
Comparison compare_traces(const Trace& a, const Trace& b, const std::function<void()>& go_on = {});
// With a file of another program, whose tensors have public names; they may lack the batch's axis.
Comparison compare_with_file(const Trace& a, const io::Safetensors& file,
                             const std::function<void()>& go_on = {});

}  // namespace headlight::explain
