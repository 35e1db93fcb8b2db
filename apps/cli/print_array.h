// Arrays for people: aligned matrices, abbreviated where they are large.
#pragma once

#include <string>

#include "headlight/tensor/tensor.h"

namespace headlight::cli {

// float32, contiguous, rank 2 or more: a heading with name and shape, then one matrix for each
// index of the axes before the last two. What is abbreviated says that the option `file_option`
// gives all of it.
std::string array_text(const std::string& name, const tensor::Tensor& array,
                       const std::string& file_option);

}  // namespace headlight::cli
