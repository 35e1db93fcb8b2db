// Parameter: named numbers that are learned; and how they start.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headlight/autograd/autograd.h"

namespace headlight::nn {

using autograd::Context;
using autograd::Value;

// float32 numbers with a name, a gradient and a version. A parameter may be made before its numbers
// are known; they are then drawn or loaded, and using it earlier is an Error.
class Parameter {
 public:
  Parameter(std::string name, const tensor::Shape& shape);  // without numbers
  Parameter(std::string name, tensor::Tensor numbers);      // float32, contiguous; not copied

  const std::string& name() const noexcept { return name_; }
  const tensor::Shape& shape() const noexcept { return shape_; }
  bool defined() const noexcept { return value_.defined(); }
  // For operations; without a gradient while it is frozen. Throws Error when there are no numbers
  // yet.
  const Value& value() const;
  tensor::Tensor grad() const { return value_.grad(); }
  void clear_grad() { value_.clear_grad(); }

  // Takes other numbers of the same shape (float32, contiguous; not copied); the gradient is
  // forgotten.
  void assign(tensor::Tensor numbers);
  // The numbers, for writing. Ask again for each change: it makes a new version, by which those who
  // keep something computed from the numbers know that it is out of date.
  tensor::Tensor change();
  uint64_t version() const noexcept { return version_; }

  // A frozen parameter takes part in what is computed and gets no gradient: backward passes for the
  // sake of other values need neither the time nor the memory of its gradient.
  bool frozen() const noexcept { return frozen_; }
  void set_frozen(bool frozen) noexcept { frozen_ = frozen; }

 private:
  std::string name_;
  tensor::Shape shape_;
  Value value_;
  Value constant_;  // the same numbers, without a gradient
  bool frozen_ = false;
  uint64_t version_ = 0;
};

using ParameterHandle = std::shared_ptr<Parameter>;
// Of a module, in the order in which it saves them, each once.
using Parameters = std::vector<ParameterHandle>;
// Adds those of `more` that are not in `all` yet.
void append(Parameters& all, const Parameters& more);

// Parameters are frozen while it lives; those that were before stay so.
class FrozenParameters {
 public:
  explicit FrozenParameters(const Parameters& parameters);
  ~FrozenParameters();
  FrozenParameters(const FrozenParameters&) = delete;
  FrozenParameters& operator=(const FrozenParameters&) = delete;

 private:
  Parameters frozen_;
};

// These draw the numbers of the parameters that have none yet; a draw depends on the seed and the
// parameter's name. (Biases start as zeros and norms as ones, so what is left are weights.)
void draw_uniform(const Parameters& parameters, uint64_t seed);  // in 0...1
void draw_normal(const Parameters& parameters, uint64_t seed, float deviation);
// Uniform within +-sqrt(6 / (inputs + outputs)) for matrices.
void draw_xavier_uniform(const Parameters& parameters, uint64_t seed);

}  // namespace headlight::nn
