// What heads do on texts made to show it: random tokens, repeated.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headlight/heads/examples.h"
#include "headlight/heads/head_statistics.h"

namespace headlight::heads {

// A score and what it is for a head that looks at all keys alike.
struct BehaviourScore {
  double value = 0;
  double uniform = 0;
};

// Mean weights, from 0 to 1, on sequences of n different random tokens that are repeated:
//   previous         of the token before, A[i, i-1], from every token but the first
//   duplicate        of the same token, A[i, i-n], from the second copy of two
//   induction        of what followed the same token, A[i, i-n+1], from the second copy of two
//   prefix_matching  of all that followed the same token, from the later ones of several copies
// The tokens before and after the copies (`before`, `after` below) do not count as tokens. Heads of
// cross-attention have none of them, their keys are another sequence; heads that see both ways have
// the first two: what follows a token is there for everyone to see.
struct Behaviour {
  std::optional<BehaviourScore> previous = {};
  std::optional<BehaviourScore> duplicate = {};
  std::optional<BehaviourScore> induction = {};
  std::optional<BehaviourScore> prefix_matching = {};
};

// The role that these scores show: induction or duplicate where that score is at least one half and
// above that of a head that looks at all keys alike; nothing where neither is.
std::optional<HeadRole> clear_role(const Behaviour& behaviour);

// Tokens that no sequence may be made of, besides those that the configuration names, and what
// stands around one (BERT's [CLS] and [SEP]; a decoder that translates begins with its start).
struct MadeTokens {
  std::vector<int64_t> avoid = {};
  std::vector<int64_t> before = {};
  std::vector<int64_t> after = {};
};

// Sequences are shortened to the model's context and to the tokens that it has; where not even two
// are left, there are no scores.
struct BehaviourOptions {
  int64_t sequences = 8;
  int64_t tokens = 50;         // n of sequences with two copies
  int64_t prefix_tokens = 25;  // n of those with several
  int64_t copies = 4;          // of those
  MadeTokens made = {};        // of what a decoder reads, or BERT
  MadeTokens source = {};      // of what an encoder-decoder translates
  uint64_t seed = 0;
};

// Sequences as they were made, so that others can run them too.
struct MadeSequences {
  int64_t period = 0;  // n
  int64_t copies = 0;
  int64_t first = 0;   // where the first copy begins
  tensor::Tensor ids;  // (sequences, first + copies * period + ...)
};

struct BehaviourResult {
  // By place, then by head.
  std::map<std::string, std::vector<Behaviour>> heads = {};
  std::vector<MadeSequences> sequences = {};         // of two copies, of several
  std::vector<MadeSequences> source_sequences = {};  // what an encoder read beside them
};
BehaviourResult measure_behaviour(base::ThreadPool& threads, const models::Model& model,
                                  const BehaviourOptions& options);

}  // namespace headlight::heads
