// Rows of numbers in vectors: element by element and summed. The last, partial vector goes through
// the same function as the others, so an element's bits do not depend on its place. Per-target
// header: include it inside foreach_target files only.
#if defined(HEADLIGHT_KERNELS_SIMD_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_ROW_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_ROW_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_ROW_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "headlight/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The first `count` numbers, fewer than a vector, and zeros. Nothing past them is read.
HWY_INLINE FloatVec load_first(const float* from, int64_t count) {
  const FloatTag d;
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
#else
  HWY_ALIGN float lanes[kLanes] = {};
  std::copy(from, from + count, lanes);
  return hn::Load(d, lanes);
#endif
}

// Writes the first `count` lanes and nothing else.
HWY_INLINE void store_first(FloatVec v, float* to, int64_t count) {
  const FloatTag d;
#if HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, to);
#else
  HWY_ALIGN float lanes[kLanes];
  hn::Store(v, d, lanes);
  std::copy(lanes, lanes + count, to);
#endif
}

// Columns c to c + kLanes of a row, and the last ones, which may be fewer. within(v, other) is v in
// the lanes of the row and `other` past its end.
struct WholeVector {
  int64_t c;
  HWY_INLINE FloatVec load(const float* row) const { return hn::LoadU(FloatTag(), row + c); }
  HWY_INLINE void store(FloatVec v, float* row) const { hn::StoreU(v, FloatTag(), row + c); }
  HWY_INLINE FloatVec within(FloatVec v, FloatVec) const { return v; }
};
struct LastVector {
  int64_t c;
  int64_t count;
  HWY_INLINE FloatVec load(const float* row) const { return load_first(row + c, count); }
  HWY_INLINE void store(FloatVec v, float* row) const { store_first(v, row + c, count); }
  HWY_INLINE FloatVec within(FloatVec v, FloatVec other) const {
    return hn::IfThenElse(hn::FirstN(FloatTag(), static_cast<size_t>(count)), v, other);
  }
};

// Calls f(vector) for columns [first, end); lanes past the end are loaded as zero and not stored.
template <class F>
HWY_INLINE void for_vectors(int64_t first, int64_t end, const F& f) {
  int64_t c = first;
  for (; c + kLanes <= end; c += kLanes) f(WholeVector{c});
  if (c < end) f(LastVector{c, end - c});
}

// y[i] = f(x[i], ...) for i < count; y may be one of the x.
template <class F, class... X>
HWY_INLINE void map_row(int64_t count, float* y, const F& f, const X*... x) {
  for_vectors(0, count, [&](auto at) HWY_ATTR { at.store(f(at.load(x)...), y); });
}

// Folds f(x[i], ...) over columns [first, end) with `combine`, from `start`, in an order fixed by
// their number: four chains of vectors, which hide the latency, and then the lanes of one vector.
template <class Combine, class F, class... X>
HWY_INLINE FloatVec fold_vectors(int64_t first, int64_t end, FloatVec start, const Combine& combine,
                                 const F& f, const X*... x) {
  const FloatTag d;
  FloatVec chain_0 = start, chain_1 = start, chain_2 = start, chain_3 = start;
  int64_t c = first;
  for (; c + 4 * kLanes <= end; c += 4 * kLanes) {
    chain_0 = combine(chain_0, f(hn::LoadU(d, x + c)...));
    chain_1 = combine(chain_1, f(hn::LoadU(d, x + c + kLanes)...));
    chain_2 = combine(chain_2, f(hn::LoadU(d, x + c + 2 * kLanes)...));
    chain_3 = combine(chain_3, f(hn::LoadU(d, x + c + 3 * kLanes)...));
  }
  for_vectors(c, end, [&](auto at) HWY_ATTR {
    chain_0 = combine(chain_0, at.within(f(at.load(x)...), start));
  });
  return combine(combine(chain_0, chain_1), combine(chain_2, chain_3));
}

// Sum of f(x[i], ...) over i < count. Blocks are added up in double, so that the error does not
// grow with long rows.
template <class F, class... X>
HWY_INLINE double sum_row(int64_t count, const F& f, const X*... x) {
  constexpr int64_t kBlock = 1024;
  const FloatTag d;
  const auto add = [](FloatVec a, FloatVec b) HWY_ATTR { return hn::Add(a, b); };
  double total = 0;
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t end = std::min(count, first + kBlock);
    total += hn::GetLane(hn::SumOfLanes(d, fold_vectors(first, end, hn::Zero(d), add, f, x...)));
  }
  return total;
}

// The largest of `count` numbers; -infinity when there are none.
HWY_INLINE float max_row(int64_t count, const float* x) {
  const FloatTag d;
  const auto larger = [](FloatVec a, FloatVec b) HWY_ATTR { return hn::Max(a, b); };
  const auto same = [](FloatVec v) HWY_ATTR { return v; };
  const FloatVec lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  return hn::GetLane(hn::MaxOfLanes(d, fold_vectors(0, count, lowest, larger, same, x)));
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
