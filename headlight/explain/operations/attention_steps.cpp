// The fine steps of attention: which cells enter each, and how gradients pass through them.
#include "headlight/explain/operations/attention.h"

namespace headlight::explain {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

// Head h reads the key/value head that a table says, or h / (heads / kv_heads).
IngredientRule read_head() {
  return {.key = "key_value_head",
          .cell = CellRule{"kv_head_of", {at(1)}},
          .present = has("kv_head_of")};
}
Expression shared_head(const std::string& role, const Expression& heads) {
  return when(has("kv_head_of"), ingredient("key_value_head"),
              whole_quotient(at(1), heads / size(role, 1)));
}

// The cell's index along `of` in an operand's axis, which stays 0 where that has one position for
// all.
Expression repeated(const std::string& role, int axis, int of) {
  return call("min", {at(of), size(role, axis) - 1.0});
}

CellRule of_pair(const std::string& role) {
  return {role,
          {repeated(role, 0, 0), repeated(role, 1, 1), repeated(role, 2, 2), repeated(role, 3, 3)}};
}

Tensor one_head(const Tensor& x, int64_t head) {
  return x.slice(1, head, 1).contiguous().reshaped({x.size(2), x.size(3)});
}

// Everything that is given must agree. Position i of a query is its row plus what came before.
Expression is_hidden() {
  const Expression position = at(2) + attribute("past");
  const Expression causal = !(attribute("causal") == 0.0) && position < at(3);
  const Expression distance = call("abs", {position - at(3)});
  const Expression window =
      Expression(0.0) < attribute("window") && attribute("window") <= distance;
  const Expression padding = has("valid_lens") && ingredient("valid_length") <= at(3);
  const Expression no_query = attribute("queries", 1e18) <= at(2);
  const Expression kept = has("keep_mask") && ingredient("kept") == 0.0;
  const Expression forbidden = has("forbid_mask") && !(ingredient("forbidden") == 0.0);
  return causal || (window || (padding || (no_query || (kept || forbidden))));
}

Rule mask_rule() {
  return {.ingredients =
              {{.key = "valid_length",
                .cell = CellRule{"valid_lens", {at(0), repeated("valid_lens", 1, 2)}},
                .present = has("valid_lens")},
               {.key = "kept", .cell = of_pair("keep_mask"), .present = has("keep_mask")},
               {.key = "forbidden", .cell = of_pair("forbid_mask"), .present = has("forbid_mask")}},
          .terms = {{.key = "value", .factors = {{"input", {same_index()}}}},
                    {.key = "bias", .factors = {of_pair("bias")}, .present = has("bias")},
                    {.key = "position_bias",
                     .factors = {{"position_bias", {same_index()}}},
                     .present = has("position_bias")}},
          .combinations = {{.key = "hidden",
                            .value = minus_infinity(),
                            .present = is_hidden(),
                            .grows_with_terms = false},
                           {.key = "sum"}}};
}

// (B, T, H*W) as (B, H, T, W), and back.
Tensor split_gradient(const GradientFlow& flow) {
  const Shape& s = flow.made.shape;
  return flow.gradient.permuted({0, 2, 1, 3}).contiguous().reshaped({s[0], s[2], s[1] * s[3]});
}

Tensor split_moved(const Tensor& gradient, const TracedTensor& made) {
  return split_heads(gradient, made.shape[1]);
}

// S = Q K^T:  dQ = dS K;  dK = dS^T Q, over the heads that share the key.
Tensor scores_gradient(const GradientFlow& flow) {
  const bool to_query = flow.role == "query";
  if (!to_query && flow.role != "key") return {};
  const Tensor other = flow.trace.values(*flow.made.operand(to_query ? "key" : "query"));
  Tensor result = Tensor::zeros(DType::f32, flow.operand.shape);
  const int64_t heads = flow.made.shape[1];
  const KeyValueReaders readers(flow.trace, flow.made);
  const int64_t kv_heads = to_query ? other.size(1) : flow.operand.shape[1];
  tensor::Arena arena;
  for (int64_t h = 0; h < heads; ++h) {
    const int64_t read = readers.kv_head(h, heads, kv_heads);
    const Tensor gradient = one_head(flow.gradient, h);
    const Tensor factors = one_head(other, to_query ? read : h);
    const tensor::MatrixView to = result.slice(1, to_query ? h : read, 1).mutable_matrix();
    const tensor::ConstMatrixView left =
        to_query ? gradient.matrix() : gradient.matrix().transposed();
    kernels::matmul({flow.trace.threads(), arena}, left, factors.matrix(), to,
                    {.accumulate = true});
  }
  return result;
}

// y = c tanh(x / c):  dx = dy (1 - (y / c)^2).
Tensor cap_gradient(const GradientFlow& flow) {
  const Tensor capped = flow.trace.values(flow.made.name);
  const auto cap = static_cast<float>(flow.made.number("cap"));
  Tensor result = Tensor::uninitialized(DType::f32, flow.operand.shape);
  for (int64_t i = 0; i < result.elements(); ++i) {
    const float share = capped.data<float>()[i] / cap;
    result.mutable_data<float>()[i] = flow.gradient.data<float>()[i] * (1 - share * share);
  }
  return result;
}

Tensor mask_gradient(const GradientFlow& flow) {
  return flow.role == "input" || flow.role == "position_bias" ? flow.gradient : Tensor();
}

// w_ijc = a_ij v_jc:  da_ij = sum over c of dw v;  dv_jc = sum over i, and heads, of dw a.
Tensor weigh_gradient(const GradientFlow& flow) {
  const Shape& s = flow.made.shape;
  const bool to_weights = flow.role == "weights";
  if (!to_weights && flow.role != "value") return {};
  const Tensor other = flow.trace.values(*flow.made.operand(to_weights ? "value" : "weights"));
  Tensor result = Tensor::zeros(DType::f32, flow.operand.shape);
  const KeyValueReaders readers(flow.trace, flow.made);
  const int64_t kv_heads = to_weights ? other.size(1) : flow.operand.shape[1];
  const float* gradient = flow.gradient.data<float>();
  for (int64_t h = 0; h < s[1]; ++h) {
    const int64_t read = readers.kv_head(h, s[1], kv_heads);
    for (int64_t i = 0; i < s[2]; ++i) {
      for (int64_t j = 0; j < s[3]; ++j, gradient += s[4]) {
        const int64_t pair = (h * s[2] + i) * s[3] + j;
        const int64_t row = (read * s[3] + j) * s[4];
        double sum = 0;
        for (int64_t c = 0; c < s[4]; ++c) {
          if (to_weights) {
            sum += static_cast<double>(gradient[c]) * other.data<float>()[row + c];
          } else {
            result.mutable_data<float>()[row + c] += gradient[c] * other.data<float>()[pair];
          }
        }
        if (to_weights) result.mutable_data<float>()[pair] = static_cast<float>(sum);
      }
    }
  }
  return result;
}

// o_i = sum over j of w_ij, so each of them gets the row's gradient.
Tensor sum_keys_gradient(const GradientFlow& flow) {
  Tensor result = Tensor::uninitialized(DType::f32, flow.operand.shape);
  const int64_t keys = flow.operand.shape[3];
  const int64_t width = flow.operand.shape[4];
  for (int64_t i = 0; i < result.elements() / width; ++i) {
    std::copy_n(flow.gradient.data<float>() + i / keys * width, width,
                result.mutable_data<float>() + i * width);
  }
  return result;
}

// A head's gate multiplies what comes back through it.
Tensor merge_gradient(const GradientFlow& flow) {
  if (flow.role != "input") return {};
  const Shape& s = flow.operand.shape;
  Tensor split = split_heads(flow.gradient, s[1]);
  const std::string* name = flow.made.operand("gates");
  if (name == nullptr) return split;
  const TracedTensor& gates = flow.trace.at(*name);
  tensor::Arena arena;
  for (int64_t h = 0; h < s[1]; ++h) {
    const std::vector<int64_t> at =
        gates.shape.rank() == 1 ? std::vector<int64_t>{h} : std::vector<int64_t>{0, h};
    const tensor::MatrixView head = split.slice(1, h, 1).mutable_matrix();
    kernels::scale({flow.trace.threads(), arena}, static_cast<float>(flow.trace.value(gates, at)),
                   head, head);
  }
  return split;
}

// Each number of the table, at each pair of positions whose distance falls into its bucket.
std::vector<CellUse> bucket_uses(const Trace& trace, const TracedTensor& made,
                                 std::string_view role, const std::vector<int64_t>& cell) {
  std::vector<CellUse> uses;
  if (role != "table") return uses;
  const TracedTensor& buckets = trace.at(*made.operand("buckets"));
  const auto first = static_cast<int64_t>(made.number("first_distance"));
  for (int64_t i = 0; i < made.shape[2]; ++i) {
    for (int64_t j = 0; j < made.shape[3]; ++j) {
      const int64_t distance = j - i - static_cast<int64_t>(made.number("past")) - first;
      if (static_cast<int64_t>(trace.value(buckets, {distance})) != cell.front()) continue;
      uses.push_back({.result = {0, cell.back(), i, j}});
    }
  }
  return uses;
}

void add_scores(OperationTable& table) {
  const Expression key_head = shared_head("key", size("query", 1));
  table.add(
      {.name = "split",
       .does = "input (B, T, H*W) to (B, H, T, W); `heads`",
       .rule = {.terms = {{.key = "value",
                           .factors = {{"input", {at(0), at(2), at(1) * size("", -1) + at(-1)}}}}},
                .combinations = {{.key = "sum"}}},
       .gradient_text = "merge",
       .gradient = split_gradient,
       .moved = split_moved});
  table.add({.name = "scores",
             .does = "query (B, H, T, D), key (B, Hkv, S, D), [kv_head_of (H,)]: dot products (B, "
                     "H, T, S); head h reads key head kv_head_of[h], or h / (H / Hkv)",
             .rule = {.ingredients = {read_head()},
                      .terms = {{.key = "product",
                                 .factors = {{"query", {at(0), at(1), at(2), counter()}},
                                             {"key", {at(0), key_head, at(3), counter()}}},
                                 .count = size("query", -1)}},
                      .combinations = {{.key = "sum"}}},
             .gradient_text = "scores",
             .gradient = scores_gradient});
  table.add({.name = "cap",
             .does = "input: c tanh(input / c); c is `cap`",
             .rule = {.ingredients = {{.key = "cap", .value = attribute("cap")}},
                      .terms = {{.key = "value", .factors = {{"input", {same_index()}}}}},
                      .combinations = {{.key = "cap",
                                        .value = ingredient("cap") *
                                                 call("tanh", {sum() / ingredient("cap")})}}},
             .gradient_text = "cap",
             .gradient = cap_gradient});
  table.add({.name = "mask",
             .does = "input, [bias], [position_bias], [keep_mask], [forbid_mask], [valid_lens]: "
                     "their sum, or -infinity where not seen. `causal`: key j is seen by query i "
                     "when j <= i + `past`; `window`: when |i + past - j| is below it; `queries`: "
                     "rows from there on see nothing",
             .rule = mask_rule(),
             .gradient = mask_gradient});
}

void add_position_biases(OperationTable& table) {
  const Expression distance = at(3) - at(2) - attribute("past");
  table.add({.name = "linear_bias",
             .does = "slopes (H,): minus slope times |i + `past` - j|",
             .rule = {.ingredients = {{.key = "distance", .value = call("abs", {distance})}},
                      .terms = {{.key = "product",
                                 .factors = {{"slopes", {at(1)}}},
                                 .constant = 0.0 - ingredient("distance")}},
                      .combinations = {{.key = "sum"}}}});
  table.add(
      {.name = "buckets_bias",
       .does = "table (buckets, H), buckets: the table's number for the bucket of the "
               "distance j - i - `past`; buckets[0] is that of `first_distance`",
       .rule = {.ingredients = {{.key = "distance", .value = distance},
                                {.key = "bucket",
                                 .cell = CellRule{"buckets",
                                                  {distance - attribute("first_distance")}}}},
                .terms = {{.key = "value", .factors = {{"table", {ingredient("bucket"), at(1)}}}}},
                .combinations = {{.key = "sum"}}},
       .uses = bucket_uses});
}

void add_values(OperationTable& table) {
  // A value that is no number does not leak from behind a weight of 0.
  const Expression hides = factor(0) == 0.0 && !(factor(1) - factor(1) == 0.0);
  const Expression value_head = shared_head("value", size("", 1));
  table.add({.name = "weigh",
             .does =
                 "weights (B, H, T, S), value (B, Hkv, S, E), [kv_head_of (H,)]: each a_ij * v_j, "
                 "(B, H, T, S, E); head h reads value head kv_head_of[h], or h / (H / Hkv)",
             .rule = {.ingredients = {read_head()},
                      .terms = {{.key = "product",
                                 .factors = {{"weights", {same_row()}},
                                             {"value", {at(0), value_head, at(3), at(-1)}}},
                                 .value = when(hides, 0.0, factor(0) * factor(1))}},
                      .combinations = {{.key = "sum"}}},
             .gradient_text = "values",
             .gradient = weigh_gradient});
  table.add({.name = "sum_keys",
             .does = "input (B, H, T, S, E): summed over S",
             .rule = {.terms = {{.key = "value",
                                 .factors = {{"input", {at(0), at(1), at(2), counter(), at(-1)}}},
                                 .count = size("input", 3)}},
                      .combinations = {{.key = "sum"}}},
             .gradient_text = "values",
             .gradient = sum_keys_gradient});
  const Expression width = size("input", -1);
  const Expression head = whole_quotient(at(-1), width);
  const CellRule input = {"input", {at(0), head, at(1), remainder(at(-1), width)}};
  const Expression gated = has("gates");
  table.add({.name = "merge",
             .does = "input (B, H, T, E), [gates (H,) or (B, H)]: (B, T, H*E)",
             .rule = {.terms = {{.key = "value", .factors = {input}, .present = !gated},
                                {.key = "product",
                                 .factors = {input, {"gates", {head}}},
                                 .present = gated && attribute("per_sequence") == 0.0},
                                {.key = "product",
                                 .factors = {input, {"gates", {at(0), head}}},
                                 .present = gated && attribute("per_sequence") == 1.0}},
                      .combinations = {{.key = "sum"}}},
             .gradient_text = "merge",
             .gradient = merge_gradient});
}

}  // namespace

void add_attention_steps(OperationTable& table) {
  add_scores(table);
  add_position_biases(table);
  add_values(table);
}

}  // namespace headlight::explain
