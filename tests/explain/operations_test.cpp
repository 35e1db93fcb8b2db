// Every operation on rows of numbers, explained cell by cell: the list to which a new one is added.
#include "headlight/explain/gradients.h"
#include "tests/explain/support.h"

namespace headlight::explain {
namespace {

using autograd::Context;
using autograd::Value;

// Of a value (1, 3, 4).
struct ExplainedOperation {
  const char* name;
  std::function<Value(Context& context, const Value& x)> run;
};

Value drawn(const tensor::Shape& shape, uint64_t seed) {
  const base::Random random(seed);
  std::vector<float> numbers(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = random.normal(i);
  return Value::leaf(Tensor::of(shape, numbers));
}

// A weight that the trace can name.
Value weight(Context& context, const char* name, const tensor::Shape& shape) {
  const Value made = drawn(shape, base::name_key(name));
  name_value(context, "weights", name, made);
  return made;
}

const std::vector<ExplainedOperation>& explained_operations() {
  static const std::vector<ExplainedOperation> operations = {
      {"add",
       [](Context& c, const Value& x) {
         return add(c, weight(c, "a", {1, 3, 4}), x);
       }},
      {"add of a row",
       [](Context& c, const Value& x) {
         return add(c, x, reshape(weight(c, "a", {1, 4}), {4}));
       }},
      {"add with a factor",
       [](Context& c, const Value& x) {
         return add(c, weight(c, "a", {1, 3, 4}), x, 0.5F);
       }},
      {"gated_product",
       [](Context& c, const Value& x) {
         return gated_product(c, weight(c, "gate", {1, 3, 4}), x, kernels::Activation::silu);
       }},
      {"layer_norm",
       [](Context& c, const Value& x) {
         return layer_norm(c, x, weight(c, "w", {4}), weight(c, "b", {4}));
       }},
      {"layer_norm of heads",
       [](Context& c, const Value& x) {
         return layer_norm(c, x, weight(c, "w", {2}), {}, {.heads = 2});
       }},
      {"linear",
       [](Context& c, const Value& x) {
         return linear(c, x, weight(c, "w", {5, 4}), weight(c, "b", {5}),
                       {.activation = kernels::Activation::gelu});
       }},
      {"linear with tanh",
       [](Context& c, const Value& x) {
         return linear(c, x, weight(c, "w", {5, 4}), {}, {.activation = kernels::Activation::tanh});
       }},
      {"mean_rows of one",
       [](Context& c, const Value& x) { return mean_rows(c, x, {{.first = 1, .count = 1}}); }},
      {"mean_rows of several",
       [](Context& c, const Value& x) { return mean_rows(c, x, {{.first = 1, .count = 2}}); }},
      {"residual_norm",
       [](Context& c, const Value& x) {
         return residual_norm(c, x, weight(c, "r", {1, 3, 4}), weight(c, "w", {4}), {},
                              {.place = "x.norm"})
             .normalized;
       }},
      {"rms_norm",
       [](Context& c, const Value& x) {
         return rms_norm(c, x, weight(c, "w", {4}), {.weight_offset = 1});
       }},
      {"rms_norm of heads",
       [](Context& c, const Value& x) {
         return rms_norm(c, x, weight(c, "w", {2}), {.heads = 2});
       }},
      {"rotate",
       [](Context& c, const Value& x) {
         return rotate(c, x, {.heads = 2, .rates = Tensor::of({1}, {0.7F}), .magnitude = 1.1F});
       }},
      {"scale", [](Context& c, const Value& x) { return scale(c, x, -3); }},
      {"softmax", [](Context& c, const Value& x) { return softmax(c, x); }},
  };
  return operations;
}

Trace traced_operation(base::ThreadPool& threads, const ExplainedOperation& operation) {
  return trace_run(threads, {}, [&](Context& context) {
    const Value x = drawn({1, 3, 4}, 1);
    name_value(context, "x", "input", x);
    name_value(context, "x", "result", operation.run(context, x));
  });
}

// What comes back to x when something has come back to the result: by the engine, and by the rules
// for gradients.
class WayBack {
 public:
  WayBack(base::ThreadPool& threads, const ExplainedOperation& operation)
      : threads_(threads), operation_(operation) {}

  Tensor by_engine() {
    autograd::Tape tape;
    Context context{.threads = threads_, .arena = arena_, .tape = &tape};
    const Value x = Value::leaf(drawn({1, 3, 4}, 1).data(), true);
    const Value y = operation_.run(context, x);
    tape.backward(context, y, arrived_at(y.shape()));
    return x.grad();
  }

  Tensor by_rules(const Trace& trace) {
    Context context{.threads = threads_, .arena = arena_};
    const Value result = Value::leaf(trace.values("x.result"), true);
    result.gradient()->add(context, arrived_at(result.shape()));
    return Gradients(trace, {{"x.result", result}}, {}).at("x.input");
  }

 private:
  static Tensor arrived_at(const tensor::Shape& shape) { return drawn(shape, 2).data(); }

  base::ThreadPool& threads_;
  tensor::Arena arena_;
  const ExplainedOperation& operation_;
};

TEST_F(ExplainTest, gradients_pass_through_every_operation_as_in_the_engine) {
  for (const ExplainedOperation& operation : explained_operations()) {
    SCOPED_TRACE(operation.name);
    const Trace trace = traced_operation(threads_, operation);
    WayBack way(threads_, operation);
    const Tensor engine = way.by_engine();
    const Tensor rules = way.by_rules(trace);
    ASSERT_TRUE(rules.defined());
    ASSERT_EQ(rules.shape(), engine.shape());
    for (int64_t i = 0; i < engine.elements(); ++i) {
      EXPECT_NEAR(rules.data<float>()[i], engine.data<float>()[i], 1e-5) << i;
    }
  }
}

TEST_F(ExplainTest, every_operation_is_explained_cell_by_cell) {
  for (const ExplainedOperation& operation : explained_operations()) {
    SCOPED_TRACE(operation.name);
    const Trace trace = traced_operation(threads_, operation);
    ASSERT_NE(trace.find("x.result"), nullptr);
    EXPECT_NE(trace.at("x.result").operation, kGiven);
    expect_all_explained(trace);
  }
}

}  // namespace
}  // namespace headlight::explain
