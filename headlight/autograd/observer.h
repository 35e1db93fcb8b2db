// Observer: looks at values while a model runs. Intervention: changes them. Neither costs anything
// when absent.
#pragma once

#include <string>
#include <string_view>

#include "headlight/autograd/context.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

struct Report;

struct RowRange {
  int64_t first = 0;
  int64_t count = 0;
};

// Asked first, then told. Places have public names, e.g. "decoder.0.self.weights" (all heads, (B,
// H, T, S)) or "decoder.0.self.head.2.weights" (one head, (B, T, S)): only what is wanted is
// computed. The run's own results are the same bits with and without an observer.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual bool wants(std::string_view place) = 0;
  // `values` is contiguous and stays as it is; keeping the handle keeps the memory.
  virtual void see(std::string_view place, const tensor::Tensor& values) = 0;
  // Whether operations are to report themselves, and layers to name the Values they pass on.
  // Keeping a Value keeps its gradient too, for after a backward pass.
  virtual bool listens() const { return false; }
  virtual void report(const Report& report);
  virtual void name(std::string_view place, const Value& value);
  // Of tensors with scores (scores, scaled_scores, capped_scores, position_bias, masked_scores,
  // weights, weighted_values): the query rows to compute out of `queries`. The tensor then has only
  // these rows.
  virtual RowRange rows(std::string_view place, int64_t queries);
};

// `changes` is asked first; `change` then writes into a copy that takes the original's place.
// Gradients pass as if nothing had been changed. The copy is contiguous.
class Intervention {
 public:
  virtual ~Intervention() = default;
  virtual bool changes(std::string_view place) = 0;
  virtual void change(std::string_view place, tensor::Tensor& values) = 0;
};

// A contiguous copy in memory of its own, whatever later becomes of `x`.
tensor::Tensor copy_of(Context& context, const tensor::Tensor& x);
// "<prefix>.<name>", or "<name>" when the prefix is empty.
std::string place_name(std::string_view prefix, std::string_view name);
// Shows `values` to the Context's observer as "<prefix>.<name>", if there is one that wants it.
void observe(Context& context, std::string_view prefix, std::string_view name,
             const tensor::Tensor& values);
// The same of a Value that is passed on; an observer that listens is told its name.
void observe(Context& context, std::string_view prefix, std::string_view name, const Value& value);
// Tells an observer that listens what a Value is called.
void name_value(Context& context, std::string_view prefix, std::string_view name,
                const Value& value);
// Whether somebody listens to reports; and whether anybody would look at "<prefix>.<name>", for
// what is computed for observers alone.
inline bool listening(const Context& context) {
  return context.observer != nullptr && context.observer->listens();
}
bool watched(const Context& context, std::string_view prefix, std::string_view name);
// `value`, or what the Context's intervention makes of it at "<prefix>.<name>".
Value intervene(Context& context, std::string_view prefix, std::string_view name,
                const Value& value);

}  // namespace headlight::autograd
