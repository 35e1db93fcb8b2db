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

}  // namespace

Parameter::Parameter(std::string name, const tensor::Shape& shape)
    : name_(std::move(name)), shape_(shape) {}

Parameter::Parameter(std::string name, Tensor numbers)
    : Parameter(std::move(name), numbers.shape()) {
  assign(std::move(numbers));
}

const Value& Parameter::value() const {
  if (!defined()) {
    throw Error(ErrorKind::bad_input, "parameter", name_,
                "has shape " + shape_.text() + " but no numbers: draw or load them first");
  }
  return frozen_ ? constant_ : value_;
}

void Parameter::assign(Tensor numbers) {
  if (numbers.shape() != shape_ || numbers.dtype() != DType::f32 || !numbers.is_contiguous()) {
    throw Error(ErrorKind::bad_input, "parameter", name_,
                std::string("is given ") + name_of(numbers.dtype()) + " " + numbers.shape().text() +
                    ", contiguous float32 " + shape_.text() + " is needed");
  }
  constant_ = Value::leaf(numbers);
  value_ = Value::leaf(std::move(numbers), true);
  ++version_;
}

Tensor Parameter::change() {
  ++version_;
  return value().data();
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
