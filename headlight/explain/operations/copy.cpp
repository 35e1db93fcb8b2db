// What passes numbers on as they are: inputs, parameters, copies, other shapes, cut columns.
#include "headlight/explain/operations/operations.h"

namespace headlight::explain {
namespace {

using tensor::Tensor;

Tensor pass_back(const GradientFlow& flow) { return flow.gradient.reshaped(flow.operand.shape); }

// The columns that were cut out; the rest has no part in it.
Tensor cut_gradient(const GradientFlow& flow) {
  Tensor result = Tensor::zeros(tensor::DType::f32, flow.operand.shape);
  const int64_t width = flow.made.shape[-1];
  const int64_t whole = flow.operand.shape[-1];
  const auto begin = static_cast<int64_t>(flow.made.number("begin"));
  for (int64_t row = 0; row < flow.gradient.elements() / width; ++row) {
    std::copy_n(flow.gradient.data<float>() + row * width, width,
                result.mutable_data<float>() + row * whole + begin);
  }
  return result;
}

}  // namespace

void add_copy(OperationTable& table) {
  table.add({.name = std::string(kGiven),
             .does = "an input of what is shown: ids, masks, or a tensor of a part that was left "
                     "out"});
  table.add({.name = std::string(kParameter), .does = "learned numbers"});
  table.add({.name = "copy",
             .does = "input",
             .rule = {.terms = {{.key = "value", .factors = {{"input", {same_index()}}}}},
                      .combinations = {{.key = "sum"}}},
             .gradient = pass_back});
  table.add({.name = "reshape",
             .does = "input: the same numbers in the same order in another shape",
             .rule = {.terms = {{.key = "value", .factors = {{"input", {same_offset()}}}}},
                      .combinations = {{.key = "sum"}}},
             .gradient = pass_back});
  table.add(
      {.name = "cut",
       .does = "input: columns [`begin`, + `width`) of the last axis",
       .rule = {.terms = {{.key = "value",
                           .factors = {{"input", {same_row(), at(-1) + attribute("begin")}}}}},
                .combinations = {{.key = "sum"}}},
       .gradient = cut_gradient});
  table.formulas.insert({"ids", "parameter", "residual.pass", "reshape", "attention.cut"});
}

}  // namespace headlight::explain
