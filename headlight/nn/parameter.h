// Parameter: named numbers that are learned; and how they start.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headlight/autograd/autograd.h"

namespace headlight::nn {

using autograd::Context;
using autograd::Value;
using autograd::WeightLayout;

// float32 numbers with a name, a gradient and a version. A parameter may be made before its numbers
// are known; they are then drawn or loaded, and using it earlier is an Error.
class Parameter {
 public:
  Parameter(std::string name, const tensor::Shape& shape);  // without numbers
  Parameter(std::string name, tensor::Tensor numbers);      // float32, contiguous; not copied

  const std::string& name() const noexcept { return name_; }
  const tensor::Shape& shape() const noexcept { return shape_; }
  bool defined() const noexcept { return version_ > 0; }
  // For operations; without a gradient while it is frozen. Throws Error when there are no numbers
  // yet.
  const Value& value() const;
  tensor::Tensor grad() const;
  void clear_grad();

  uint64_t held_bytes() const;   // that the numbers take, in all forms that are kept
  bool is_packed_alone() const;  // kept as packed() gives them, and in no other form

  // The numbers for one who reads them and keeps them no longer than that. Throws as value() does.
  tensor::Tensor borrowed() const;
  // Copies rows, by their place on the first axis, one after the other. Throws as value() does.
  void copy_rows(std::span<const int64_t> rows, float* to) const;

  // A matrix packed as the right operand of a product, made at the first call and after a change.
  // It is then kept instead of the numbers, unless value() has been asked for; from it they are
  // made anew, to the bit. Throws as value() does.
  kernels::PackedMatrix packed(const kernels::Execution& execution, WeightLayout layout) const;
  // A layer says how packed() will be called; who loads the numbers may then pack them at once.
  void expect_packing(WeightLayout layout) { expected_layout_ = layout; }
  std::optional<WeightLayout> expected_layout() const noexcept { return expected_layout_; }
  void assign_packed(kernels::PackedMatrix matrix, WeightLayout layout);

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
  struct Packed {
    kernels::PackedMatrix matrix;
    WeightLayout layout = WeightLayout::out_in;
  };
  // These hold the mutex.
  bool has_numbers() const noexcept { return constant_.defined(); }
  void set_numbers(tensor::Tensor numbers) const;
  tensor::Tensor unpacked() const;
  Packed pack(const kernels::Execution& execution, WeightLayout layout) const;

  std::string name_;
  tensor::Shape shape_;
  std::optional<WeightLayout> expected_layout_;
  mutable std::mutex mutex_;  // of what follows, up to the empty line
  mutable Value value_;
  mutable Value constant_;                // the same numbers, without a gradient
  mutable bool asked_ = false;            // for value()
  mutable std::optional<Packed> packed_;  // the same numbers, beside or instead of the others

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
// The same, with another draw for what is more than two deviations away.
void draw_truncated_normal(const Parameters& parameters, uint64_t seed, float deviation);
// Uniform within +-sqrt(6 / (inputs + outputs)) for matrices.
void draw_xavier_uniform(const Parameters& parameters, uint64_t seed);

}  // namespace headlight::nn
