// Examples that experiments run on, and what is measured of them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/heads/watch.h"
#include "headlight/models/models.h"

namespace headlight::heads {

// Examples with targets, the rows of batches. What comes out depends on the examples and their
// order, not on which of them share a batch, nor on padding.
using Examples = std::vector<models::Batch>;

int64_t example_count(const Examples& examples);

// What is left of a row once its padding is cut off, as a batch of one; and rows as one batch,
// padded with zeros (targets with -1). All of them have the same tensors.
models::Batch example_at(const models::Batch& batch, int64_t row);
models::Batch joined(const std::vector<models::Batch>& rows);
// Batches of one in batches of at most so many tokens, padding included (a longer one is alone), in
// the same order.
Examples batched(const std::vector<models::Batch>& rows, int64_t most_tokens = 2048);

// How many rows and keys count at an attention, e.g. "decoder.0.cross", of a batch's sequence.
struct CountedPositions {
  int64_t queries = 0;
  int64_t keys = 0;
};
CountedPositions counted_positions(std::string_view place, const models::Batch& batch, int64_t row);

// Whether an attention reads what the encoder gives, and whether its rows are those of the source.
bool is_cross(std::string_view place);
bool reads_source(std::string_view place, const models::Batch& batch);

// One number of an example, and how much it weighs in the mean; 0: it does not count.
struct Measured {
  double value = 0;
  double weight = 0;
};

// What is measured of a model on examples: a number for each row of a batch, from its last hidden
// states. Rows that have no targets weigh nothing.
struct Metric {
  std::string name;  // "loss"
  bool higher_is_better = false;
  std::function<std::vector<Measured>(autograd::Context&, const models::Model&,
                                      const models::Batch&, const autograd::Value& output)>
      measure;
};
// Cross-entropy, mean per target.
Metric loss_metric();
// The share of examples all of whose targets are the likeliest ids where they stand: of an
// encoder-decoder those which it writes, choosing greedily, to the last id.
Metric exact_match_metric();

// The mean by weight. Throws Error(bad_input) when nothing has weight.
double weighted_mean(const std::vector<Measured>& values, const std::string& name);

// Throws Error(bad_input) for a model that predicts no ids, and for examples without targets.
void check_examples(const models::Model& model, const Examples& examples);

}  // namespace headlight::heads
