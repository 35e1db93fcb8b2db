// The Python dictionary in an .npy file's header. For io's own use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::io {

struct NpyHeader {
  std::string descr;  // "<f4"
  bool is_fortran_order = false;
  std::vector<int64_t> shape;
};

// Reads exactly {'descr': text, 'fortran_order': True or False, 'shape': (sizes)} in any order;
// nothing is evaluated. Throws Error(bad_input) with the byte of the mistake; `path` is for errors.
NpyHeader parse_npy_header(std::string_view text, const std::string& path);

}  // namespace headlight::io
