// The register tile under every product in this module: matrix products, attention scores and
// weighted sums. Each output is one chain of multiply-adds over k, from k = 0 up, whatever the
// tile's size: this is what makes a result independent of threads, batch and blocking. Per-target
// header: include it inside foreach_target files only.
#if defined(HEADLIGHT_KERNELS_SIMD_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_TILE_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_TILE_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_TILE_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(FloatTag()));
// 32 registers hold 12 x 2 accumulators, 16 hold 6 x 2. Instrumented builds take small tiles, which
// compile in a tenth of the time and give the same bits.
constexpr int kTileVectors = 2;
#ifdef HEADLIGHT_SMALL_TILES
constexpr int kTileRows = 2;
#else
constexpr int kTileRows = HWY_TARGET == HWY_AVX3 ? 12 : 6;
#endif
constexpr int kTileCols = kTileVectors * kLanes;
// Rows of b asked for ahead of their use: b usually streams by from the second-level cache or
// beyond.
constexpr int kTilePrefetch = 16;

// Where a tile's sums start: at zero, at what the output holds, or at what it holds times a factor
// per row.
enum class TileStart { zero, output, scaled_output };

// Legend: a is (rows x depth) with any strides; b is (depth x kVectors * lanes) with rows b_stride
// apart, readable in whole vectors; c is (rows x kVectors * lanes) with rows c_stride apart.
struct TileOperands {
  const float* a;
  int64_t a_row_stride;
  int64_t a_depth_stride;
  const float* b;
  int64_t b_stride;
  int64_t depth;
  float* c;
  int64_t c_stride;
  const float* row_factors;  // only for scaled_output
};

namespace tile_detail {

template <int kVectors, TileStart kStart, size_t... I>
HWY_INLINE void load(FloatVec* HWY_RESTRICT sums, const TileOperands& o,
                     std::index_sequence<I...>) {
  const FloatTag d;
  if constexpr (kStart == TileStart::zero) {
    ((sums[I] = hn::Zero(d)), ...);
  } else if constexpr (kStart == TileStart::output) {
    ((sums[I] = hn::LoadU(d, o.c + (I / kVectors) * o.c_stride + (I % kVectors) * kLanes)), ...);
  } else {
    ((sums[I] = hn::Mul(hn::LoadU(d, o.c + (I / kVectors) * o.c_stride + (I % kVectors) * kLanes),
                        hn::Set(d, o.row_factors[I / kVectors]))),
     ...);
  }
}

template <int kVectors, size_t... J>
HWY_INLINE void multiply_row(FloatVec* HWY_RESTRICT sums, const FloatVec* HWY_RESTRICT b,
                             FloatVec a, std::index_sequence<J...>) {
  ((sums[J] = hn::MulAdd(a, b[J], sums[J])), ...);
}

// The same with a number of a read for each multiply-add: AVX-512 takes it from memory without an
// instruction for it. `again` is `a`, unknown to the compiler, which would read it once.
template <int kVectors, size_t... J>
HWY_INLINE void multiply_row_from(FloatVec* HWY_RESTRICT sums, const FloatVec* HWY_RESTRICT b,
                                  const float* a, const float* again, std::index_sequence<J...>) {
  const FloatTag d;
  ((sums[J] = hn::MulAdd(hn::Set(d, J == 0 ? *a : *again), b[J], sums[J])), ...);
}

// Every second row so, where a is packed: loads are then as busy as multiply-adds.
template <int kVectors, bool kFromMemory, size_t... R, size_t... J>
HWY_INLINE void multiply(FloatVec* HWY_RESTRICT sums, const float* HWY_RESTRICT a,
                         int64_t a_row_stride, const float* HWY_RESTRICT b,
                         std::index_sequence<R...>, std::index_sequence<J...> vectors) {
  const FloatTag d;
  const FloatVec row[] = {hn::LoadU(d, b + J * kLanes)...};
  const float* again = a;
  if constexpr (kFromMemory) asm("" : "+r"(again));
  const auto multiply_one = [&]<size_t r>(std::integral_constant<size_t, r>) HWY_ATTR {
    const int64_t at = static_cast<int64_t>(r) * a_row_stride;
    FloatVec* HWY_RESTRICT to = sums + r * kVectors;
    if constexpr (kFromMemory && r % 2 == 1) {
      multiply_row_from<kVectors>(to, row, a + at, again + at, vectors);
    } else {
      multiply_row<kVectors>(to, row, hn::Set(d, a[at]), vectors);
    }
  };
  (multiply_one(std::integral_constant<size_t, R>()), ...);
}

// A row of b, a cache line at a time.
template <int kVectors>
HWY_INLINE void prefetch_row(const float* b) {
  for (int j = 0; j < kVectors * kLanes; j += 16) hwy::Prefetch(b + j);
}

template <int kVectors, size_t... I>
HWY_INLINE void store(const FloatVec* HWY_RESTRICT sums, const TileOperands& o,
                      std::index_sequence<I...>) {
  const FloatTag d;
  (hn::StoreU(sums[I], d, o.c + (I / kVectors) * o.c_stride + (I % kVectors) * kLanes), ...);
}

}  // namespace tile_detail

// kARowStride, when not 0, is a's row stride: known here, it costs no registers.
template <int kRows, int kVectors, TileStart kStart, int kARowStride = 0>
HWY_INLINE void tile(const TileOperands& o) {
  using Sums = std::make_index_sequence<static_cast<size_t>(kRows * kVectors)>;
  FloatVec sums[kRows * kVectors];
  tile_detail::load<kVectors, kStart>(sums, o, Sums());
  const float* HWY_RESTRICT a = o.a;
  const float* HWY_RESTRICT b = o.b;
  constexpr bool kFromMemory = HWY_TARGET == HWY_AVX3 && kARowStride != 0 && kVectors == 2;
  const int64_t a_row_stride = kARowStride != 0 ? kARowStride : o.a_row_stride;
  HWY_UNROLL(2)
  for (int64_t k = 0; k < o.depth; ++k) {
    tile_detail::prefetch_row<kVectors>(b + kTilePrefetch * o.b_stride);
    tile_detail::multiply<kVectors, kFromMemory>(sums, a, a_row_stride, b,
                                                 std::make_index_sequence<kRows>(),
                                                 std::make_index_sequence<kVectors>());
    a += o.a_depth_stride;
    b += o.b_stride;
  }
  tile_detail::store<kVectors>(sums, o, Sums());
}

// The same for a number of rows known only at run time, 1 to kTileRows.
template <int kVectors, TileStart kStart, int kARowStride = 0, int kRows = kTileRows>
HWY_INLINE void tile_of(int64_t rows, const TileOperands& o) {
  if constexpr (kRows == 1) {
    tile<1, kVectors, kStart, kARowStride>(o);
  } else {
    if (rows == kRows) {
      tile<kRows, kVectors, kStart, kARowStride>(o);
    } else {
      tile_of<kVectors, kStart, kARowStride, kRows - 1>(rows, o);
    }
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
