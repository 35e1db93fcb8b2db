// Which of the compiled instruction sets a kernel runs on. Highway would choose too, in a shared
// library that measures the clock whenever a program starts, 3 ms each time: so the choice is made
// here, and of Highway only headers are used.
//
//   HEADLIGHT_EXPORT(softmax_rows);                 once, beside the kernel's wrapper
//   HEADLIGHT_DISPATCH(softmax_rows)(arguments);    calls the one for this machine
#pragma once

#include <cstddef>

namespace headlight::kernels {

// The column of every table below that this machine, and any limit, asks for.
size_t chosen_target() noexcept;

}  // namespace headlight::kernels

// Best first, as kTargets in execution.cpp; what was not compiled is null and never chosen.
#define HEADLIGHT_EXPORT(KERNEL)                                                        \
  static constexpr decltype(&HWY_STATIC_DISPATCH(KERNEL)) KERNEL##_on_each_target[] = { \
      HWY_CHOOSE_AVX3(KERNEL), HWY_CHOOSE_AVX2(KERNEL), HWY_CHOOSE_SSE4(KERNEL),        \
      HWY_CHOOSE_FALLBACK(KERNEL)}

#define HEADLIGHT_DISPATCH(KERNEL) (*KERNEL##_on_each_target[::headlight::kernels::chosen_target()])
