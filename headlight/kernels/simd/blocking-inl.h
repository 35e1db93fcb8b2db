// How a matrix product is cut into blocks for threads and caches: by its shape alone. Per-target
// header: include it inside foreach_target files only.
#if defined(HEADLIGHT_KERNELS_SIMD_BLOCKING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_BLOCKING_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_BLOCKING_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_BLOCKING_INL_H_
#endif

#include <algorithm>

#include "headlight/kernels/matmul_product.h"
#include "headlight/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

// k is walked in slices. A group of panels of b, one slice deep, stays in the second-level cache
// while the rows of a block pass by in tiles; a tile's rows of a stay in the first-level cache
// while it meets the panels of the group.
constexpr int64_t kSliceDepth = 1024;
constexpr int64_t kGroupBytes = 640 << 10;
// With so few rows that plain b is hardly used again, a group is one panel whose slice stays in the
// first-level cache.
constexpr int64_t kFewRows = 48;
constexpr int64_t kShallowDepth = 256;
constexpr int64_t kWidenedDepth = 128;  // of 16-bit numbers, which are read and written there too
// Blocks of c: enough of them for the threads, each of so many tiles of rows and multiply-adds that
// it is worth a task.
constexpr int64_t kEnoughTasks = 16;
constexpr int64_t kBlockTiles = 2;
constexpr int64_t kTaskWork = 1 << 19;
// Up to so many rows of plain b's products stay in one block: b is then rearranged once, in cache.
// More of them where b is too large to stay in a cache when all of it is rearranged before.
constexpr int64_t kWholeRows = 384;
constexpr int64_t kWholeRowsOfLarge = 1024;
constexpr int64_t kLargeBytes = 1 << 20;
// Where a is rearranged: all of it before, when it is the smaller operand and no larger than this;
// else tiles at once (about a megabyte), and panels they meet, to be worth it.
constexpr int64_t kWholeBytes = 1 << 20;
constexpr int64_t kPackedTiles = 24;
constexpr int64_t kPackedPanels = 48;

// Even pieces of at most `most`, in whole units.
inline int64_t even_piece(int64_t whole, int64_t most, int64_t unit) {
  const int64_t pieces = std::max<int64_t>(1, ceil_divide(whole, most));
  return std::max(unit, ceil_divide(ceil_divide(whole, pieces), unit) * unit);
}

// A block of c is a task; scratch is per worker.
struct Cut {
  int64_t slice_depth;
  int64_t group_panels;
  int64_t block_rows;
  int64_t block_panels;
  int64_t row_blocks;
  int64_t panel_blocks;
  bool pack_a;      // a is rearranged block by block
  bool a_packed;    // all of a is, before
  bool b_packed;    // all of b is, before
  bool widen_b;     // its packed numbers have 16 bits and are widened group by group
  bool b_in_place;  // b is read where it lies
  float* scratch;

  int64_t a_size() const { return pack_a ? block_rows * slice_depth : 0; }
  int64_t group_size() const {
    return b_packed && !widen_b ? 0 : group_panels * kTileCols * slice_depth;
  }
  int64_t scratch_size() const { return a_size() + group_size() + kTileRows * kTileCols; }
  float* a_scratch(int worker) const { return scratch + worker * scratch_size(); }
  float* group_scratch(int worker) const { return a_scratch(worker) + a_size(); }
  float* edge_scratch(int worker) const { return group_scratch(worker) + group_size(); }
};

// For rows so few that b is read and not used again: blocks of single panels, more where panels are
// short. Reading a panel takes about as long as a whole tile's sums over it.
inline void cut_few(int64_t k, int64_t panels, Cut& cut) {
  const int64_t depth = cut.widen_b ? kWidenedDepth : cut.b_packed ? kSliceDepth : kShallowDepth;
  cut.slice_depth = even_piece(k, depth, 8);
  cut.group_panels = 1;
  cut.block_rows = kFewRows;
  cut.block_panels = std::clamp<int64_t>(kTaskWork / ((k + 1) * kTileRows * kTileCols), 1, panels);
}

// For a that is rearranged before: blocks of all rows, each with panels of its own.
inline void cut_whole(const Product& p, int64_t panels, Cut& cut) {
  const int64_t m = p.c.rows, k = p.a.cols;
  cut.slice_depth = even_piece(k, kSliceDepth, 8);
  const int64_t tasks = std::clamp<int64_t>(m * k * p.c.cols / kTaskWork, 1, kEnoughTasks);
  cut.block_rows = m;
  cut.block_panels = std::max<int64_t>(1, panels / tasks);
  const int64_t slice_bytes = cut.slice_depth * kTileCols * static_cast<int64_t>(sizeof(float));
  cut.group_panels = std::clamp<int64_t>(kGroupBytes / slice_bytes, 1, cut.block_panels);
}

// Tiles of a block. Of many blocks rather one more than a last one that leaves a thread waiting.
inline int64_t even_tiles(int64_t tiles, int64_t blocks) {
  constexpr int64_t kMany = 4;
  return blocks < kMany ? ceil_divide(tiles, blocks) : tiles / blocks;
}

inline void cut_many(int64_t m, int64_t k, int64_t panels, Cut& cut) {
  constexpr int64_t kLeastRows = kBlockTiles * kTileRows;
  cut.slice_depth = even_piece(k, kSliceDepth, 8);
  const int64_t slice_bytes = cut.slice_depth * kTileCols * static_cast<int64_t>(sizeof(float));
  const int64_t group = std::max<int64_t>(1, kGroupBytes / slice_bytes);
  const int64_t tasks =
      std::clamp<int64_t>(m * k * panels * kTileCols / kTaskWork, 1, kEnoughTasks);
  const int64_t whole_rows = slice_bytes * panels > kLargeBytes ? kWholeRowsOfLarge : kWholeRows;
  const bool whole = !cut.pack_a && !cut.b_packed && m <= whole_rows && panels >= kEnoughTasks;
  const int64_t least_panel_blocks = whole ? tasks : ceil_divide(tasks, ceil_divide(m, kLeastRows));
  const int64_t most_panels =
      cut.pack_a ? kPackedPanels : std::min(group, ceil_divide(panels, least_panel_blocks));
  cut.block_panels = even_piece(panels, most_panels, 1);
  cut.group_panels = even_piece(cut.block_panels, group, 1);
  const int64_t row_blocks = whole ? 1 : ceil_divide(tasks, ceil_divide(panels, cut.block_panels));
  const int64_t tiles = ceil_divide(m, kTileRows);
  const int64_t most_tiles = cut.pack_a ? kPackedTiles : tiles;
  cut.block_rows = kTileRows * std::clamp(even_tiles(tiles, row_blocks), kBlockTiles,
                                          std::max(kBlockTiles, most_tiles));
}

// Rows of a with adjacent numbers are read where they lie: the tile does not mind.
inline Cut cut_of(const Product& p) {
  const int64_t panels = ceil_divide(p.c.cols, kTileCols);
  Cut cut{};
  cut.pack_a = p.a.rows > 1 && p.a.col_stride != 1;
  cut.b_packed = p.panels != nullptr;
  cut.widen_b = cut.b_packed && is_narrow(p.panels_type);
  const int64_t a_bytes = p.a.rows * p.a.cols * static_cast<int64_t>(sizeof(float));
  cut.a_packed = cut.pack_a && !cut.b_packed && p.c.rows <= p.c.cols && a_bytes <= kWholeBytes;
  const int64_t few_rows = cut.b_packed ? kTileRows : kFewRows;
  if (p.c.rows <= few_rows && !cut.pack_a) {
    cut.b_in_place = !cut.b_packed && p.b.col_stride == 1;
    cut_few(p.a.cols, panels, cut);
  } else if (cut.a_packed) {
    cut.pack_a = false;
    cut_whole(p, panels, cut);
  } else {
    cut_many(p.c.rows, p.a.cols, panels, cut);
  }
  cut.row_blocks = ceil_divide(p.c.rows, cut.block_rows);
  cut.panel_blocks = ceil_divide(panels, cut.block_panels);
  return cut;
}

// Rows of a tile: as many as fit, since the first tile has to wait for b anyway; even ones where
// the last would be left with so few rows that it waits for its own multiply-adds.
inline int64_t tile_rows_of(int64_t rows) {
  constexpr int64_t kBusyRows = 4;
  return rows % kTileRows >= kBusyRows ? kTileRows : even_piece(rows, kTileRows, 1);
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
