// Pushes: what a head adds to the logit of every word, directly: its part of attribute_logits, of
// all words at once.
#pragma once

#include <functional>
#include <vector>

#include "headlight/heads/head_name.h"
#include "headlight/io/io.h"

namespace headlight::heads {

// One number for each word. The head's output at this position goes through its output projection,
// the norms on the way with the scale that they had in the run, and the output layer; what it does
// through other heads and feed-forward layers is not in it.
// Throws Error(bad_input) for a head that the model does not have or that reaches the logits
// through others alone, as an encoder's below a decoder, and for a position that there is not.
std::vector<double> head_pushes(base::ThreadPool& threads, const models::Model& model,
                                const models::Batch& batch, const HeadName& head, int64_t position);
// The same of a run that was recorded whole, with the logits of all positions.
std::vector<double> head_pushes(const autograd::Recording& recording, const models::Model& model,
                                const HeadName& head, int64_t position);

struct PushedWord {
  int64_t id = 0;
  double value = 0;
};
struct StrongestPushes {
  std::vector<PushedWord> up;    // above 0, the largest first
  std::vector<PushedWord> down;  // below 0, the smallest first
};
// At most `best` of each; of equals the lower id is before.
StrongestPushes strongest_pushes(const std::vector<double>& pushes, int64_t best);

// {"up": [{"id", "token", "value"}], "down": [...]}; `label` says what an id is called.
io::Json::Object pushes_json(const StrongestPushes& pushes,
                             const std::function<std::string(int64_t)>& label);

}  // namespace headlight::heads
