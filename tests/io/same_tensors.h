// Whether two files hold the same tensors, to the bit.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "headlight/io/io.h"

namespace headlight::io {

// Names, shapes, dtypes and numbers of all. A bfloat16 may stand as the float32 that it is.
inline void expect_same_tensors(const StoredTensors& got, const StoredTensors& expected) {
  ASSERT_EQ(got.entries().size(), expected.entries().size());
  for (const StoredTensors::Entry& entry : expected.entries()) {
    SCOPED_TRACE(entry.name);
    ASSERT_NE(got.find(entry.name), nullptr);
    tensor::Tensor a = got.load(entry.name);
    const tensor::Tensor b = expected.load(entry);
    if (a.dtype() == tensor::DType::bf16 && b.dtype() == tensor::DType::f32) {
      a = tensor::to_float32(a);
    }
    EXPECT_EQ(a.dtype(), b.dtype());
    ASSERT_EQ(a.shape().text(), b.shape().text());
    EXPECT_EQ(std::memcmp(a.raw(), b.raw(), b.bytes()), 0);
  }
}

}  // namespace headlight::io
