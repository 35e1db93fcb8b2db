// The score of ids by one forward pass, to hold a search's own sums against.
#pragma once

#include "tests/infer/support.h"

namespace headlight::infer {

// The sum of log-probabilities of `ids` after the prompt.
inline double rescored(autograd::Context& context, const models::Model& model, const Prompt& prompt,
                       const Ids& ids) {
  Ids read = prompt.ids.empty() ? Ids{*model.special_ids().decoder_start} : prompt.ids;
  const size_t first = read.size() - 1;
  read.insert(read.end(), ids.begin(), ids.end() - 1);
  models::Batch batch{.ids = padded({read}).ids};
  if (!prompt.source.empty()) batch.source_ids = padded({prompt.source}).ids;
  const Tensor rows =
      autograd::log_softmax(context, model.logits(context, model.forward(context, batch))).data();
  double sum = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    sum += static_cast<double>(
        rows.data<float>()[static_cast<int64_t>(first + i) * rows.size(2) + ids[i]]);
  }
  return sum;
}

// Each hypothesis of `options.beams` has the score that its ids have in a forward pass, and none is
// better than the one before it.
inline void expect_rescored(autograd::Context& context, const models::Model& model,
                            const Prompt& prompt, const std::vector<Hypothesis>& found,
                            const BeamOptions& options, int64_t end) {
  ASSERT_EQ(found.size(), static_cast<size_t>(options.beams));
  for (size_t beam = 0; beam < found.size(); ++beam) {
    Ids scored = found[beam].ids;
    if (found[beam].reason == StopReason::end) scored.push_back(end);
    const double log_probability = rescored(context, model, prompt, scored);
    const auto length = static_cast<double>(scored.size());
    EXPECT_NEAR(found[beam].log_probability(), log_probability, 1e-5);
    EXPECT_NEAR(found[beam].score, log_probability / std::pow(length, options.length_penalty),
                1e-5);
    EXPECT_TRUE(beam == 0 || found[beam].score <= found[beam - 1].score);
  }
}

}  // namespace headlight::infer
