// Whether two files hold the same tensors, to the bit.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "headlight/io/io.h"

namespace headlight::io {

// What is read by rows, from the last on, is what is read as a whole.
inline void expect_same_rows(const StoredTensors& tensors, const StoredTensors::Entry& entry) {
  if (!has_rows(entry.array)) return;
  const tensor::Tensor whole = tensors.load(entry);
  std::vector<std::byte> row(whole.bytes() / static_cast<size_t>(whole.size(0)));
  for (int64_t i = whole.size(0) - 1; i >= 0; --i) {
    tensors.load_rows(entry, i, 1, row.data());
    const std::byte* expected = whole.raw() + static_cast<size_t>(i) * row.size();
    EXPECT_EQ(std::memcmp(row.data(), expected, row.size()), 0) << i;
  }
}

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
    expect_same_rows(got, *got.find(entry.name));
  }
}

}  // namespace headlight::io
