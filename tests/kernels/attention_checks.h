// What the tests of both kinds of attention share: agreement with the reference, the same bits
// whatever runs beside, and simple cases.
#pragma once

#include <string>
#include <vector>

#include "tests/kernels/attention_cases.h"
#include "tests/kernels/rows.h"

namespace headlight::tests {

// Runs `body` under each instruction set, and puts the best one back.
template <class F>
void on_each_target(const F& body) {
  for (const std::string& target : kernels::simd_targets()) {
    kernels::limit_simd(target);
    SCOPED_TRACE(target);
    body();
  }
  kernels::limit_simd(kernels::simd_targets().front());
}

// Largest difference relative to the largest wanted; infinite when one is not a number where the
// other is.
double difference(const std::vector<float>& got, const std::vector<double>& want);

// Everything both runs have.
bool same_run(const AttentionRun& a, const AttentionRun& b);

// `count` random problems from seed `first` on, every one on every instruction set against the
// reference; the same bits on one of them, in turn: over threads, alone, and cached row by row.
void expect_agreement_and_same_bits(uint64_t first, uint64_t count, const CaseLimits& limits);

// One sequence, one head, `keys` keys, width 8, everything random.
AttentionCase plain_case(int64_t queries, int64_t keys);

// Nothing to see: zeros everywhere, and no maximum.
void expect_zeros_without_keys(AttentionCase c);

}  // namespace headlight::tests
