// What must hold for any bytes: a violation is a crash, which the fuzzer reports.
#pragma once

#include "headlight/base/base.h"

namespace headlight::fuzz {

inline void require(bool condition) {
  if (!condition) __builtin_trap();
}

// The call's result: what we wrote ourselves is read without an Error.
template <class Call>
auto must_succeed(const Call& call) {
  try {
    return call();
  } catch (const base::Error&) {
    __builtin_trap();
  }
}

}  // namespace headlight::fuzz
