// What array files of text (.json, .csv) share. For io's own use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headlight/base/base.h"
#include "headlight/tensor/tensor.h"

namespace headlight::io {

inline constexpr uint64_t kTextArrayLimit = uint64_t{1} << 30;  // bytes

// Numbers as they come: int64 as long as all are integers, float32 from the first other one on.
class NumberList {
 public:
  void add(int64_t value) {
    if (is_real_) {
      reals_.push_back(static_cast<float>(value));
    } else {
      integers_.push_back(value);
    }
  }

  void add(float value) {
    if (!is_real_) {
      reals_.assign(integers_.begin(), integers_.end());
      integers_ = {};
      is_real_ = true;
    }
    reals_.push_back(value);
  }

  size_t size() const { return is_real_ ? reals_.size() : integers_.size(); }

  tensor::Tensor tensor(const tensor::Shape& shape) const {
    return is_real_ ? tensor::Tensor::of(shape, reals_) : tensor::Tensor::of(shape, integers_);
  }

 private:
  bool is_real_ = false;
  std::vector<int64_t> integers_;
  std::vector<float> reals_;
};

// Writes a tensor's elements as text, in order, in pieces.
class ElementWriter {
 public:
  struct Style {
    const char* yes;
    const char* no;
    bool has_non_finite;  // or else null
  };

  ElementWriter(base::Output& output, const tensor::Tensor& array, Style style);

  void write(std::string_view text);
  void write_element();  // the next one
  void finish();

 private:
  base::Output& output_;
  tensor::Tensor array_;  // float32, int64 or bool; contiguous
  Style style_;
  int64_t next_ = 0;
  std::string text_;
};

}  // namespace headlight::io
