// Logit lens: what a model would say if it ended after each of its layers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headlight/heads/logit_metric.h"
#include "headlight/io/io.h"

namespace headlight::heads {

struct LensWord {
  int64_t id = 0;
  double logit = 0;
  double probability = 0;
  int64_t rank = 0;  // among all words, from 1; of equal logits the lower id is before
};

struct LensLayer {
  std::string stream;           // "decoder.0.residual_in", then "decoder.0.residual_out", ...
  std::vector<LensWord> words;  // the most likely ones, the first first
  LensWord word;                // what the metric asks for
  std::optional<LensWord> against = {};
};

struct LogitLens {
  std::string final_norm = {};  // "decoder.norm": the norm on the way to the logits; empty: none
  std::vector<LensLayer> layers;
};

// The residual stream at the metric's position, before the first layer and after each one, through
// the stack's final norm, whose statistics are computed anew for each, and what the model has
// between there and its logits (an output layer; BERT's whole head). The last is what the model
// says. Where layers have norms after their sums and there is no final norm, the stream is what the
// last of these gave, as the next layer reads it, and goes to the output as it is. Of an
// encoder-decoder the layers are the decoder's.
// Throws Error(bad_input) as check_metric does.
LogitLens logit_lens(base::ThreadPool& threads, const models::Model& model,
                     const models::Batch& batch, const LogitMetric& metric, int64_t top = 5);

// {"final_norm", "layers": [{"layer", "words": [{"word", "id", "logit", "probability", "rank"}],
// "word": {...}, "against": {...}}]}; `label` says what an id is called.
io::Json::Object logit_lens_json(const LogitLens& lens,
                                 const std::function<std::string(int64_t)>& label);

}  // namespace headlight::heads
