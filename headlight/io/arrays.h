// Array files by their ending: .npy, .safetensors[:name], .json (nested lists), .csv (2-D).
#pragma once

#include <string>
#include <string_view>

#include "headlight/base/base.h"
#include "headlight/tensor/tensor.h"

namespace headlight::io {

// "weights.safetensors:encoder.0" is the file "weights.safetensors" and the name "encoder.0". Any
// other text is a path.
struct ArrayPlace {
  std::string path;
  std::string name;
};
ArrayPlace split_place(const std::string& place);
// Whether the ending is one that is read and written here.
bool is_array_place(const std::string& place);

// The array as the file has it: float32 (float64 is rounded to it), float16 or bfloat16 as storage,
// int64 (from any integers), or bool. A .safetensors file of one tensor needs no name. .json and
// .csv are int64 where all numbers are integers. Throws Error(out_of_memory) before anything is
// read when the array would not fit into what is free.
tensor::Tensor read_array(base::FileSystem& files, const std::string& place);

// Throws Error(bad_input) when write_array would do so for an array of this rank: to be asked
// before the array is computed.
void check_rank_fits(const std::string& place, int rank);

// Writes the array; in .safetensors it is called `array` unless the place names it. .npy has no
// bfloat16 and gets float32; .json writes a number that is not finite as null; .csv takes rank 2
// only.
void write_array(base::FileSystem& files, const std::string& place, const tensor::Tensor& array);

// The same values in another dtype, or the tensor itself where it has it already; `name` is for
// errors. To int64: each value must be an integer (within 2^24 from floats, which hold no others
// exactly). To bool: each value must be 0 or 1.
tensor::Tensor as_float32(const tensor::Tensor& array);
tensor::Tensor as_int64(const tensor::Tensor& array, std::string_view name);
tensor::Tensor as_boolean(const tensor::Tensor& array, std::string_view name);
// A float32 array's numbers as float16 or bfloat16 where each of them is one, so that nothing is
// lost; an undefined tensor otherwise.
tensor::Tensor narrowed(const tensor::Tensor& array, tensor::DType dtype);

}  // namespace headlight::io
