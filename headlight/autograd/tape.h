// The tape: nodes in the order in which they were computed, walked backwards once. It knows no
// operation.
#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <vector>

#include "headlight/autograd/context.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

// What one operation keeps for its backward. An operation derives from it in its own file, saves
// only the tensors its formula needs and the gradients it adds to.
class Node {
 public:
  virtual ~Node() = default;
  // Adds to the gradients of the inputs. Called once, when at least one output has a gradient.
  virtual void backward(Context& context) = 0;

 protected:
  // Not defined when nothing has arrived there.
  tensor::Tensor output_gradient(size_t output = 0) const { return outputs_[output]->tensor(); }
  // Adds an output's gradient, unchanged, to `to` (may be null); without a copy where nobody else
  // can see it.
  void pass_on(Context& context, const std::shared_ptr<Gradient>& to, size_t output = 0) const;
  // Memory for what is computed from an output's gradient element by element: the gradient's own
  // where nobody else can see it, else new.
  tensor::Tensor workspace(Context& context, size_t output = 0) const;

 private:
  friend class Tape;
  bool alone(size_t output) const { return outputs_[output].use_count() == 1; }

  std::vector<std::shared_ptr<Gradient>> outputs_;
};

// Owns its nodes. One thread uses a Tape at a time.
class Tape {
 public:
  // Records what has just been computed and returns its result as a Value that wants a gradient.
  Value record(std::unique_ptr<Node> node, tensor::Tensor output);
  std::array<Value, 2> record(std::unique_ptr<Node> node, tensor::Tensor first,
                              tensor::Tensor second);

  // Adds the gradients of sum(root * gradient) to every Value that wants one; `gradient` may be
  // left out when root is one number. Nodes and what they saved are let go on the way: afterwards
  // the tape is empty.
  void backward(Context& context, const Value& root, const tensor::Tensor& gradient = {});

  size_t size() const noexcept { return nodes_.size(); }
  void clear() noexcept;

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
};

// Whether an operation on these inputs is to be recorded: there is a tape and one of them wants a
// gradient.
bool recording(const Context& context, std::initializer_list<const Value*> inputs);

}  // namespace headlight::autograd
