// What the tests of nn share, besides autograd's fixture: comparisons and an observer that keeps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "headlight/nn/nn.h"
#include "tests/autograd/fixture.h"

namespace headlight::nn {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

using tests::error_of;
using tests::floats;
using tests::leaf;
using tests::random_leaf;

inline float largest(const Tensor& tensor) {
  float most = 0;
  for (const float number : floats(tensor)) most = std::max(most, std::abs(number));
  return most;
}

// The largest difference; infinite when shapes differ or a number is not finite.
inline float distance(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined() || a.shape() != b.shape()) return INFINITY;
  float most = 0;
  const std::vector<float> x = floats(a);
  const std::vector<float> y = floats(b);
  for (size_t i = 0; i < x.size(); ++i) {
    const float difference = std::abs(x[i] - y[i]);
    if (!(difference <= most)) most = std::isfinite(difference) ? difference : INFINITY;
  }
  return most;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous();
  const Tensor y = b.contiguous();
  return x.shape() == y.shape() && x.dtype() == y.dtype() &&
         std::memcmp(x.raw(), y.raw(), x.bytes()) == 0;
}

// Keeps what it wants: everything, or the places given.
struct Keeper : autograd::Observer {
  explicit Keeper(std::set<std::string> places = {}) : wanted(std::move(places)) {}
  bool wants(std::string_view place) override {
    return wanted.empty() || wanted.contains(std::string(place));
  }
  void see(std::string_view place, const Tensor& values) override {
    seen[std::string(place)] = values;
  }
  std::set<std::string> wanted;
  std::map<std::string, Tensor> seen;
};

inline void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "in: " << text << "\nnot found: " << part;
}

}  // namespace headlight::nn
