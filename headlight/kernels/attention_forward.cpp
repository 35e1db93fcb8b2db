// Attention forward: a task takes a block of query rows of one head through all key tiles it can
// see, strip by strip, with an online softmax.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/attention_forward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <vector>

#include "headlight/kernels/attention.h"
#include "headlight/kernels/attention_rows.h"
#include "headlight/kernels/dispatch.h"
#include "headlight/kernels/simd/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

// Query rows of a task: each key tile is read once per block. Rows of a strip: its scores stay in
// L1.
constexpr int64_t kQueryBlock = 96;
constexpr int64_t kStripRows = 24;

// A tile of keys and values of one sequence and key/value head as the products read it.
struct PackedTile {
  const float* keys;
  const float* values;  // rows, whole vectors readable
  int64_t value_stride;
  bool finite;  // the values
};

class Forward {
 public:
  Forward(const Execution& execution, const AttentionProblem& problem,
          const AttentionOutputs& outputs)
      : execution_(execution),
        problem_(problem),
        outputs_(outputs),
        shape_(problem.shape),
        positions_(problem) {
    tiles_ = round_up(shape_.keys, kKeyTile) / kKeyTile;
    blocks_ = round_up(shape_.queries, kQueryBlock) / kQueryBlock;
    value_padded_ = round_up(shape_.value_width, kLanes);
    // One row without element masks sees every key it reads, so its values can stay where they are.
    values_in_place_ = shape_.queries == 1 && value_padded_ == shape_.value_width &&
                       !problem.mask.bias && !problem.mask.keep && !problem.mask.forbid &&
                       positions_.is_finite();
    // With heads enough for all workers a task takes a whole one: what it packs stays in its own
    // cache. Otherwise tasks are blocks of rows, and heads are packed before. This is a matter of
    // speed, not of bits.
    whole_heads_ = blocks_ == 1 || shape_.batch * shape_.kv_heads >= 4 * execution.threads.size();
  }

  void run() {
    allocate();
    for (int64_t b = 0; b < shape_.batch; ++b) {
      needed_.push_back(
          seen_keys(shape_, problem_.mask, b, 0, live_queries(shape_, problem_.mask, b)).any);
    }
    if (whole_heads_) {
      execution_.threads.parallel_for(
          shape_.batch * shape_.kv_heads,
          [&](int64_t index, int worker) { attend_head(index, worker); });
      return;
    }
    execution_.threads.parallel_for(
        shape_.batch * shape_.kv_heads * tiles_, [&](int64_t index, int) {
          pack_tile(index / tiles_, index % tiles_, storage_of(index / tiles_));
        });
    execution_.threads.parallel_for(
        blocks_ * shape_.batch * shape_.heads, [&](int64_t index, int worker) {
          // The last blocks of a causal problem are the longest: they go first.
          const int64_t block = blocks_ - 1 - index / (shape_.batch * shape_.heads);
          const int64_t head = index % (shape_.batch * shape_.heads);
          const int64_t b = head / shape_.heads, h = head % shape_.heads;
          const Storage storage = storage_of(b * shape_.kv_heads + shape_.kv_head(h));
          attend_block(b, h, block, storage, worker);
        });
  }

 private:
  struct Storage {
    float* keys;
    float* values;
    bool* finite;
  };

  void allocate() {
    keys_size_ = problem_.cached ? 0 : packed_keys_size(shape_.keys, shape_.key_width);
    values_size_ = values_in_place_ ? 0 : tiles_ * kKeyTile * value_padded_;
    const int64_t stores =
        whole_heads_ ? execution_.threads.size() : shape_.batch * shape_.kv_heads;
    packed_ = execution_.arena.allocate(sizeof(float) *
                                        static_cast<size_t>(stores * (keys_size_ + values_size_)));
    finite_ = execution_.arena.allocate(static_cast<size_t>(stores * tiles_));
    worker_size_ = kStripRows * kKeyTile + kQueryBlock * (value_padded_ + shape_.key_width) +
                   positions_.size(kQueryBlock, tiles_ * kKeyTile);
    scratch_ = execution_.arena.allocate(
        sizeof(float) * static_cast<size_t>(execution_.threads.size() * worker_size_));
  }

  Storage storage_of(int64_t store) const {
    float* keys = reinterpret_cast<float*>(packed_.get()) + store * (keys_size_ + values_size_);
    return {keys, keys + keys_size_, reinterpret_cast<bool*>(finite_.get()) + store * tiles_};
  }

  void pack_tile(int64_t head, int64_t tile, const Storage& to) const {
    const int64_t b = head / shape_.kv_heads, g = head % shape_.kv_heads;
    const KeyInterval needed = needed_[static_cast<size_t>(b)];
    const int64_t first = tile * kKeyTile;
    if (first >= needed.last || first + kKeyTile <= needed.first) return;
    if (!problem_.cached) {
      pack_panels(problem_.key.row(b, g, 0), problem_.key.row_stride, shape_.keys, shape_.key_width,
                  tile, to.keys + first * shape_.key_width);
    }
    if (!values_in_place_) {
      const ValueRows values = values_of(b, g, tile);
      to.finite[tile] = copy_rows(values.rows, values.stride, values.count, shape_.value_width,
                                  to.values + first * value_padded_, value_padded_);
    }
  }

  // The values of a tile where they lie.
  struct ValueRows {
    const float* rows;
    int64_t stride;
    int64_t count;
  };
  ValueRows values_of(int64_t b, int64_t g, int64_t tile) const {
    const CachedKeys& cached = problem_.cached;
    const int64_t first = tile * kKeyTile;
    const int64_t count = std::min(kKeyTile, (cached ? cached.counts[b] : shape_.keys) - first);
    if (!cached) return {problem_.value.row(b, g, first), problem_.value.row_stride, count};
    return {cached.tile(shape_, b, tile).values_of(shape_, g), shape_.value_width, count};
  }

  PackedTile packed_tile(int64_t b, int64_t h, int64_t tile, const Storage& storage) const {
    const CachedKeys& cached = problem_.cached;
    const int64_t g = shape_.kv_head(h);
    const int64_t first = tile * kKeyTile;
    const float* keys = cached ? cached.tile(shape_, b, tile).keys_of(shape_, g)
                               : storage.keys + first * shape_.key_width;
    if (!values_in_place_) {
      return {keys, storage.values + first * value_padded_, value_padded_, storage.finite[tile]};
    }
    const ValueRows values = values_of(b, g, tile);
    return {keys, values.rows, values.stride, true};
  }

  // A whole key/value head (of all sequences counted through) with its query heads.
  void attend_head(int64_t head, int worker) const {
    const int64_t b = head / shape_.kv_heads, g = head % shape_.kv_heads;
    for (int64_t tile = 0; tile < tiles_; ++tile) pack_tile(head, tile, storage_of(worker));
    for (int64_t h = shape_.first_reader(g); h < shape_.first_reader(g + 1); ++h) {
      for (int64_t block = 0; block < blocks_; ++block) {
        attend_block(b, h, block, storage_of(worker), worker);
      }
    }
  }

  void attend_block(int64_t b, int64_t h, int64_t block, const Storage& storage, int worker) const {
    const int64_t first = block * kQueryBlock;
    const int64_t end = std::min(shape_.queries, first + kQueryBlock);
    const int64_t live = std::clamp(live_queries(shape_, problem_.mask, b), first, end);
    float* scores = reinterpret_cast<float*>(scratch_.get()) + worker * worker_size_;
    float* sums = scores + kStripRows * kKeyTile;
    float* query = sums + kQueryBlock * value_padded_;
    float* biases = query + kQueryBlock * shape_.key_width;
    RowStates<kQueryBlock> states(end - first);
    std::fill(sums, sums + (end - first) * value_padded_, 0.0f);
    const SeenKeys keys = seen_keys(shape_, problem_.mask, b, first, live - first);
    if (keys.any.first < keys.any.last) {
      pack_row_groups(problem_.query.row(b, h, first), problem_.query.row_stride, live - first,
                      shape_.key_width, query);
      const int64_t first_tile = keys.any.first / kKeyTile;
      const PositionBiases position_biases =
          positions_.fill({b, h, first, live - first},
                          {first_tile * kKeyTile, round_up(keys.any.last, kKeyTile)}, biases);
      for (int64_t tile = first_tile; tile * kKeyTile < keys.any.last; ++tile) {
        const PackedTile packed = packed_tile(b, h, tile, storage);
        // Short strips fit the edge of what is seen more closely.
        const bool whole =
            keys.all.first <= tile * kKeyTile && keys.all.last >= (tile + 1) * kKeyTile;
        const int64_t step = whole ? kStripRows : kTileRows;
        for (int64_t row = first; row < live; row += step) {
          const int64_t rows = std::min(step, live - row);
          if (tile == first_tile) {  // where results go, and the next block's rows
            fetch_rows(outputs_.output, b, h, row, rows, shape_.value_width);
            fetch_rows(problem_.query, b, h, row + kQueryBlock,
                       std::min(rows, shape_.queries - row - kQueryBlock), shape_.key_width);
          }
          attend_strip({.b = b,
                        .h = h,
                        .first_row = row,
                        .rows = rows,
                        .query = query + (row - first) * shape_.key_width,
                        .keys = packed.keys,
                        .scores = scores,
                        .position_bias = position_biases.of_row(row, tile * kKeyTile)},
                       tile, whole ? keys : seen_keys(shape_, problem_.mask, b, row, rows), packed,
                       row - first, states, sums + (row - first) * value_padded_);
        }
      }
    }
    for (int64_t i = first; i < end; ++i) {
      finish_row(problem_, outputs_, b, h, i, states.max(i - first), states.sum(i - first),
                 sums + (i - first) * value_padded_);
    }
  }

  // One strip of rows, from the block's row `first` on, against one key tile.
  void attend_strip(ScoreStrip strip, int64_t tile, const SeenKeys& keys, const PackedTile& packed,
                    int64_t first, RowStates<kQueryBlock>& states, float* sums) const {
    if (keys.any.first >= (tile + 1) * kKeyTile || keys.any.last <= tile * kKeyTile) return;
    set_columns(strip, tile, keys);
    float factors[kStripRows + kLanes] = {};
    score_strip(problem_, strip, ScoreStage::masked, factors);
    states.raise_maxima(first, strip.rows, factors);
    for (int64_t r = 0; r < strip.rows; ++r) {
      float* row = strip.scores + r * kKeyTile;
      states.exponentiate(first + r, factors[r], strip.begin, strip.end, row);
      drop_weights(problem_, strip.row(r), row);
    }
    add_values(strip, keys.any, packed, factors, sums);
  }

  // sums = factors * sums + weights * values, over the keys of the strip that anyone of its rows
  // may see.
  void add_values(const ScoreStrip& strip, KeyInterval keys, const PackedTile& packed,
                  const float* factors, float* sums) const {
    const int64_t begin = std::max(keys.first, strip.first_key);
    const int64_t end = std::min(keys.last, strip.first_key + kKeyTile);
    const TileOperands operands{strip.scores + begin - strip.first_key,
                                kKeyTile,
                                1,
                                packed.values + (begin - strip.first_key) * packed.value_stride,
                                packed.value_stride,
                                end - begin,
                                sums,
                                value_padded_,
                                factors};
    strip_product<TileStart::scaled_output, kKeyTile>(strip.rows, value_padded_, operands,
                                                      packed.finite);
  }

  const Execution& execution_;
  const AttentionProblem& problem_;
  const AttentionOutputs& outputs_;
  const AttentionShape& shape_;
  const PositionBiasSource positions_;
  std::vector<KeyInterval> needed_;  // per sequence: only what some row may see is packed
  int64_t tiles_ = 0;
  int64_t blocks_ = 0;
  int64_t value_padded_ = 0;
  bool values_in_place_ = false;
  bool whole_heads_ = false;
  int64_t keys_size_ = 0;
  int64_t values_size_ = 0;
  int64_t worker_size_ = 0;
  tensor::Block packed_, finite_, scratch_;
};

void run_forward(const Execution& execution, const AttentionProblem& problem,
                 const AttentionOutputs& outputs) {
  Forward(execution, problem, outputs).run();
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

HEADLIGHT_EXPORT(run_forward);

void attention_forward(const Execution& execution, const AttentionProblem& problem,
                       const AttentionOutputs& outputs) {
  HEADLIGHT_DISPATCH(run_forward)(execution, problem, outputs);
}

void append_packed_keys(const float* rows, int64_t row_stride, int64_t count, int64_t key_width,
                        int64_t first, float* packed) {
  for (int64_t j = 0; j < count; ++j) {
    for (int64_t d = 0; d < key_width; ++d)
      packed[packed_key_index(first + j, d, key_width)] = rows[j * row_stride + d];
  }
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
