// Which heads carry a relation between tokens: ranked by the weight they put on given pairs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/heads/ablation.h"

namespace headlight::heads {

// In example `example`, counted through all batches, the row of a query and a key that it is
// expected to look at.
struct PositionPair {
  int64_t example = 0;
  int64_t query = 0;
  int64_t key = 0;
};

// Pairs for each kind of attention. Where self-attention is causal and a key comes after its query,
// the pair is turned round: what came later can only be looked back from.
struct Relation {
  std::vector<PositionPair> encoder = {};  // self-attention
  std::vector<PositionPair> decoder = {};  // self-attention
  std::vector<PositionPair> cross = {};    // query in the decoder, key in the encoder

  int64_t size() const {
    return static_cast<int64_t>(encoder.size() + decoder.size() + cross.size());
  }
};

struct FindOptions {
  AblationKind by = AblationKind::zero;  // how the best are ablated
  int64_t ablated = 1;                   // how many of the best, each alone
  std::optional<Metric> metric = {};     // measured beside the loss
  // What the loss is measured on, when not on the examples of the pairs.
  const Examples* measured_on = nullptr;
  int64_t rounds = 1000;  // of random pairs
  uint64_t seed = 0;
  Watch watch = {};
};

// `weight` is the mean over the pairs. `chance` is what it is for as many random pairs: for each
// pair of the relation one of the same example, a row that sees another token and one of the keys
// that it sees, in self-attention not itself; all as likely. It is the mean over `rounds` such
// draws, and 95 % of them lie within the interval. Heads whose kind has no pairs have none of them.
struct FoundHead {
  std::string head;
  std::string place;
  std::optional<double> weight = {};
  double chance = 0;
  double low = 0;  // the interval
  double high = 0;
  std::optional<Measurement> ablated = {};  // of those that were ablated
  std::optional<double> ablated_change = {};
};

struct FoundHeads {
  int64_t pairs = 0;   // of all kinds
  int64_t turned = 0;  // of them, those that were turned round
  int64_t examples = 0;
  AblationKind by = AblationKind::zero;
  std::string metric = {};
  std::vector<FoundHead> heads = {};  // the largest weight first; those without one last
  Measurement baseline = {};
  // All heads with at least half of the best one's weight, and more than 97.5 % of the random
  // draws, ablated together.
  std::vector<std::string> together = {};
  Measurement together_measured = {};
  bool interrupted = false;  // then there is nothing else in it
};

// Throws Error(bad_input) for pairs outside their examples, and when there are none at all.
FoundHeads find_heads(base::ThreadPool& threads, models::Model& model, const Examples& examples,
                      const Relation& relation, const FindOptions& options = {});

// {"pairs", "heads": [{"head", "weight", "chance", "interval": [low, high], "ablated_change"}],
// "turned", "examples", "by", "loss", "together": {"heads", "loss", "change"}}; with another metric
// its name and value beside each loss.
io::Json::Object found_heads_json(const FoundHeads& found);

}  // namespace headlight::heads
