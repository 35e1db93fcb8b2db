// Activation patching: what of a metric comes back when single heads of one run are taken from
// another.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/heads/examples.h"
#include "headlight/heads/logit_metric.h"
#include "headlight/io/io.h"

namespace headlight::heads {

enum class PatchDirection {
  clean_into_corrupt,  // the corrupted run with a head of the clean one: what it restores
  corrupt_into_clean,  // the clean run with a head of the corrupted one: what is left without it
};
std::string_view name_of(PatchDirection direction);

struct PatchOptions {
  PatchDirection direction = PatchDirection::clean_into_corrupt;
  Watch watch = {};
};

// One head, at one position of the sequence that it computes for (an encoder's heads: of the
// source) or at all of them.
struct PatchedHead {
  std::string head;
  std::optional<int64_t> position = {};
  double metric = 0;     // of the patched run
  double restored = 0;   // (metric - corrupt) / (clean - corrupt): 0 as corrupted, 1 as clean
  double estimated = 0;  // the same by gradient times difference, from one backward pass
};

struct Patching {
  double clean = 0;  // the metric of both runs
  double corrupt = 0;
  PatchDirection direction = PatchDirection::clean_into_corrupt;
  std::vector<PatchedHead> places;  // each head at each position
  std::vector<PatchedHead> heads;   // each head at all positions
  double correlation = 0;           // of restored and estimated over the places; nan where either
                                    // does not vary
};

// Exact: each number is that of a run in which z of the head, before the output projection, was
// replaced; many of them are computed in one batch, which changes no bit. A position that cannot
// reach the metric's is not run: it has the numbers of the run as it was.
//
// Both batches are one sequence of the same number of tokens (and of source tokens), differing
// anywhere. The gradients of the model's parameters are empty afterwards. Nothing when it was
// interrupted. Throws Error(bad_input) as check_metric does, for different lengths and when both
// runs give the same metric.
std::optional<Patching> patch_heads(base::ThreadPool& threads, const models::Model& model,
                                    const models::Batch& clean, const models::Batch& corrupt,
                                    const LogitMetric& metric, const PatchOptions& options = {});

// {"clean", "corrupt", "direction", "correlation", "heads": [{"head", "position", "restored",
// "estimated"}], "whole_heads": [{"head", "restored", "estimated"}]}.
io::Json::Object patching_json(const Patching& patching);

}  // namespace headlight::heads
