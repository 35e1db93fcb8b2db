// Padding holds id 0, which every vocabulary has.
#include "headlight/infer/padding.h"

#include <algorithm>
#include <cassert>

#include "headlight/base/base.h"

namespace headlight::infer {

using tensor::DType;
using tensor::Tensor;

PaddedIds padded(const std::vector<std::vector<int64_t>>& lists) {
  size_t longest = 0;
  for (const auto& list : lists) longest = std::max(longest, list.size());
  const auto batch = static_cast<int64_t>(lists.size());
  PaddedIds result{.ids = Tensor::zeros(DType::i64, {batch, static_cast<int64_t>(longest)}),
                   .lens = Tensor::uninitialized(DType::i64, {batch})};
  for (size_t b = 0; b < lists.size(); ++b) {
    assert(!lists[b].empty());
    std::ranges::copy(lists[b], result.ids.mutable_data<int64_t>() + b * longest);
    result.lens.mutable_data<int64_t>()[b] = static_cast<int64_t>(lists[b].size());
  }
  return result;
}

std::vector<std::vector<int64_t>> unpadded(const Tensor& ids, const Tensor& keep) {
  if (!ids.defined() || !keep.defined() || ids.dtype() != DType::i64 ||
      keep.dtype() != DType::boolean || ids.rank() != 2 || !(ids.shape() == keep.shape())) {
    throw base::Error(base::ErrorKind::bad_input, "unpadded", "",
                      "ids must be i64 (B, T) and what to keep bool (B, T); they are " +
                          ids.shape().text() + " and " + keep.shape().text());
  }
  std::vector<std::vector<int64_t>> lists(static_cast<size_t>(ids.size(0)));
  const Tensor flat_ids = ids.contiguous();
  const Tensor flat_keep = keep.contiguous();
  for (int64_t i = 0; i < ids.elements(); ++i) {
    if (!flat_keep.data<bool>()[i]) continue;
    lists[static_cast<size_t>(i / ids.size(1))].push_back(flat_ids.data<int64_t>()[i]);
  }
  return lists;
}

}  // namespace headlight::infer
