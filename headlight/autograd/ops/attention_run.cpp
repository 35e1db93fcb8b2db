// Results and gradient memory of the attention operations.
#include "headlight/autograd/ops/attention_run.h"

#include <algorithm>
#include <utility>

namespace headlight::autograd {
namespace {

using tensor::DType;
using tensor::Tensor;

// The addresses from a tensor's first number to behind its last.
std::pair<const float*, const float*> extent(const Tensor& x) {
  const float* begin = x.data<float>();
  int64_t last = 0;
  for (int axis = 0; axis < x.rank(); ++axis) last += (x.size(axis) - 1) * x.stride(axis);
  return {begin, begin + last + 1};
}

// False only when it is sure that no number belongs to both. Columns of one wider matrix, the
// pieces of a fused projection, are told apart; other interleaved views are not.
bool may_overlap(const Tensor& a, const Tensor& b) {
  if (a.elements() == 0 || b.elements() == 0) return false;
  const auto [a_begin, a_end] = extent(a);
  const auto [b_begin, b_end] = extent(b);
  if (a_end <= b_begin || b_end <= a_begin) return false;
  if (a.rank() != 3 || b.rank() != 3) return true;
  const int64_t row = a.stride(1);
  const bool same_rows = row == b.stride(1) && a.stride(0) % row == 0 && b.stride(0) % row == 0;
  if (!same_rows) return true;
  const int64_t distance = ((b_begin - a_begin) % row + row) % row;
  return distance < a.size(2) || distance + b.size(2) > row;
}

}  // namespace

AttentionResults::AttentionResults(Context& context, const AttentionInputs& inputs,
                                   bool keeps_ungated)
    : output(Tensor::uninitialized(context.arena, DType::f32, inputs.output_shape())) {
  const kernels::AttentionShape& s = inputs.shape;
  row_max = Tensor::uninitialized(context.arena, DType::f32, {s.batch, s.heads, s.queries});
  row_sum = Tensor::uninitialized(context.arena, DType::f32, row_max.shape());
  if (keeps_ungated) ungated = Tensor::uninitialized(context.arena, DType::f32, output.shape());
}

kernels::AttentionOutputs AttentionResults::outputs(int64_t heads) {
  kernels::AttentionOutputs outputs;
  outputs.output = output.mutable_heads(heads);
  outputs.row_max = row_max.mutable_data<float>();
  outputs.row_sum = row_sum.mutable_data<float>();
  if (ungated.defined()) outputs.ungated = ungated.mutable_heads(heads);
  return outputs;
}

AttentionGradientMemory::AttentionGradientMemory(Context& context, const AttentionInputs& inputs,
                                                 const AttentionTargets& targets) {
  if (targets.query || targets.key || targets.value) {
    const kernels::AttentionShape& s = inputs.shape;
    views_.query = memory_for(context, inputs.query, targets.query).mutable_heads(s.heads);
    views_.key = memory_for(context, inputs.key, targets.key).mutable_heads(s.kv_heads);
    views_.value = memory_for(context, inputs.value, targets.value).mutable_heads(s.kv_heads);
  }
  if (targets.bias) {
    Tensor bias = targets.bias->sum(context);
    views_.bias = broadcast(bias.mutable_data<float>(), bias);
  }
  if (targets.gates) views_.gates = targets.gates->sum(context).mutable_data<float>();
  if (targets.position_bias)
    views_.position_bias = targets.position_bias->sum(context).mutable_data<float>();
}

Tensor AttentionGradientMemory::memory_for(Context& context, const Tensor& input,
                                           const std::shared_ptr<Gradient>& target) {
  if (target) {
    const Tensor sum = target->sum(context);
    const bool free = std::none_of(direct_.begin(), direct_.end(),
                                   [&](const Tensor& other) { return may_overlap(sum, other); });
    if (free && (sum.stride(-1) == 1 || sum.size(-1) <= 1)) {
      direct_.push_back(sum);
      return sum;
    }
  }
  Tensor memory = zeros(context, input.shape());
  detours_.push_back({memory, target});
  return memory;
}

void AttentionGradientMemory::finish(Context& context) {
  for (Detour& detour : detours_) {
    if (detour.target) detour.target->take(context, std::move(detour.memory));
  }
}

}  // namespace headlight::autograd
