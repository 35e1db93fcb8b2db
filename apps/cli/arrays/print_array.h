// Arrays on standard output: for people as aligned matrices, abbreviated where they are large, for
// programs whole.
#pragma once

#include <string>

#include "apps/cli/program/output.h"
#include "headlight/io/io.h"

namespace headlight::cli {

// float32, contiguous, rank 2 or more: a heading with name and shape, then one matrix for each
// index of the axes before the last two. What is abbreviated says that the option `file_option`
// gives all of it.
std::string array_text(const std::string& name, const tensor::Tensor& array,
                       const std::string& file_option);

// [2,3]
io::Json shape_json(const tensor::Tensor& array);
// A line {"shape":[2,3],"name":[[...]]}.
void print_array_json(StandardOutput& output, const std::string& name, const tensor::Tensor& array);

}  // namespace headlight::cli
