// The study of a model's heads: do ways of measuring what a head is worth agree, how many heads can
// go, which kind is missed first, and is a pruned model better than one that never had more heads?
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headlight/recipes/pruning_data.h"

namespace headlight::recipes {

struct HeadsStudyOptions {
  uint64_t seed = 0;                  // of what is drawn: examples, random orders, gates
  int64_t chosen_examples = 256;      // heads are scored and chosen by these,
  int64_t attributed_examples = 128;  // attributed by so many of them,
  int64_t measured_examples = 2000;   // and missed on these, which no training has seen
  // Curves by gradient, of all heads and of each type; and of all heads by ablation, gates and in
  // random orders: shares that are removed.
  std::vector<double> shares = {0, 0.25, 0.5, 0.75, 1};
  int64_t random_orders = 10;
  int64_t gate_steps = 60;  // of a round; 0: no curve by gates
  // What takes longer, at fewer shares besides none and all: random orders of each type, and all
  // but these again after so many steps of fine-tuning (0: not at all).
  std::vector<double> coarse_shares = {0.5};
  int64_t finetune = 50;
  double tolerance = 0.005;  // of quality: "half a point"
  // Equal shapes: the model without its least heads by gradient against one that was trained from
  // the beginning without them. Without the function nothing is compared.
  std::vector<double> kept_shares = {0.25};
  int64_t finetune_compared = 500;
  // Trains a new model that has the heads of this one. Nothing: it was told to stop.
  std::function<std::unique_ptr<models::Model>(const models::Model& shape)> from_scratch = {};
  // Parts that an earlier run has finished, and where to put those that this one finishes.
  std::function<std::optional<io::Json>(const std::string& part)> known = {};
  std::function<void(const std::string& part, const io::Json& result)> finished = {};
  std::function<void(const std::string& stage)> begins = {};  // told what comes next
  std::function<bool()> interrupted = {};
};

// What one head was found to be worth, by each way of measuring it; the larger, the more.
struct StudiedHead {
  heads::HeadName head;
  double gradient = 0;                     // mean over examples of |dL/dgate|
  double ablation = 0;                     // change of the loss with the head at zero,
  double mean_ablation = 0;                // and at its mean
  std::optional<double> attribution = {};  // mean |part of the margin|; an encoder's have none
  double confidence = 0;                   // mean of the largest weight
  heads::Measurement without = {};         // the model without it, on what is measured on
  heads::Measurement alone = {};           // and without all others of its attention
};

struct ScoreAgreement {
  std::string first;  // "gradient", "ablation", "mean_ablation", "attribution", "confidence"
  std::string second;
  double correlation = 0;  // of ranks; nan where one does not vary
  int64_t heads = 0;       // that both are of
};

struct EqualShape {
  double kept_share = 0;
  int64_t heads = 0;                                       // kept
  std::vector<std::pair<std::string, int64_t>> left = {};  // of each attention
  heads::Measurement pruned = {};
  heads::Measurement finetuned = {};
  heads::Measurement from_scratch = {};
};

struct HeadsStudy {
  std::string metric = {};  // what quality is; "loss" where a task has nothing better
  bool higher_is_better = false;
  int64_t examples = 0;  // that quality was measured on
  double tolerance = 0;
  heads::Measurement whole = {};  // the model as it is
  std::vector<StudiedHead> heads = {};
  std::vector<ScoreAgreement> agreements = {};
  std::vector<heads::Curve> curves = {};
  std::vector<EqualShape> equal_shapes = {};
  bool interrupted = false;  // then there is nothing else in it

  double quality(const heads::Measurement& measured) const {
    return measured.metric.value_or(measured.loss);
  }
  // How much worse it is than the whole model.
  double missed(const heads::Measurement& measured) const {
    const double more = quality(measured) - quality(whole);
    return higher_is_better ? -more : more;
  }
  const heads::Curve* find(heads::PruneMethod method, const std::string& type,
                           bool finetuned) const;
};

// The model is as it was afterwards. Throws as make_pruning_data and prune_curves do.
HeadsStudy study_heads(base::ThreadPool& threads, base::FileSystem& files,
                       const LoadedModel& loaded, const HeadsStudyOptions& options);

// {"metric", "examples", "tolerance", "whole", "heads": [{"head", "gradient", ..., "without",
// "alone"}], "agreements": [{"first", "second", "correlation", "heads"}], "curves": [...],
// "removable": [{"method", "type", "finetuned", "share"}], "equal_shapes": [...]}.
io::Json::Object heads_study_json(const HeadsStudy& study);

// Writes a folder, which must not be there yet, with a new model that has the same configuration
// and heads as this one and the first weights of a training by this seed; beside them what
// write_model_copy takes from `source`. What is trained from it, by the key `init` and the same
// seed, is trained as if the shape had been asked for.
void write_fresh_model(base::FileSystem& files, const models::Model& shape,
                       const std::string& source, uint64_t seed, const std::string& folder);

}  // namespace headlight::recipes
