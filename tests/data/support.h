// What the tests of data share.
#pragma once

#include <algorithm>
#include <vector>

#include "headlight/data/data.h"
#include "tests/autograd/fixture.h"

namespace headlight::data {

using tests::error_of;

inline std::vector<int64_t> row_of(const tensor::Tensor& tensor, size_t row) {
  const int64_t* begin = tensor.data<int64_t>() + static_cast<int64_t>(row) * tensor.size(1);
  return {begin, begin + tensor.size(1)};
}

inline bool same(const tensor::Tensor& a, const tensor::Tensor& b) {
  return a.shape() == b.shape() &&
         std::equal(a.data<int64_t>(), a.data<int64_t>() + a.elements(), b.data<int64_t>());
}

inline bool same(const PairBatch& a, const PairBatch& b) {
  return same(a.source_ids, b.source_ids) && same(a.source_lens, b.source_lens) &&
         same(a.input_ids, b.input_ids) && same(a.targets, b.targets) &&
         same(a.target_lens, b.target_lens);
}

}  // namespace headlight::data
