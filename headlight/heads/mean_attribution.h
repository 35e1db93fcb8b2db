// Direct logit attribution of heads over examples.
#pragma once

#include <vector>

#include "headlight/heads/examples.h"
#include "headlight/heads/head_name.h"
#include "headlight/io/io.h"

namespace headlight::heads {

// What a head adds to the margin of the right word: its logit above that of the likeliest other.
struct HeadAttribution {
  HeadName head;
  double magnitude = 0;  // mean of what is added without its sign,
  double value = 0;      // and with it
};

struct MeanAttribution {
  // Those that add to the stream which logits are computed from; heads of an encoder whose output a
  // decoder reads are not among them. In the order of the model.
  std::vector<HeadAttribution> heads = {};
  int64_t examples = 0;      // those with targets
  double margin = 0;         // mean
  bool interrupted = false;  // then there is nothing else in it
};

// Means over the targets of an example, then over examples, which all weigh the same. Throws
// Error(bad_input) as check_examples does, and for a model that knows one word only.
MeanAttribution mean_attribution(base::ThreadPool& threads, const models::Model& model,
                                 const Examples& examples, const Watch& watch = {});

}  // namespace headlight::heads
