// Blocked matrix products over the register tile: fixed blocks of c are shared out to threads; a
// block walks k in slices, and each slice continues the sums that c holds.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/matmul.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "headlight/kernels/dispatch.h"
#include "headlight/kernels/matmul.h"
#include "headlight/kernels/matmul_product.h"
#include "headlight/kernels/simd/activation-inl.h"
#include "headlight/kernels/simd/blocking-inl.h"
#include "headlight/kernels/simd/pack-inl.h"
#include "headlight/kernels/simd/row-inl.h"
#include "headlight/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace {

// Part of a block: some rows, a group of panels, a slice of k.
struct Part {
  int64_t row, rows;
  int64_t panel, panels;
  int64_t k, depth;
};

// Where the tiles of a part find a: tile i at data + i * tile_stride.
struct LeftOperand {
  const float* data;
  int64_t tile_stride;
  int64_t row_stride;
  int64_t depth_stride;
};

LeftOperand left_operand(const Product& p, const Part& part, float* scratch) {
  const int64_t tile_rows = tile_rows_of(part.rows);
  const float* a = p.a.data + part.row * p.a.row_stride + part.k * p.a.col_stride;
  if (p.tiles != nullptr) return {p.tiles + part.k * tile_rows, tile_rows * p.a.cols, 1, tile_rows};
  if (scratch == nullptr) return {a, tile_rows * p.a.row_stride, p.a.row_stride, p.a.col_stride};
  pack_panels({a, part.depth, p.a.col_stride, part.rows, p.a.row_stride}, scratch, tile_rows,
              tile_rows * part.depth);
  return {scratch, tile_rows * part.depth, 1, tile_rows};
}

// Where they find the group of b: panel i at data + i * panel_stride. The last panel's missing
// columns are not to be read in place.
struct RightOperand {
  const float* data;
  int64_t panel_stride;
  int64_t depth_stride;
};

// float16, in the low half of each word, as float32. Highway's own conversion knows no infinity
// where the instruction set has none for float16; see tensor::from_float16.
HWY_INLINE hn::Vec<FloatTag> widen_half(hn::Vec<hn::RebindToUnsigned<FloatTag>> bits) {
  const FloatTag d;
#if HWY_TARGET <= HWY_AVX2
  const hn::RebindToSigned<FloatTag> numbers;
  const hn::Rebind<uint16_t, FloatTag> halves;
  const hn::Rebind<hwy::float16_t, FloatTag> half_numbers;
  const auto narrow = hn::DemoteTo(halves, hn::BitCast(numbers, bits));
  return hn::PromoteTo(d, hn::BitCast(half_numbers, narrow));
#else
  const hn::RebindToUnsigned<FloatTag> words;
  const auto magnitude = hn::And(bits, hn::Set(words, 0x7FFFu));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(words, 0x8000u)));
  const auto infinite =
      hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(words, 0x7BFFu)), hn::Set(words, 0x7F800000u));
  const auto number = hn::Mul(hn::BitCast(d, hn::ShiftLeft<13>(magnitude)), hn::Set(d, 0x1p112F));
  return hn::BitCast(d, hn::Or(hn::Or(sign, infinite), hn::BitCast(words, number)));
#endif
}

// `pairs` rows of words, in each of which two rows of numbers lie, as twice as many of float32.
void widen_panel(tensor::DType dtype, const uint32_t* HWY_RESTRICT panel, int64_t pairs,
                 float* HWY_RESTRICT to) {
  const FloatTag d;
  const hn::RebindToUnsigned<FloatTag> words;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto high = hn::Set(words, 0xFFFF0000u);
  for (int64_t pair = 0; pair < pairs; ++pair, panel += kTileCols, to += 2 * kTileCols) {
    for (int64_t i = 0; i < kTileCols; i += lanes) {
      const auto both = hn::LoadU(words, panel + i);
      if (dtype == tensor::DType::bf16) {
        hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(both)), d, to + i);
        hn::StoreU(hn::BitCast(d, hn::And(both, high)), d, to + kTileCols + i);
      } else {
        hn::StoreU(widen_half(hn::And(both, hn::Set(words, 0xFFFFu))), d, to + i);
        hn::StoreU(widen_half(hn::ShiftRight<16>(both)), d, to + kTileCols + i);
      }
    }
  }
}

RightOperand right_operand(const Product& p, const Part& part, bool in_place, float* scratch) {
  if (p.panels != nullptr && !is_narrow(p.panels_type)) {
    const int64_t stride = p.b.rows * kTileCols;
    const auto* panels = reinterpret_cast<const float*>(p.panels);
    return {panels + part.panel * stride + part.k * kTileCols, stride, kTileCols};
  }
  if (p.panels != nullptr) {
    const int64_t stride = p.b.rows / 2 * kTileCols;
    const auto* panels = reinterpret_cast<const uint32_t*>(p.panels);
    for (int64_t i = 0; i < part.panels; ++i) {
      widen_panel(p.panels_type, panels + (part.panel + i) * stride + part.k / 2 * kTileCols,
                  part.depth / 2, scratch + i * part.depth * kTileCols);
    }
    return {scratch, part.depth * kTileCols, kTileCols};
  }
  const int64_t col = part.panel * kTileCols;
  const int64_t cols = std::min(part.panels * kTileCols, p.b.cols - col);
  const float* b = p.b.data + part.k * p.b.row_stride + col * p.b.col_stride;
  if (in_place && cols == part.panels * kTileCols) return {b, kTileCols, p.b.row_stride};
  pack_panels({b, part.depth, p.b.row_stride, cols, p.b.col_stride}, scratch, kTileCols,
              part.depth * kTileCols);
  return {scratch, part.depth * kTileCols, kTileCols};
}

// What follows the sums, for a tile of c at (row, col).
void finish_tile(const Product& p, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  const Epilogue& e = p.epilogue;
  if (e.bias == nullptr && e.before_activation == nullptr && e.activation == Activation::none)
    return;
  for (int64_t r = row; r < row + rows; ++r) {
    float* c = p.c.data + r * p.c.row_stride;
    for_vectors(col, col + cols, [&](auto at) HWY_ATTR {
      FloatVec v = at.load(c);
      if (e.bias != nullptr) v = hn::Add(v, at.load(e.bias));
      if (e.before_activation != nullptr) at.store(v, e.before_activation + r * p.c.row_stride);
      at.store(activate(FloatTag(), e.activation, v), c);
    });
  }
}

void copy_tile(const float* from, int64_t from_stride, float* to, int64_t to_stride, int64_t rows,
               int64_t cols) {
  for (int64_t r = 0; r < rows; ++r)
    std::memcpy(to + r * to_stride, from + r * from_stride,
                static_cast<size_t>(cols) * sizeof(float));
}

template <int kARowStride>
void run_tile(const TileOperands& o, int64_t rows, bool from_output) {
  if (from_output) {
    tile_of<kTileVectors, TileStart::output, kARowStride>(rows, o);
  } else {
    tile_of<kTileVectors, TileStart::zero, kARowStride>(rows, o);
  }
}

// The sums of one tile over one slice, in c or, where c has fewer columns than the tile, by way of
// `edge`.
void sum_tile(TileOperands o, int64_t rows, int64_t cols, bool from_output, float* edge) {
  float* c = o.c;
  const int64_t c_stride = o.c_stride;
  if (cols < kTileCols) {
    std::fill(edge, edge + kTileRows * kTileCols, 0.0f);
    if (from_output) copy_tile(c, c_stride, edge, kTileCols, rows, cols);
    o.c = edge;
    o.c_stride = kTileCols;
  }
  if (o.a_row_stride == 1) {
    run_tile<1>(o, rows, from_output);
  } else {
    run_tile<0>(o, rows, from_output);
  }
  if (cols < kTileCols) copy_tile(edge, kTileCols, c, c_stride, rows, cols);
}

// Asks for the tile of c that comes next: its lines are far apart, and no hardware foresees them.
HWY_INLINE void prefetch_tile(const float* c, int64_t c_stride, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) tile_detail::prefetch_row<kTileVectors>(c + r * c_stride);
}

void sum_part(const Product& p, const Part& part, const LeftOperand& left,
              const RightOperand& right, float* edge) {
  const int64_t tile_rows = tile_rows_of(part.rows);
  const bool from_output = p.epilogue.accumulate || part.k > 0;
  const bool last = part.k + part.depth == p.a.cols;
  for (int64_t r = 0; r < part.rows; r += tile_rows) {
    const int64_t row = part.row + r;
    const int64_t rows = std::min(tile_rows, part.rows - r);
    float* first_c = p.c.data + row * p.c.row_stride + part.panel * kTileCols;
    for (int64_t i = 0; i < part.panels; ++i) {
      const int64_t col = (part.panel + i) * kTileCols;
      const int64_t cols = std::min<int64_t>(kTileCols, p.c.cols - col);
      float* c = first_c + i * kTileCols;
      prefetch_tile(i + 1 < part.panels ? c + kTileCols : first_c + tile_rows * p.c.row_stride,
                    p.c.row_stride, rows);
      sum_tile({left.data + r / tile_rows * left.tile_stride, left.row_stride, left.depth_stride,
                right.data + i * right.panel_stride, right.depth_stride, part.depth, c,
                p.c.row_stride, nullptr},
               rows, cols, from_output, edge);
      if (last) finish_tile(p, row, rows, col, cols);
    }
  }
}

// One slice of a block, from depth k on.
void compute_block(const Product& p, const Cut& cut, int64_t k, int64_t block, int worker) {
  const int64_t row = block % cut.row_blocks * cut.block_rows;
  const int64_t first_panel = block / cut.row_blocks * cut.block_panels;
  const int64_t last_panel =
      std::min(first_panel + cut.block_panels, ceil_divide(p.c.cols, kTileCols));
  Part part{};
  part.row = row;
  part.rows = std::min(cut.block_rows, p.c.rows - row);
  part.k = k;
  part.depth = std::min(cut.slice_depth, p.a.cols - k);
  const LeftOperand left = left_operand(p, part, cut.pack_a ? cut.a_scratch(worker) : nullptr);
  for (part.panel = first_panel; part.panel < last_panel; part.panel += cut.group_panels) {
    part.panels = std::min(cut.group_panels, last_panel - part.panel);
    sum_part(p, part, left, right_operand(p, part, cut.b_in_place, cut.group_scratch(worker)),
             cut.edge_scratch(worker));
  }
}

int64_t panel_width() { return kTileCols; }

int64_t panels_size(int64_t rows, int64_t cols) {
  return rows * ceil_divide(cols, kTileCols) * kTileCols;
}

// Rearranges a source in panels of `pitch` lanes, all `s.depth` deep. Cut by depth: rows of what
// layers pass on lie in the cache of the worker that made them.
void pack_all(const Execution& execution, const PanelSource& s, int64_t pitch, float* panels) {
  constexpr int64_t kPackTasks = 8;
  const int64_t depth = even_piece(s.depth, std::max<int64_t>(16, s.depth / kPackTasks), 16);
  execution.threads.parallel_for(ceil_divide(s.depth, depth), [&](int64_t task, int) {
    const int64_t k = task * depth;
    pack_panels({s.data + k * s.depth_stride, std::min(depth, s.depth - k), s.depth_stride, s.width,
                 s.width_stride},
                panels + k * pitch, pitch, s.depth * pitch);
  });
}

void pack(const Execution& execution, const tensor::ConstMatrixView& b, float* panels) {
  pack_all(execution, {b.data, b.rows, b.row_stride, b.cols, b.col_stride}, kTileCols, panels);
}

// A part of a matrix of `depth` rows, `panels` being where it begins.
void pack_part(const tensor::ConstMatrixView& part, int64_t depth, float* panels) {
  pack_panels({part.data, part.rows, part.row_stride, part.cols, part.col_stride}, panels,
              kTileCols, depth * kTileCols);
}

// Many blocks of rows would rearrange plain b once each: then it is done once for all before.
void product(const Execution& execution, Product p) {
  Cut cut = cut_of(p);
  tensor::Block panels;
  if (p.panels == nullptr && cut.row_blocks > 2) {
    panels = execution.arena.allocate(static_cast<size_t>(panels_size(p.b.rows, p.b.cols)) *
                                      sizeof(float));
    pack(execution, p.b, reinterpret_cast<float*>(panels.get()));
    p.panels = panels.get();
    p.panels_type = tensor::DType::f32;
    cut.b_packed = true;
  }
  tensor::Block tiles;
  if (cut.a_packed) {
    const int64_t pitch = tile_rows_of(p.a.rows);
    tiles = execution.arena.allocate(
        static_cast<size_t>(ceil_divide(p.a.rows, pitch) * pitch * p.a.cols) * sizeof(float));
    float* data = reinterpret_cast<float*>(tiles.get());
    pack_all(execution, {p.a.data, p.a.cols, p.a.col_stride, p.a.rows, p.a.row_stride}, pitch,
             data);
    p.tiles = data;
  }
  const tensor::Block scratch = execution.arena.allocate(
      static_cast<size_t>(cut.scratch_size() * execution.threads.size()) * sizeof(float));
  cut.scratch = reinterpret_cast<float*>(scratch.get());
  int64_t k = 0;
  do {  // once even when there is no k: the sums are zero then
    execution.threads.parallel_for(
        cut.row_blocks * cut.panel_blocks,
        [&](int64_t block, int worker) { compute_block(p, cut, k, block, worker); });
    k += cut.slice_depth;
  } while (k < p.a.cols);
}

}  // namespace
}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {
namespace {
HEADLIGHT_EXPORT(panels_size);
HEADLIGHT_EXPORT(panel_width);
HEADLIGHT_EXPORT(pack);
HEADLIGHT_EXPORT(pack_part);
HEADLIGHT_EXPORT(product);

void dispatch(const Execution& execution, const Product& p) {
  if (p.c.rows == 0 || p.c.cols == 0) return;
  HEADLIGHT_DISPATCH(product)(execution, p);
}
}  // namespace

PackedMatrix::PackedMatrix(const Execution& execution, tensor::ConstMatrixView b,
                           const std::function<void(int64_t)>& on_packed)
    : rows_(b.rows), cols_(b.cols) {
  constexpr int64_t kRunSize = int64_t{2} << 20;  // numbers of a run: enough for all threads
  panels_ = tensor::allocate_block(bytes_for(b.rows, b.cols, dtype_));
  auto* panels = reinterpret_cast<float*>(panels_.get());
  const int64_t width = columns_together();
  const int64_t run = std::max<int64_t>(1, kRunSize / std::max<int64_t>(1, rows_ * width)) * width;
  for (int64_t first = 0; first < cols_; first += run) {
    tensor::ConstMatrixView part = b;
    part.data += first * b.col_stride;
    part.cols = std::min(run, cols_ - first);
    HEADLIGHT_DISPATCH(pack)(execution, part, panels + first * rows_);
    if (on_packed) on_packed(first + part.cols);
  }
}

PackedMatrix::PackedMatrix(int64_t rows, int64_t cols, tensor::DType dtype, tensor::Block memory)
    : rows_(rows), cols_(cols), dtype_(dtype), panels_(std::move(memory)) {}

size_t PackedMatrix::bytes_for(int64_t rows, int64_t cols, tensor::DType dtype) {
  const size_t size = is_narrow(dtype) ? sizeof(uint16_t) : sizeof(float);
  return static_cast<size_t>(HEADLIGHT_DISPATCH(panels_size)(rows, cols)) * size;
}

int64_t PackedMatrix::columns_together() { return HEADLIGHT_DISPATCH(panel_width)(); }

void PackedMatrix::set(int64_t row, int64_t col, tensor::ConstMatrixView part) {
  auto* panels = reinterpret_cast<float*>(panels_.get());
  HEADLIGHT_DISPATCH(pack_part)(part, rows_, panels + col * rows_ + row * columns_together());
}

// Words of two numbers are moved as if they were float32.
void PackedMatrix::set_narrow(int64_t col, int64_t count, const uint16_t* columns) {
  const int64_t words = rows_ / 2;
  auto* panels = reinterpret_cast<float*>(panels_.get());
  HEADLIGHT_DISPATCH(pack_part)
  ({reinterpret_cast<const float*>(columns), words, count, 1, words}, words, panels + col * words);
}

float PackedMatrix::number(int64_t row, int64_t col) const {
  const int64_t width = columns_together();
  if (!is_narrow(dtype_)) {
    const auto* panels = reinterpret_cast<const float*>(panels_.get());
    return panels[col / width * width * rows_ + row * width + col % width];
  }
  const auto* panels = reinterpret_cast<const uint16_t*>(panels_.get());
  const int64_t word = col / width * width * (rows_ / 2) + row / 2 * width + col % width;
  const uint16_t bits = panels[2 * word + row % 2];
  return dtype_ == tensor::DType::f16 ? tensor::from_float16(bits) : tensor::from_bfloat16(bits);
}

void PackedMatrix::unpack(float* to, int64_t row_stride, int64_t col_stride) const {
  std::vector<float> column(static_cast<size_t>(rows_));
  for (int64_t j = 0; j < cols_; ++j) {
    unpack_column(j, column.data());
    for (int64_t i = 0; i < rows_; ++i) {
      to[i * row_stride + j * col_stride] = column[static_cast<size_t>(i)];
    }
  }
}

void PackedMatrix::unpack_row(int64_t row, float* to) const {
  for (int64_t j = 0; j < cols_; ++j) to[j] = number(row, j);
}

void PackedMatrix::unpack_column(int64_t column, float* to) const {
  const int64_t width = columns_together();
  const int64_t words = is_narrow(dtype_) ? rows_ / 2 : rows_;
  const float* word = reinterpret_cast<const float*>(panels_.get()) +
                      column / width * width * words + column % width;
  for (int64_t i = 0; i < words; ++i, word += width) {
    if (is_narrow(dtype_)) {
      to = tensor::widen(dtype_, std::as_bytes(std::span(word, 1)), to);
    } else {
      *to++ = *word;
    }
  }
}

void matmul(const Execution& execution, tensor::ConstMatrixView a, tensor::ConstMatrixView b,
            tensor::MatrixView c, const Epilogue& epilogue) {
  dispatch(execution, {a, b, nullptr, tensor::DType::f32, c, epilogue});
}

void matmul(const Execution& execution, tensor::ConstMatrixView a, const PackedMatrix& b,
            tensor::MatrixView c, const Epilogue& epilogue) {
  dispatch(execution, {a, {nullptr, b.rows(), b.cols(), 0, 0}, b.panels(), b.dtype(), c, epilogue});
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
