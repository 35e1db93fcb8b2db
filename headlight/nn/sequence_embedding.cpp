// SequenceEmbedding: two tables and a sum.
#include "headlight/nn/sequence_embedding.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace headlight::nn {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::DType;
using tensor::Tensor;

[[noreturn]] void refuse_ids(const std::string& place, const std::string& why) {
  throw Error(ErrorKind::bad_input, place.empty() ? "ids" : place + " ids", "", why);
}

void check_counts(const std::string& place, const char* name, const Tensor& counts, int64_t batch) {
  if (!counts.defined() || (counts.dtype() == DType::i64 &&
                            counts.shape() == tensor::Shape{batch} && counts.is_contiguous())) {
    return;
  }
  refuse_ids(place, std::string(name) + " are " + name_of(counts.dtype()) + " " +
                        counts.shape().text() + ", int64 [" + std::to_string(batch) +
                        "] is needed");
}

int64_t count_at(const Tensor& counts, int64_t b, int64_t otherwise) {
  return counts.defined() ? counts.data<int64_t>()[b] : otherwise;
}

}  // namespace

SequenceEmbedding::SequenceEmbedding(Embedding tokens, const SequenceEmbeddingOptions& options)
    : options_(options), tokens_(std::move(tokens)) {
  // Rows are read of a packed table too, and numbers of 16 bits stay so in it.
  tokens_.weight()->expect_packing(WeightLayout::out_in);
  int64_t width = tokens_.weight()->shape()[1];
  if (!options.projection.empty()) {
    projection_.emplace(options.projection,
                        LinearOptions{.inputs = width, .outputs = options.width, .bias = false});
    width = options.width;
  }
  if (!options.adds_positions) return;
  if (!options.learned_positions.empty()) {
    learned_.emplace(options.learned_positions, options.max_length + options.position_start, width);
    return;
  }
  kernels::SinusoidOptions sinusoids = options.sinusoids;
  sinusoids.first = options.position_start;
  sinusoidal_.emplace(
      SinusoidalOptions{.count = options.max_length, .width = width, .sinusoids = sinusoids});
}

Parameters SequenceEmbedding::parameters() const {
  Parameters all = {tokens_.weight()};
  if (projection_) append(all, projection_->parameters());
  if (learned_) append(all, learned_->parameters());
  return all;
}

void SequenceEmbedding::check(const Tensor& ids, const Call& call) const {
  if (!ids.defined() || ids.dtype() != DType::i64 || ids.rank() != 2) {
    refuse_ids(options_.place, !ids.defined()
                                   ? "there are none"
                                   : std::string("are ") + name_of(ids.dtype()) + " " +
                                         ids.shape().text() + ", int64 (B, T) is needed");
  }
  check_counts(options_.place, "lengths", call.lens, ids.size(0));
  check_counts(options_.place, "past lengths", call.past, ids.size(0));
  for (int64_t b = 0; b < ids.size(0); ++b) {
    const int64_t length = count_at(call.lens, b, ids.size(1));
    if (length < 0 || length > ids.size(1)) {
      refuse_ids(options_.place, "length " + std::to_string(length) + " of sequence " +
                                     std::to_string(b) + " is not within 0 and " +
                                     std::to_string(ids.size(1)));
    }
    const int64_t total = length + count_at(call.past, b, 0);
    if (total > options_.max_length) {
      refuse_ids(options_.place, "sequence " + std::to_string(b) + " has " + std::to_string(total) +
                                     " ids, the model has positions for " +
                                     std::to_string(options_.max_length));
    }
  }
}

// Rows of padding get positions that exist.
Tensor SequenceEmbedding::batch_positions(const Tensor& ids, const Call& call) const {
  std::vector<int64_t> first(static_cast<size_t>(ids.size(0)));
  for (size_t b = 0; b < first.size(); ++b) {
    first[b] = count_at(call.past, static_cast<int64_t>(b), 0);
  }
  Tensor positions = position_ids(first, ids.size(1));
  int64_t* numbers = positions.mutable_data<int64_t>();
  if (has_unplaced(ids)) {
    const int64_t* id = ids.data<int64_t>();
    for (int64_t i = 0, next = 0; i < positions.elements(); ++i) {
      if (i % ids.size(1) == 0) next = numbers[i];
      numbers[i] = id[i] == *options_.unplaced_id ? -1 : next++;
    }
  }
  for (int64_t i = 0; i < positions.elements(); ++i) {
    numbers[i] = std::min(numbers[i], options_.max_length - 1);
  }
  return positions;
}

bool SequenceEmbedding::has_unplaced(const Tensor& ids) const {
  if (!options_.unplaced_id) return false;
  const int64_t* first = ids.data<int64_t>();
  return std::find(first, first + ids.elements(), *options_.unplaced_id) != first + ids.elements();
}

Value SequenceEmbedding::positions(Context& context, const Tensor& ids) const {
  if (sinusoidal_) return sinusoidal_->forward(context, ids);
  return autograd::position_rows(context, ids, learned_->weight()->value(),
                                 {.start = options_.position_start});
}

Value SequenceEmbedding::forward(Context& context, const Tensor& ids, const Call& call) const {
  check(ids, call);
  const std::string& place = options_.place;
  autograd::name_value(context, place, "ids", Value::leaf(ids));
  Value rows = tokens_.forward(context, ids, options_.scale);
  autograd::observe(context, place, "embedding", rows);
  if (projection_) {
    rows = projection_->forward(context, rows);
    autograd::observe(context, place, "widened", rows);
  }
  if (call.added.defined()) rows = autograd::add(context, rows, call.added);

  if (options_.adds_positions) rows = with_positions(context, rows, ids, call);
  autograd::observe(context, place, "sum", rows);
  return autograd::dropout(context, rows, options_.dropout, autograd::place_name(place, "sum"));
}

Value SequenceEmbedding::with_positions(Context& context, const Value& rows, const Tensor& ids,
                                        const Call& call) const {
  const Tensor of_batch = batch_positions(ids, call);
  const bool unplaced = has_unplaced(ids);
  if (unplaced)
    autograd::name_value(context, options_.place, "position_ids", Value::leaf(of_batch));
  // Without a past all sequences have the same positions: one (T, C) for all.
  const bool alike = !call.past.defined() && !unplaced && ids.size(0) > 0;
  const Tensor used = alike ? of_batch.slice(0, 0, 1).reshaped({ids.size(1)}) : of_batch;
  const Value added = positions(context, used);
  if (autograd::watched(context, options_.place, "positions")) {
    const bool of_one = alike && ids.size(0) == 1;
    autograd::observe(context, options_.place, "positions",
                      of_one  ? autograd::reshape(added, {1, ids.size(1), added.size(1)})
                      : alike ? positions(context, of_batch)
                              : added);
  }
  return autograd::add(context, rows, added);
}

}  // namespace headlight::nn
