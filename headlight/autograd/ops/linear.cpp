// linear: one product forward, two backward, with bias and activation in the product's epilogue.
#include "headlight/autograd/ops/linear.h"

#include "headlight/autograd/checks.h"
#include "headlight/autograd/report.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {
namespace {

using kernels::Activation;
using kernels::ActivationNeeds;
using tensor::DType;
using tensor::Tensor;

struct LinearNode : Node {
  Tensor x;
  Tensor weight;
  Tensor kept;  // what the activation's backward needs: the numbers before it or after it
  WeightLayout layout = WeightLayout::out_in;
  Activation activation = Activation::none;
  std::shared_ptr<Gradient> d_x, d_weight, d_bias;

  // z = x W + b, y = f(z):  dz = dy * f'(z);  dx += dz W^T;  dW += x^T dz;  db += sum of dz's rows.
  void backward(Context& context) override {
    const Tensor dz = hidden_gradient(context);
    if (d_x) add_input_gradient(context, dz);
    if (d_weight) add_weight_gradient(context, dz);
    if (d_bias) {
      kernels::add_column_sums(context.execution(), dz.matrix(),
                               d_bias->sum(context).mutable_data<float>());
    }
  }

  Tensor hidden_gradient(Context& context) const {
    const Tensor dy = output_gradient();
    if (backward_needs(activation) == ActivationNeeds::nothing) return dy;
    Tensor dz = workspace(context);
    kernels::activation_backward(context.execution(), activation, kept.data<float>(),
                                 dy.data<float>(), dz.mutable_data<float>(), dy.elements());
    return dz;
  }

  void add_input_gradient(Context& context, const Tensor& dz) const {
    Gradient::Target target = d_x->target(context);
    const kernels::Epilogue epilogue{.accumulate = target.accumulate};
    kernels::matmul(context.execution(), dz.matrix(), forward_operand(weight, layout).transposed(),
                    target.tensor.mutable_matrix(), epilogue);
  }

  void add_weight_gradient(Context& context, const Tensor& dz) const {
    Gradient::Target target = d_weight->target(context);
    const kernels::Epilogue epilogue{.accumulate = target.accumulate};
    const bool out_in = layout == WeightLayout::out_in;
    const tensor::ConstMatrixView left = out_in ? dz.matrix() : x.matrix();
    const tensor::ConstMatrixView right = out_in ? x.matrix() : dz.matrix();
    kernels::matmul(context.execution(), left.transposed(), right, target.tensor.mutable_matrix(),
                    epilogue);
  }
};

void check_packed(const kernels::PackedMatrix& packed, tensor::ConstMatrixView operand) {
  if (!packed.defined() || (packed.rows() == operand.rows && packed.cols() == operand.cols)) return;
  refuse("linear", "packed",
         "is " + tensor::Shape{packed.rows(), packed.cols()}.text() + ", the weight needs " +
             tensor::Shape{operand.rows, operand.cols}.text());
}

void check_linear(const Value& x, const Value& weight, const Value& bias,
                  const LinearOptions& options) {
  check_rows("linear", "input", x.data());
  check_rows("linear", "weight", weight.data());
  if (weight.rank() != 2) {
    refuse("linear", "weight", "shape is " + weight.shape().text() + ", rank 2 is needed");
  }
  const tensor::ConstMatrixView operand = forward_operand(weight.data(), options.layout);
  if (x.size(-1) != operand.rows) {
    refuse("linear", "weight",
           "shape is " + weight.shape().text() + " for " + std::to_string(operand.rows) +
               " inputs, input rows have " + std::to_string(x.size(-1)));
  }
  if (bias.defined()) {
    check_vector("linear", "bias", bias.data(), operand.cols,
                 "the weight has " + std::to_string(operand.cols) + " outputs");
  }
  check_packed(options.packed, operand);
}

// The input, the weight and the bias, in this order.
Report linear_report(const std::array<Value, 3>& inputs, const LinearOptions& options,
                     const Tensor& hidden, const Value& result) {
  Report made{
      .operation = "linear",
      .place = std::string(options.hidden_place),
      .inputs = {{"input", inputs[0]}, {"weight", inputs[1]}},
      .outputs = {{"output", result}},
      .attributes = {{"layout", options.layout == WeightLayout::out_in ? "out_in" : "in_out"},
                     {"activation", std::string(name_of(options.activation))}}};
  add_input(made, "bias", inputs[2]);
  if (options.activation != Activation::none) {
    made.outputs.push_back({"hidden", Value::leaf(hidden)});
  }
  return made;
}

}  // namespace

tensor::ConstMatrixView forward_operand(const Tensor& weight, WeightLayout layout) {
  const tensor::ConstMatrixView matrix = weight.matrix();
  return layout == WeightLayout::in_out ? matrix : matrix.transposed();
}

Value packed_linear(Context& context, const Value& x, const kernels::PackedMatrix& weight,
                    const Value& bias, Activation activation) {
  check_rows("linear", "input", x.data());
  if (x.size(-1) != weight.rows()) {
    refuse("linear", "packed",
           "takes " + std::to_string(weight.rows()) + " inputs, input rows have " +
               std::to_string(x.size(-1)));
  }
  if (bias.defined()) {
    check_vector("linear", "bias", bias.data(), weight.cols(),
                 "the weight has " + std::to_string(weight.cols()) + " outputs");
  }
  Tensor y = Tensor::uninitialized(context.arena, DType::f32, x.shape().with(-1, weight.cols()));
  const kernels::Epilogue epilogue{.bias = bias.defined() ? bias.data().data<float>() : nullptr,
                                   .activation = activation};
  kernels::matmul(context.execution(), x.data().matrix(), weight, y.mutable_matrix(), epilogue);
  return Value::leaf(y);
}

Value linear(Context& context, const Value& x, const Value& weight, const Value& bias,
             const LinearOptions& options) {
  check_linear(x, weight, bias, options);
  const tensor::ConstMatrixView operand = forward_operand(weight.data(), options.layout);
  const tensor::Shape shape = x.shape().with(-1, operand.cols);
  Tensor y = Tensor::uninitialized(context.arena, DType::f32, shape);

  const bool record = recording(context, {&x, &weight, &bias});
  const bool observed = context.observer != nullptr && !options.hidden_place.empty() &&
                        context.observer->wants(options.hidden_place);
  const bool reported = listening(context) && options.activation != Activation::none;
  const Activation activation = options.activation;
  const ActivationNeeds needs = record ? backward_needs(activation) : ActivationNeeds::nothing;
  Tensor hidden;
  if (observed || reported || needs == ActivationNeeds::input) {
    hidden = Tensor::uninitialized(context.arena, DType::f32, shape);
  }

  const kernels::Epilogue epilogue{
      .bias = bias.defined() ? bias.data().data<float>() : nullptr,
      .before_activation = hidden.defined() ? hidden.mutable_data<float>() : nullptr,
      .activation = activation};
  if (options.packed.defined()) {
    kernels::matmul(context.execution(), x.data().matrix(), options.packed, y.mutable_matrix(),
                    epilogue);
  } else {
    kernels::matmul(context.execution(), x.data().matrix(), operand, y.mutable_matrix(), epilogue);
  }
  if (observed) context.observer->see(options.hidden_place, hidden);
  Value result = Value::leaf(y);
  if (record) {
    auto node = std::make_unique<LinearNode>();
    if (weight.requires_grad()) node->x = x.data();
    node->weight = weight.data();
    if (needs == ActivationNeeds::input) node->kept = hidden;
    if (needs == ActivationNeeds::output) node->kept = y;
    node->layout = options.layout;
    node->activation = activation;
    node->d_x = x.gradient();
    node->d_weight = weight.gradient();
    node->d_bias = bias.gradient();
    result = context.tape->record(std::move(node), y);
  }
  report(context, [&] { return linear_report({x, weight, bias}, options, hidden, result); });
  return result;
}

}  // namespace headlight::autograd
