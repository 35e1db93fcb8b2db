// Quantised blocks as float32. For io's own use.
#pragma once

#include <cstddef>
#include <span>

#include "headlight/io/elements.h"

namespace headlight::io {

// Writes the numbers of whole blocks of a quantised kind, to the bit what the Python package gguf
// gives for them, and gives the place after the last.
float* dequantize(Element element, std::span<const std::byte> blocks, float* to);

}  // namespace headlight::io
