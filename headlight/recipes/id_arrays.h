// Ids in array files: what a model reads where there is no text, and what is right there.
#pragma once

#include <string>
#include <string_view>

#include "headlight/base/base.h"
#include "headlight/tensor/tensor.h"

namespace headlight::recipes {

struct IdArray {
  tensor::Tensor ids;   // int64, (B, T), contiguous
  bool is_one = false;  // the file has (T,): a batch of one
};

// `place`: as io::read_array takes it; `what` begins errors. Whole numbers of any type. Throws
// Error(bad_input) for other shapes than (T,) and (B,T), and for none at all.
IdArray read_ids(base::FileSystem& files, std::string_view what, const std::string& place);

// The right ids, of the shape of `ids`; -1 does not count. Throws Error(bad_input) for another
// shape, and when nothing counts.
tensor::Tensor read_targets(base::FileSystem& files, std::string_view what,
                            const std::string& place, const tensor::Tensor& ids);

}  // namespace headlight::recipes
