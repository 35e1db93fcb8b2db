// Blocked matrix products over the register tile: fixed blocks of c are shared out to threads; a
// block walks k in slices, and each slice continues the sums that c holds.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/matmul.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "headlight/kernels/matmul.h"
#include "headlight/kernels/simd/pack-inl.h"
#include "headlight/kernels/simd/tile-inl.h"

#ifndef HEADLIGHT_KERNELS_MATMUL_ONCE_
#define HEADLIGHT_KERNELS_MATMUL_ONCE_
namespace headlight::kernels {

// One product; b's panels are used where there are any, else its numbers.
struct Product {
  tensor::ConstMatrixView a;
  tensor::ConstMatrixView b;
  const float* panels;
  tensor::MatrixView c;
  const Epilogue& epilogue;
};

inline int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace headlight::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

// A slice of a panel of b (kSliceDepth x kTileCols) stays in the first-level cache while the rows
// of a block pass by; the block's slice of a (kBlockRows x kSliceDepth) stays in the second level.
constexpr int64_t kSliceDepth = 256;
constexpr int64_t kBlockRows = 32 * kTileRows;
// A block of c worth a task of its own, in multiply-adds, and how many are enough to keep threads
// evenly busy.
constexpr int64_t kTaskWork = 1 << 19;
constexpr int64_t kEnoughTasks = 48;

// How a product is cut. Sizes are even out, so that the last piece is not a sliver. Scratch is per
// worker: slices of a and of a panel, and a tile.
struct Cut {
  int64_t slice_depth;
  int64_t block_rows;
  int64_t block_panels;
  int64_t row_blocks;
  int64_t panel_blocks;
  float* scratch;
  int64_t scratch_stride;

  float* a_slice(int worker) const { return scratch + worker * scratch_stride; }
  float* panel_slice(int worker) const { return a_slice(worker) + block_rows * slice_depth; }
  float* edge_tile(int worker) const { return panel_slice(worker) + slice_depth * kTileCols; }
};

// Even pieces of at most `most`, a multiple of `unit`.
int64_t even_piece(int64_t whole, int64_t most, int64_t unit) {
  const int64_t pieces = std::max<int64_t>(1, ceil_divide(whole, most));
  return std::max(unit, ceil_divide(ceil_divide(whole, pieces), unit) * unit);
}

Cut cut_of(int64_t m, int64_t k, int64_t n) {
  Cut cut{};
  cut.slice_depth = even_piece(k, kSliceDepth, 8);
  cut.block_rows = even_piece(m, kBlockRows, kTileRows);
  cut.row_blocks = ceil_divide(m, cut.block_rows);
  const int64_t panels = ceil_divide(n, kTileCols);
  const int64_t tasks = std::clamp<int64_t>(m * k * n / kTaskWork, 1, kEnoughTasks);
  const int64_t blocks = std::clamp<int64_t>(ceil_divide(tasks, cut.row_blocks), 1, panels);
  cut.block_panels = ceil_divide(panels, blocks);
  cut.panel_blocks = ceil_divide(panels, cut.block_panels);
  cut.scratch_stride = (cut.block_rows + kTileCols) * cut.slice_depth + kTileRows * kTileCols;
  return cut;
}

// Rows of the micro-tiles of a block: even, so that 16 rows are 8 + 8 rather than 12 + 4.
int64_t tile_rows_of(int64_t rows) { return even_piece(rows, kTileRows, 1); }

// The left operand of a block's slice: tile t starts at data + t * tile_stride.
struct LeftSlice {
  const float* data;
  int64_t tile_stride;
  int64_t row_stride;
  int64_t depth_stride;
};

LeftSlice left_slice(const Product& p, int64_t row, int64_t rows, int64_t k, int64_t depth,
                     float* scratch) {
  const int64_t tile_rows = tile_rows_of(rows);
  const float* a = p.a.data + row * p.a.row_stride + k * p.a.col_stride;
  if (p.a.col_stride == 1) return {a, tile_rows * p.a.row_stride, p.a.row_stride, 1};
  for (int64_t r = 0; r < rows; r += tile_rows) {
    const int64_t count = std::min(tile_rows, rows - r);
    pack_panel({a + r * p.a.row_stride, depth, p.a.col_stride, count, p.a.row_stride},
               scratch + r * depth, tile_rows);
  }
  return {scratch, tile_rows * depth, 1, tile_rows};
}

const float* panel_slice(const Product& p, int64_t panel, int64_t k, int64_t depth,
                         float* scratch) {
  if (p.panels != nullptr) return p.panels + (panel * p.b.rows + k) * kTileCols;
  const int64_t col = panel * kTileCols;
  pack_panel({p.b.data + k * p.b.row_stride + col * p.b.col_stride, depth, p.b.row_stride,
              std::min<int64_t>(kTileCols, p.b.cols - col), p.b.col_stride},
             scratch, kTileCols);
  return scratch;
}

// Vectors of which only the first `count` lanes are in memory.
HWY_INLINE FloatVec load_some(const float* from, int64_t count) {
  const FloatTag d;
  if (count >= kLanes) return hn::LoadU(d, from);
  HWY_ALIGN float lanes[kLanes] = {};
  std::memcpy(lanes, from, static_cast<size_t>(count) * sizeof(float));
  return hn::Load(d, lanes);
}

HWY_INLINE void store_some(FloatVec v, float* to, int64_t count) {
  const FloatTag d;
  if (count >= kLanes) return hn::StoreU(v, d, to);
  HWY_ALIGN float lanes[kLanes];
  hn::Store(v, d, lanes);
  std::memcpy(to, lanes, static_cast<size_t>(count) * sizeof(float));
}

// What follows the sums, for a tile of c at (row, col).
void finish_tile(const Product& p, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  const Epilogue& e = p.epilogue;
  if (e.bias == nullptr && e.before_activation == nullptr && e.activation == Activation::none)
    return;
  for (int64_t r = row; r < row + rows; ++r) {
    for (int64_t j = col; j < col + cols; j += kLanes) {
      const int64_t count = col + cols - j;
      const int64_t at = r * p.c.row_stride + j;
      FloatVec v = load_some(p.c.data + at, count);
      if (e.bias != nullptr) v = hn::Add(v, load_some(e.bias + j, count));
      if (e.before_activation != nullptr) store_some(v, e.before_activation + at, count);
      store_some(v, p.c.data + at, count);
    }
  }
}

void copy_tile(const float* from, int64_t from_stride, float* to, int64_t to_stride, int64_t rows,
               int64_t cols) {
  for (int64_t r = 0; r < rows; ++r)
    std::memcpy(to + r * to_stride, from + r * from_stride,
                static_cast<size_t>(cols) * sizeof(float));
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
  if (from_output) {
    tile_of<kTileVectors, TileStart::output>(rows, o);
  } else {
    tile_of<kTileVectors, TileStart::zero>(rows, o);
  }
  if (cols < kTileCols) copy_tile(edge, kTileCols, c, c_stride, rows, cols);
}

void compute_block(const Product& p, const Cut& cut, int64_t block, int worker) {
  const int64_t k_count = p.a.cols;
  const int64_t row = block % cut.row_blocks * cut.block_rows;
  const int64_t rows = std::min(cut.block_rows, p.c.rows - row);
  const int64_t tile_rows = tile_rows_of(rows);
  const int64_t first_panel = block / cut.row_blocks * cut.block_panels;
  const int64_t last_panel =
      std::min(first_panel + cut.block_panels, ceil_divide(p.c.cols, kTileCols));
  int64_t k = 0;
  do {  // once even when there is no k: the sums are zero then
    const int64_t depth = std::min(cut.slice_depth, k_count - k);
    const bool last = k + depth == k_count;
    const LeftSlice left = left_slice(p, row, rows, k, depth, cut.a_slice(worker));
    for (int64_t panel = first_panel; panel < last_panel; ++panel) {
      const int64_t col = panel * kTileCols;
      const int64_t cols = std::min<int64_t>(kTileCols, p.c.cols - col);
      const float* b = panel_slice(p, panel, k, depth, cut.panel_slice(worker));
      for (int64_t r = 0; r < rows; r += tile_rows) {
        const int64_t count = std::min(tile_rows, rows - r);
        sum_tile({left.data + r / tile_rows * left.tile_stride, left.row_stride, left.depth_stride,
                  b, kTileCols, depth, p.c.data + (row + r) * p.c.row_stride + col, p.c.row_stride,
                  nullptr},
                 count, cols, p.epilogue.accumulate || k > 0, cut.edge_tile(worker));
        if (last) finish_tile(p, row + r, count, col, cols);
      }
    }
    k += depth;
  } while (k < k_count);
}

int64_t panels_size(int64_t rows, int64_t cols) {
  return rows * ceil_divide(cols, kTileCols) * kTileCols;
}

void pack(const Execution& execution, const tensor::ConstMatrixView& b, float* panels) {
  execution.threads.parallel_for(ceil_divide(b.cols, kTileCols), [&](int64_t panel, int) {
    const int64_t col = panel * kTileCols;
    pack_panel({b.data + col * b.col_stride, b.rows, b.row_stride,
                std::min<int64_t>(kTileCols, b.cols - col), b.col_stride},
               panels + panel * b.rows * kTileCols, kTileCols);
  });
}

void product(const Execution& execution, Product p) {
  Cut cut = cut_of(p.c.rows, p.a.cols, p.c.cols);
  tensor::Block panels;
  if (p.panels == nullptr && cut.row_blocks > 2) {
    panels = execution.arena.allocate(static_cast<size_t>(panels_size(p.b.rows, p.b.cols)) *
                                      sizeof(float));
    float* data = reinterpret_cast<float*>(panels.get());
    pack(execution, p.b, data);
    p.panels = data;
  }
  const tensor::Block scratch = execution.arena.allocate(
      static_cast<size_t>(cut.scratch_stride * execution.threads.size()) * sizeof(float));
  cut.scratch = reinterpret_cast<float*>(scratch.get());
  execution.threads.parallel_for(cut.row_blocks * cut.panel_blocks, [&](int64_t block, int worker) {
    compute_block(p, cut, block, worker);
  });
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {
namespace {
HWY_EXPORT(panels_size);
HWY_EXPORT(pack);
HWY_EXPORT(product);

void dispatch(const Execution& execution, const Product& p) {
  if (p.c.rows == 0 || p.c.cols == 0) return;
  HWY_DYNAMIC_DISPATCH(product)(execution, p);
}
}  // namespace

PackedMatrix::PackedMatrix(const Execution& execution, tensor::ConstMatrixView b)
    : rows_(b.rows), cols_(b.cols) {
  const int64_t size = HWY_DYNAMIC_DISPATCH(panels_size)(b.rows, b.cols);
  panels_ = execution.arena.allocate(static_cast<size_t>(size) * sizeof(float));
  HWY_DYNAMIC_DISPATCH(pack)(execution, b, reinterpret_cast<float*>(panels_.get()));
}

void matmul(const Execution& execution, tensor::ConstMatrixView a, tensor::ConstMatrixView b,
            tensor::MatrixView c, const Epilogue& epilogue) {
  dispatch(execution, {a, b, nullptr, c, epilogue});
}

void matmul(const Execution& execution, tensor::ConstMatrixView a, const PackedMatrix& b,
            tensor::MatrixView c, const Epilogue& epilogue) {
  dispatch(execution, {a, {nullptr, b.rows(), b.cols(), 0, 0}, b.panels(), c, epilogue});
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
