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
#include "headlight/kernels/simd/activation-inl.h"
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

// k is walked in slices. A group of panels of b, one slice deep, stays in the second-level cache
// while the rows of a block pass by in tiles; a tile's rows of a stay in the first-level cache
// while it meets the panels of the group.
constexpr int64_t kSliceDepth = 768;
constexpr int64_t kGroupBytes = 5 << 18;
// With so few tiles of rows that b is hardly used again, a group is one panel whose slice stays in
// the first-level cache.
constexpr int64_t kFewTiles = 4;
constexpr int64_t kShallowDepth = 256;
// Rows of a rearranged together, where they are.
constexpr int64_t kPackedRows = 8 * kTileRows;
// Rows that make it worth reading a group into the cache, and the multiply-adds that make a task
// worth handing out.
constexpr int64_t kBlockRows = 512;
constexpr int64_t kTaskWork = 1 << 19;
constexpr int64_t kEnoughTasks = 16;

// Even pieces of at most `most`, in whole units.
int64_t even_piece(int64_t whole, int64_t most, int64_t unit) {
  const int64_t pieces = std::max<int64_t>(1, ceil_divide(whole, most));
  return std::max(unit, ceil_divide(ceil_divide(whole, pieces), unit) * unit);
}

// How a product is cut: by its shape alone. A block of c is a task; scratch is per worker.
struct Cut {
  int64_t slice_depth;
  int64_t group_panels;
  int64_t block_rows;
  int64_t block_panels;
  int64_t row_blocks;
  int64_t panel_blocks;
  bool pack_a;
  float* scratch;

  int64_t a_size() const { return pack_a ? kPackedRows * slice_depth : 0; }
  int64_t group_size() const { return group_panels * kTileCols * slice_depth; }
  int64_t scratch_size() const { return a_size() + group_size() + kTileRows * kTileCols; }
  float* a_scratch(int worker) const { return scratch + worker * scratch_size(); }
  float* group_scratch(int worker) const { return a_scratch(worker) + a_size(); }
  float* edge_scratch(int worker) const { return group_scratch(worker) + group_size(); }
};

// Rows with adjacent numbers are read where they lie, unless they are a multiple of 4 KiB apart:
// then all of a tile's would meet in the same few lines of the first-level cache.
bool must_pack(const tensor::ConstMatrixView& a) {
  return a.rows > 1 && (a.col_stride != 1 || a.row_stride % 1024 == 0);
}

Cut cut_of(const Product& p) {
  const int64_t m = p.c.rows;
  const int64_t panels = ceil_divide(p.c.cols, kTileCols);
  const bool few = m <= kFewTiles * kTileRows;
  Cut cut{};
  cut.pack_a = must_pack(p.a);
  cut.slice_depth = even_piece(p.a.cols, few ? kShallowDepth : kSliceDepth, 8);
  const int64_t slice_bytes = cut.slice_depth * kTileCols * static_cast<int64_t>(sizeof(float));
  cut.group_panels = few ? 1 : std::clamp<int64_t>(kGroupBytes / slice_bytes, 1, panels);
  cut.block_rows = even_piece(m, kBlockRows, kTileRows);
  cut.row_blocks = ceil_divide(m, cut.block_rows);
  const int64_t tasks = std::clamp<int64_t>(m * p.a.cols * p.c.cols / kTaskWork, 1, kEnoughTasks);
  const int64_t blocks = std::clamp<int64_t>(ceil_divide(tasks, cut.row_blocks), 1, panels);
  cut.block_panels = ceil_divide(panels, blocks);
  cut.panel_blocks = ceil_divide(panels, cut.block_panels);
  cut.group_panels = even_piece(cut.block_panels, cut.group_panels, 1);
  return cut;
}

// Rows of a tile: even, so that 16 rows are 8 + 8 rather than 12 + 4.
int64_t tile_rows_of(int64_t rows) { return even_piece(rows, kTileRows, 1); }

// Part of a block: some rows, a group of panels, a slice of k.
struct Part {
  int64_t row, rows;
  int64_t panel, panels;
  int64_t k, depth;
};

// Where the tiles find an operand: piece i (a tile's rows, a panel) at data + i * stride.
struct Pieces {
  const float* data;
  int64_t stride;
};

Pieces group_pieces(const Product& p, const Part& part, float* scratch) {
  if (p.panels != nullptr)
    return {p.panels + (part.panel * p.b.rows + part.k) * kTileCols, p.b.rows * kTileCols};
  const int64_t col = part.panel * kTileCols;
  pack_panels({p.b.data + part.k * p.b.row_stride + col * p.b.col_stride, part.depth,
               p.b.row_stride, std::min(part.panels * kTileCols, p.b.cols - col), p.b.col_stride},
              scratch, kTileCols, part.depth * kTileCols);
  return {scratch, part.depth * kTileCols};
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
      store_some(activate(FloatTag(), e.activation, v), p.c.data + at, count);
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

// Tiles of rows against the panels of a group; the rows of a lie in place or packed.
void sum_rows(const Product& p, const Part& part, const Pieces& group, float* a_scratch,
              float* edge) {
  const int64_t tile_rows = tile_rows_of(part.rows);
  const float* a = p.a.data + part.row * p.a.row_stride + part.k * p.a.col_stride;
  TileOperands o{a,          p.a.row_stride, p.a.col_stride, nullptr, kTileCols,
                 part.depth, nullptr,        p.c.row_stride, nullptr};
  int64_t a_tile_stride = tile_rows * p.a.row_stride;
  if (a_scratch != nullptr) {
    pack_panels({a, part.depth, p.a.col_stride, part.rows, p.a.row_stride}, a_scratch, tile_rows,
                tile_rows * part.depth);
    o = {a_scratch, 1, tile_rows, nullptr, kTileCols, part.depth, nullptr, p.c.row_stride, nullptr};
    a_tile_stride = tile_rows * part.depth;
  }
  const bool from_output = p.epilogue.accumulate || part.k > 0;
  const bool last = part.k + part.depth == p.a.cols;
  for (int64_t r = 0; r < part.rows; r += tile_rows, o.a += a_tile_stride) {
    const int64_t row = part.row + r;
    const int64_t rows = std::min(tile_rows, part.rows - r);
    for (int64_t i = 0; i < part.panels; ++i) {
      const int64_t col = (part.panel + i) * kTileCols;
      const int64_t cols = std::min<int64_t>(kTileCols, p.c.cols - col);
      o.b = group.data + i * group.stride;
      o.c = p.c.data + row * p.c.row_stride + col;
      sum_tile(o, rows, cols, from_output, edge);
      if (last) finish_tile(p, row, rows, col, cols);
    }
  }
}

void compute_block(const Product& p, const Cut& cut, int64_t block, int worker) {
  const int64_t first_row = block % cut.row_blocks * cut.block_rows;
  const int64_t last_row = std::min(first_row + cut.block_rows, p.c.rows);
  const int64_t first_panel = block / cut.row_blocks * cut.block_panels;
  const int64_t last_panel =
      std::min(first_panel + cut.block_panels, ceil_divide(p.c.cols, kTileCols));
  const int64_t pass_rows = cut.pack_a ? kPackedRows : cut.block_rows;
  for (int64_t panel = first_panel; panel < last_panel; panel += cut.group_panels) {
    int64_t k = 0;
    do {  // once even when there is no k: the sums are zero then
      Part part{0,     0,
                panel, std::min(cut.group_panels, last_panel - panel),
                k,     std::min(cut.slice_depth, p.a.cols - k)};
      const Pieces group = group_pieces(p, part, cut.group_scratch(worker));
      for (part.row = first_row; part.row < last_row; part.row += pass_rows) {
        part.rows = std::min(pass_rows, last_row - part.row);
        sum_rows(p, part, group, cut.pack_a ? cut.a_scratch(worker) : nullptr,
                 cut.edge_scratch(worker));
      }
      k += part.depth;
    } while (k < p.a.cols);
  }
}

int64_t panels_size(int64_t rows, int64_t cols) {
  return rows * ceil_divide(cols, kTileCols) * kTileCols;
}

void pack(const Execution& execution, const tensor::ConstMatrixView& b, float* panels) {
  constexpr int64_t kCols = 8 * kTileCols;  // of a task
  execution.threads.parallel_for(ceil_divide(b.cols, kCols), [&](int64_t task, int) {
    const int64_t col = task * kCols;
    pack_panels({b.data + col * b.col_stride, b.rows, b.row_stride, std::min(kCols, b.cols - col),
                 b.col_stride},
                panels + col * b.rows, kTileCols, b.rows * kTileCols);
  });
}

// Many blocks of rows would rearrange plain b once each: then it is done once for all before.
void product(const Execution& execution, Product p) {
  Cut cut = cut_of(p);
  tensor::Block panels;
  if (p.panels == nullptr && cut.row_blocks > 2) {
    panels = execution.arena.allocate(static_cast<size_t>(panels_size(p.b.rows, p.b.cols)) *
                                      sizeof(float));
    float* data = reinterpret_cast<float*>(panels.get());
    pack(execution, p.b, data);
    p.panels = data;
  }
  const tensor::Block scratch = execution.arena.allocate(
      static_cast<size_t>(cut.scratch_size() * execution.threads.size()) * sizeof(float));
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
