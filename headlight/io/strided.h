// Arrays whose rows do not lie one after the other. For io's own use.
#pragma once

#include <vector>

#include "headlight/io/elements.h"

namespace headlight::io {

// The bytes of the array's elements in the order of its shape, read through a small window. The
// caller has compared the range that the strides reach with the file's size.
std::vector<std::byte> gather(const base::Input& input, const StoredArray& array);

}  // namespace headlight::io
