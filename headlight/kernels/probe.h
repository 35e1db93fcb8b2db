// The most this machine can give, measured: what shares of the limit are shares of. A machine that
// is shared gives less at times, so probe before, between and after the work and take the highest.
#pragma once

#include <span>

#include "headlight/kernels/execution.h"

namespace headlight::kernels {

// Floating-point operations per second of independent multiply-adds in registers (each counts two),
// on all threads with the instruction set in use. Takes about 60 ms.
double multiply_add_limit(const Execution& execution);

// Bytes per second of reading `memory` once from end to end on all threads, the best of a few
// passes. To measure memory and not a cache it must be much larger than the last-level cache, and
// written to before.
double read_limit(const Execution& execution, std::span<const float> memory);

}  // namespace headlight::kernels
