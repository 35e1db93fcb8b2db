// What the norms share: checks, statistics of the rows, observation, the gradient of normalised
// rows and the nodes around it. Inside autograd only.
#pragma once

#include <string_view>

#include "headlight/autograd/ops/layer_norm.h"
#include "headlight/autograd/ops/rms_norm.h"
#include "headlight/autograd/report.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {

void check_normalization(std::string_view operation, const Value& x, const Value& weight,
                         const Value& bias, const LayerNormOptions& options);
void check_normalization(std::string_view operation, const Value& x, const Value& weight,
                         const RmsNormOptions& options);
// What a norm of a residual sum demands besides.
void check_residual(std::string_view operation, const Value& x, const Value& residual,
                    int64_t heads);

// Rows, or the heads of rows, that are normalised one by one; what both kinds of norm need to go
// back.
struct NormalizedRows {
  tensor::Tensor rows;  // the input, or the sum with the residual
  tensor::Tensor weight;
  int64_t heads = 1;
  float epsilon = 0;
  std::shared_ptr<Gradient> d_weight;

  // A head of tensors like `rows`; not defined where they are not.
  tensor::Tensor head_of(const tensor::Tensor& x, int64_t head) const;
  // Room for one number for each row of each head, head after head, and those of one head.
  tensor::Tensor statistics(Context& context) const;
  tensor::Tensor head_of_statistics(const tensor::Tensor& statistics, int64_t head) const;
  // As they are shown: (...) or, with several heads, (..., H).
  tensor::Tensor shown(Context& context, const tensor::Tensor& statistics) const;
  // One over each: what the kernels keep is the inverse.
  tensor::Tensor shown_inverse(Context& context, const tensor::Tensor& inverse) const;
};

// Of a layer norm.
struct Normalization : NormalizedRows {
  tensor::Tensor bias;  // may be absent
  tensor::Tensor mean;
  tensor::Tensor inverse_deviation;
  std::shared_ptr<Gradient> d_bias;

  Normalization() = default;
  Normalization(Context& context, tensor::Tensor rows, const Value& weight, const Value& bias,
                const LayerNormOptions& options);

  const float* bias_data() const { return bias.defined() ? bias.data<float>() : nullptr; }
  kernels::LayerNormOutputs outputs(tensor::Tensor& y, int64_t head = 0);
  void run(Context& context, tensor::Tensor& y);
  // With n = (rows - mean) / deviation, y = n * weight + bias, g = dy * weight:
  //   drows += (g - mean(g) - n * mean(g * n)) / deviation
  //   dweight += sum of dy * n;  dbias += sum of dy
  // Without d_rows, only the last two.
  void add_gradients(Context& context, const tensor::Tensor& dy, tensor::Tensor d_rows) const;
  void observe_at(Context& context, std::string_view place, const tensor::Tensor& y) const;
  // Adds its statistics, the rows before the weight, and its attributes.
  void add_to(Context& context, Report& report) const;

 private:
  tensor::Tensor normalized(Context& context) const;
};

// Of a root-mean-square norm.
struct RmsNormalization : NormalizedRows {
  float weight_offset = 0;
  tensor::Tensor inverse_root;

  RmsNormalization() = default;
  RmsNormalization(Context& context, tensor::Tensor rows, const Value& weight,
                   const RmsNormOptions& options);

  kernels::RmsNormWeight weight_data() const { return {weight.data<float>(), weight_offset}; }
  kernels::RmsNormOutputs outputs(tensor::Tensor& y, int64_t head = 0);
  void run(Context& context, tensor::Tensor& y);
  // With n = rows / root, y = n * (offset + weight), g = dy * (offset + weight):
  //   drows += (g - n * mean(g * n)) / root;  dweight += sum of dy * n
  void add_gradients(Context& context, const tensor::Tensor& dy, tensor::Tensor d_rows) const;
  void observe_at(Context& context, std::string_view place, const tensor::Tensor& y) const;
  // Adds its statistics, the rows before the weight, and its attributes.
  void add_to(Context& context, Report& report) const;

 private:
  tensor::Tensor normalized(Context& context) const;
};

// A call of a norm, for its report; `residual` and `sum` are absent where there is none.
struct ReportedNorm {
  const char* operation;
  std::string_view place;
  Value x = {}, residual = {}, weight = {}, bias = {}, sum = {}, output = {};
};
template <class Rows>
void report_norm(Context& context, const Rows& rows, const ReportedNorm& call) {
  report(context, [&] {
    Report made{.operation = call.operation,
                .place = std::string(call.place),
                .outputs = {{"output", call.output}}};
    add_input(made, "input", call.x);
    add_input(made, "residual", call.residual);
    add_input(made, "weight", call.weight);
    add_input(made, "bias", call.bias);
    if (call.sum.defined()) made.outputs.push_back({"sum", call.sum});
    rows.add_to(context, made);
    return made;
  });
}

template <class Rows>
struct NormNode : Node {
  Rows normalization;
  std::shared_ptr<Gradient> d_x;

  // y = norm(x):  dx, dweight and dbias as above.
  void backward(Context& context) override {
    normalization.add_gradients(context, output_gradient(),
                                d_x ? d_x->sum(context) : tensor::Tensor());
  }
};

template <class Rows>
struct ResidualNormNode : Node {
  Rows normalization;
  std::shared_ptr<Gradient> d_x, d_residual;

  // s = x + residual, n = norm(s):  ds' = ds + the norm's gradient;  dx += ds';  dresidual += ds'.
  void backward(Context& context) override {
    tensor::Tensor d_sum;
    if (d_x || d_residual) d_sum = sum_gradient(context);
    if (const tensor::Tensor d_normalized = output_gradient(1); d_normalized.defined()) {
      normalization.add_gradients(context, d_normalized, d_sum);
    }
    if (d_x && d_residual) d_residual->add(context, d_sum);
    if (d_sum.defined()) (d_x ? d_x : d_residual)->take(context, d_sum);
  }

  // The gradient that arrived at the sum, in memory that is ours to add to.
  tensor::Tensor sum_gradient(Context& context) const {
    const tensor::Tensor arrived = output_gradient(0);
    if (!arrived.defined()) return zeros(context, normalization.rows.shape());
    tensor::Tensor d_sum = workspace(context, 0);
    if (d_sum.template data<float>() != arrived.template data<float>()) {
      kernels::scale(context.execution(), 1, arrived.matrix(), d_sum.mutable_matrix());
    }
    return d_sum;
  }
};

}  // namespace headlight::autograd
