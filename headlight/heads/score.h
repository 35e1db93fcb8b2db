// Everything that is measured of each head, in one table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/heads/behaviour.h"
#include "headlight/heads/circuits.h"
#include "headlight/heads/importance.h"

namespace headlight::heads {

struct HeadScore {
  std::string head;   // "decoder.0.self.3"
  std::string place;  // "decoder.0.self"
  HeadImportance importance = {};
  Behaviour behaviour = {};
  std::optional<double> copying = {};
  // As HeadStatistics has it; induction or duplicate where that score is at least one half.
  HeadRole role = HeadRole::none;
};

struct HeadScores {
  std::vector<HeadScore> heads = {};  // in the order of the model
  int64_t examples = 0;
  double loss = 0;
  BehaviourResult behaviour = {};  // with the sequences that were made
  std::vector<Composition> compositions = {};
  bool interrupted = false;  // then there is nothing else in it
};

struct ScoreOptions {
  BehaviourOptions behaviour = {};
  bool compositions = true;
  Watch watch = {};
};

HeadScores score_heads(base::ThreadPool& threads, models::Model& model, const Examples& examples,
                       const ScoreOptions& options = {});

// {"heads": [{"head", "gradient", "gradient_signed", "entropy", "confidence", "mean_distance",
// "previous", "duplicate", "induction", "prefix_matching", "copying", "role",
// "gradient_normalized", "relative_entropy", "uniform": {"previous", ...}}], "examples", "loss",
// "sequences": [{"period", "copies", "first", "ids", "source_ids"}], "compositions": [{"from",
// "to", "kind", "score"}]}; what a model cannot have is null.
io::Json::Object head_scores_json(const HeadScores& scores);

}  // namespace headlight::heads
