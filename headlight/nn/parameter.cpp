// Parameter, and the draws of its first numbers.
#include "headlight/nn/parameter.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headlight::nn {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::DType;
using tensor::Tensor;

// number(random, index) for each parameter without numbers.
template <class Number>
void draw(Parameter& parameter, uint64_t seed, const Number& number) {
  const base::Random random(base::mix(seed, base::name_key(parameter.name())));
  Tensor numbers = Tensor::uninitialized(DType::f32, parameter.shape());
  float* to = numbers.mutable_data<float>();
  for (int64_t i = 0; i < numbers.elements(); ++i) to[i] = number(random, static_cast<uint64_t>(i));
  parameter.assign(std::move(numbers));
}

[[noreturn]] void refuse_empty(const Parameter& parameter) {
  throw Error(ErrorKind::bad_input, "parameter", parameter.name(),
              "has shape " + parameter.shape().text() + " but no numbers: draw or load them first");
}

}  // namespace

Parameter::Parameter(std::string name, const tensor::Shape& shape)
    : name_(std::move(name)), shape_(shape) {}

Parameter::Parameter(std::string name, Tensor numbers)
    : Parameter(std::move(name), numbers.shape()) {
  assign(std::move(numbers));
}

const Value& Parameter::value() const {
  const std::lock_guard lock(mutex_);
  if (!defined()) refuse_empty(*this);
  asked_ = true;
  if (!has_numbers()) set_numbers(unpacked());
  return frozen_ ? constant_ : value_;
}

Tensor Parameter::grad() const {
  const std::lock_guard lock(mutex_);
  return value_.defined() ? value_.grad() : Tensor();
}

void Parameter::clear_grad() {
  const std::lock_guard lock(mutex_);
  if (value_.defined()) value_.clear_grad();
}

uint64_t Parameter::held_bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = has_numbers() ? constant_.data().bytes() : 0;
  if (packed_) {
    const kernels::PackedMatrix& matrix = packed_->matrix;
    bytes += kernels::PackedMatrix::bytes_for(matrix.rows(), matrix.cols(), matrix.dtype());
  }
  return bytes;
}

bool Parameter::is_packed_alone() const {
  const std::lock_guard lock(mutex_);
  return defined() && !has_numbers();
}

Tensor Parameter::borrowed() const {
  const std::lock_guard lock(mutex_);
  if (!defined()) refuse_empty(*this);
  return has_numbers() ? constant_.data() : unpacked();
}

void Parameter::copy_rows(std::span<const int64_t> rows, float* to) const {
  const std::lock_guard lock(mutex_);
  if (!defined()) refuse_empty(*this);
  const int64_t width = shape_.elements() / shape_[0];
  for (const int64_t row : rows) {
    if (has_numbers()) {
      std::copy_n(constant_.data().data<float>() + row * width, width, to);
    } else if (packed_->layout == WeightLayout::out_in) {
      packed_->matrix.unpack_column(row, to);
    } else {
      packed_->matrix.unpack_row(row, to);
    }
    to += width;
  }
}

kernels::PackedMatrix Parameter::packed(const kernels::Execution& execution,
                                        WeightLayout layout) const {
  const std::lock_guard lock(mutex_);
  if (!defined()) refuse_empty(*this);
  if (!packed_ || packed_->layout != layout) packed_ = pack(execution, layout);
  return packed_->matrix;
}

Parameter::Packed Parameter::pack(const kernels::Execution& execution, WeightLayout layout) const {
  if (!has_numbers()) set_numbers(unpacked());
  Tensor numbers = constant_.data();
  if (asked_) return {{execution, autograd::forward_operand(numbers, layout)}, layout};
  value_ = {};
  constant_ = {};
  // Pages of outputs that are packed are not needed any more. The first of them are when all the
  // memory is there: nothing throws after that.
  const auto release = [&](int64_t outputs) {
    if (layout != WeightLayout::out_in || !numbers.is_sole_owner()) return;
    const auto row_bytes = static_cast<size_t>(shape_[1]) * sizeof(float);
    tensor::discard(numbers.mutable_raw(), static_cast<size_t>(outputs) * row_bytes);
  };
  try {
    return {{execution, autograd::forward_operand(numbers, layout), release}, layout};
  } catch (...) {
    set_numbers(std::move(numbers));
    throw;
  }
}

Tensor Parameter::unpacked() const {
  const bool out_in = packed_->layout == WeightLayout::out_in;
  Tensor numbers = Tensor::uninitialized(DType::f32, shape_);
  packed_->matrix.unpack(numbers.mutable_data<float>(), out_in ? 1 : shape_[1],
                         out_in ? shape_[1] : 1);
  return numbers;
}

void Parameter::set_numbers(Tensor numbers) const {
  constant_ = Value::leaf(numbers);
  value_ = Value::leaf(std::move(numbers), true);
}

void Parameter::assign(Tensor numbers) {
  if (numbers.shape() != shape_ || numbers.dtype() != DType::f32 || !numbers.is_contiguous()) {
    throw Error(ErrorKind::bad_input, "parameter", name_,
                std::string("is given ") + name_of(numbers.dtype()) + " " + numbers.shape().text() +
                    ", contiguous float32 " + shape_.text() + " is needed");
  }
  const std::lock_guard lock(mutex_);
  packed_.reset();
  set_numbers(std::move(numbers));
  ++version_;
}

void Parameter::assign_packed(kernels::PackedMatrix matrix, WeightLayout layout) {
  const std::lock_guard lock(mutex_);
  packed_ = {std::move(matrix), layout};
  value_ = {};
  constant_ = {};
  ++version_;
}

Tensor Parameter::change() {
  Tensor numbers = value().data();
  const std::lock_guard lock(mutex_);
  packed_.reset();
  ++version_;
  return numbers;
}

FrozenParameters::FrozenParameters(const Parameters& parameters) {
  for (const ParameterHandle& parameter : parameters) {
    if (parameter->frozen()) continue;
    parameter->set_frozen(true);
    frozen_.push_back(parameter);
  }
}

FrozenParameters::~FrozenParameters() {
  for (const ParameterHandle& parameter : frozen_) parameter->set_frozen(false);
}

void append(Parameters& all, const Parameters& more) {
  for (const ParameterHandle& parameter : more) {
    if (std::find(all.begin(), all.end(), parameter) == all.end()) all.push_back(parameter);
  }
}

void draw_uniform(const Parameters& parameters, uint64_t seed) {
  for (const ParameterHandle& parameter : parameters) {
    if (parameter->defined()) continue;
    draw(*parameter, seed,
         [](const base::Random& random, uint64_t index) { return random.uniform(index); });
  }
}

void draw_normal(const Parameters& parameters, uint64_t seed, float deviation) {
  for (const ParameterHandle& parameter : parameters) {
    if (parameter->defined()) continue;
    draw(*parameter, seed, [deviation](const base::Random& random, uint64_t index) {
      return deviation * random.normal(index);
    });
  }
}

void draw_truncated_normal(const Parameters& parameters, uint64_t seed, float deviation) {
  constexpr float kFarthest = 2;
  constexpr uint64_t kNextTry = uint64_t{1} << 40;
  for (const ParameterHandle& parameter : parameters) {
    if (parameter->defined()) continue;
    draw(*parameter, seed, [deviation](const base::Random& random, uint64_t index) {
      while (std::abs(random.normal(index)) > kFarthest) index += kNextTry;
      return deviation * random.normal(index);
    });
  }
}

void draw_xavier_uniform(const Parameters& parameters, uint64_t seed) {
  for (const ParameterHandle& parameter : parameters) {
    if (parameter->defined()) continue;
    int64_t sides = 0;
    for (const int64_t size : parameter->shape().sizes()) sides += size;
    const float bound = std::sqrt(6.0F / static_cast<float>(sides));
    draw(*parameter, seed, [bound](const base::Random& random, uint64_t index) {
      return bound * (2 * random.uniform(index) - 1);
    });
  }
}

}  // namespace headlight::nn
