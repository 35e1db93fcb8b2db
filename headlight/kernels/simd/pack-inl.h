// Rearranges a block of a matrix into a panel: `depth` rows of adjacent numbers, as the register
// tile reads them. Per-target header: include it inside foreach_target files only.
#if defined(HEADLIGHT_KERNELS_SIMD_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_PACK_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_PACK_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_PACK_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// (depth x width) numbers with any strides: columns of the right operand or rows of the left one.
struct PanelSource {
  const float* data;
  int64_t depth;
  int64_t depth_stride;
  int64_t width;
  int64_t width_stride;
};

namespace pack_detail {

// The numbers [first, last) of every panel row, one by one.
inline void copy_lanes(const PanelSource& s, int64_t first, int64_t last, float* HWY_RESTRICT panel,
                       int64_t pitch) {
  for (int64_t k = 0; k < s.depth; ++k) {
    for (int64_t i = first; i < last; ++i)
      panel[k * pitch + i] = s.data[k * s.depth_stride + i * s.width_stride];
  }
}

#if HWY_TARGET != HWY_SCALAR

// One vector of adjacent numbers per panel row, from lane `first` on.
template <class D>
HWY_INLINE void copy_vectors(D d, const PanelSource& s, int64_t first, float* HWY_RESTRICT panel,
                             int64_t pitch) {
  const float* HWY_RESTRICT from = s.data + first;
  float* HWY_RESTRICT to = panel + first;
  for (int64_t k = 0; k < s.depth; ++k) {
    hn::StoreU(hn::LoadU(d, from), d, to);
    from += s.depth_stride;
    to += pitch;
  }
}

// Block q of the result: the four numbers at from + 4 * q * stride.
template <class D>
HWY_INLINE hn::Vec<D> load_quads(D d, const float* from, int64_t stride) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr int64_t kHalf = static_cast<int64_t>(hn::MaxLanes(half));
    return hn::Combine(d, load_quads(half, from + kHalf * stride, stride),
                       load_quads(half, from, stride));
  }
}

// The same for sources whose depth is adjacent: four depths of a whole vector of lanes at a time,
// as 4 x 4 transposes in each 128-bit block.
template <class D>
HWY_INLINE void transpose_vectors(D d, const PanelSource& s, int64_t first,
                                  float* HWY_RESTRICT panel, int64_t pitch) {
  const hn::Repartition<double, D> pairs;
  const float* from = s.data + first * s.width_stride;
  float* HWY_RESTRICT to = panel + first;
  for (int64_t k = 0; k + 4 <= s.depth; k += 4, from += 4, to += 4 * pitch) {
    const auto v0 = load_quads(d, from, s.width_stride);
    const auto v1 = load_quads(d, from + s.width_stride, s.width_stride);
    const auto v2 = load_quads(d, from + 2 * s.width_stride, s.width_stride);
    const auto v3 = load_quads(d, from + 3 * s.width_stride, s.width_stride);
    const auto low_01 = hn::BitCast(pairs, hn::InterleaveLower(d, v0, v1));
    const auto low_23 = hn::BitCast(pairs, hn::InterleaveLower(d, v2, v3));
    const auto high_01 = hn::BitCast(pairs, hn::InterleaveUpper(d, v0, v1));
    const auto high_23 = hn::BitCast(pairs, hn::InterleaveUpper(d, v2, v3));
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low_01, low_23)), d, to);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low_01, low_23)), d, to + pitch);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high_01, high_23)), d, to + 2 * pitch);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high_01, high_23)), d, to + 3 * pitch);
  }
  const int64_t whole = s.depth / 4 * 4;
  copy_lanes(
      {s.data + whole * s.depth_stride, s.depth - whole, s.depth_stride, s.width, s.width_stride},
      first, first + static_cast<int64_t>(hn::Lanes(d)), panel + whole * pitch, pitch);
}

// One vector of lanes from `first` on.
template <class D>
HWY_INLINE void pack_vector(D d, const PanelSource& s, int64_t first, float* HWY_RESTRICT panel,
                            int64_t pitch) {
  if (s.width_stride == 1) {
    copy_vectors(d, s, first, panel, pitch);
  } else {
    transpose_vectors(d, s, first, panel, pitch);
  }
}

// All lanes, of which there are at least four: the last vector overlaps the one before where they
// do not come out even.
inline void pack_vectors(const PanelSource& s, float* HWY_RESTRICT panel, int64_t pitch) {
  const hn::ScalableTag<float> d;
  const hn::FixedTag<float, 4> quad;
  constexpr int64_t kWide = static_cast<int64_t>(hn::MaxLanes(d));
  int64_t first = 0;
  for (; first + kWide <= s.width; first += kWide) pack_vector(d, s, first, panel, pitch);
  for (; first < s.width; first += 4)
    pack_vector(quad, s, std::min(first, s.width - 4), panel, pitch);
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace pack_detail

// panel[k * pitch + i] = source[k][i] for i < width, and 0 up to pitch.
inline void pack_panel(const PanelSource& s, float* HWY_RESTRICT panel, int64_t pitch) {
#if HWY_TARGET != HWY_SCALAR
  if (s.width >= 4 && (s.width_stride == 1 || s.depth_stride == 1)) {
    pack_detail::pack_vectors(s, panel, pitch);
  } else {
    pack_detail::copy_lanes(s, 0, s.width, panel, pitch);
  }
#else
  pack_detail::copy_lanes(s, 0, s.width, panel, pitch);
#endif
  if (s.width == pitch) return;
  for (int64_t k = 0; k < s.depth; ++k)
    std::fill(panel + k * pitch + s.width, panel + (k + 1) * pitch, 0.0f);
}

// The same for a source wider than a panel: panel p holds the lanes from p * pitch on and lies at
// panels + p * panel_stride. A source with adjacent lanes is read some depths at a time across all
// panels, as it lies in memory.
inline void pack_panels(const PanelSource& s, float* HWY_RESTRICT panels, int64_t pitch,
                        int64_t panel_stride) {
  constexpr int64_t kDepths = 16;
  const int64_t step = s.width_stride == 1 ? kDepths : std::max<int64_t>(s.depth, 1);
  for (int64_t k = 0; k < s.depth; k += step) {
    for (int64_t lane = 0; lane < s.width; lane += pitch) {
      pack_panel({s.data + k * s.depth_stride + lane * s.width_stride, std::min(step, s.depth - k),
                  s.depth_stride, std::min(pitch, s.width - lane), s.width_stride},
                 panels + lane / pitch * panel_stride + k * pitch, pitch);
    }
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
