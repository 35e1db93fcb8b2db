// Heads taken out of runs, and what that costs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/heads/examples.h"

namespace headlight::heads {

// What stands in the place of a head's output z.
enum class AblationKind {
  zero,
  mean,      // its mean over the real positions of all examples
  resample,  // what it is in another example, drawn by the seed, at the same position; where that
             // example is shorter, it is read again from its beginning
};
std::string_view name_of(AblationKind kind);  // "zero", ...
// Throws Error(usage) for another word.
AblationKind ablation_kind(std::string_view word);

// Heads by the place of their attention and their numbers there.
using HeadSet = std::map<std::string, std::vector<int64_t>, std::less<>>;

// What is measured of a model without some heads.
struct Measurement {
  double loss = 0;
  std::optional<double> metric = {};  // the other one, where one is asked for
};

// As numbers of a piece of work, and back; nothing of nothing.
std::optional<std::vector<double>> numbers_of(const std::optional<Measurement>& measured);
Measurement measurement_of(const std::vector<double>& numbers);

// Evaluates a model on examples with any heads ablated. Mean and donors are those of the model as
// it is. What it refers to outlives it; one thread uses it at a time.
class AblatedModel {
 public:
  struct Options {
    AblationKind by = AblationKind::zero;
    std::optional<Metric> metric = {};  // besides the loss
    uint64_t seed = 0;
  };
  // Throws Error(bad_input) for examples that do not do.
  AblatedModel(base::ThreadPool& threads, models::Model& model, const Examples& examples,
               const Options& options);
  ~AblatedModel();

  // Nothing when `watch` was told to stop; its progress is that of this evaluation. Throws
  // Error(bad_input) for a head that the model does not have.
  std::optional<Measurement> evaluate(const HeadSet& heads, const Watch& watch = {});

 private:
  class Substitute;
  struct State;
  std::vector<double> row_numbers(const HeadSet& heads, int64_t number);

  std::unique_ptr<State> state_;
};

struct AblatedHead {
  std::string head;
  std::string place;
  Measurement measured = {};
  double change = 0;  // of the loss
};

struct AblationOptions {
  AblationKind by = AblationKind::zero;
  bool all_but_one = false;
  bool greedy = false;
  int64_t greedy_steps = 0;           // how many are removed at most; 0: all
  std::optional<Metric> metric = {};  // measured beside the loss; greedy removal goes by it, and by
                                      // the loss where it is the same
  uint64_t seed = 0;
  Watch watch = {};
  // What an earlier run has measured, by name, and where to put what this one measures: an
  // interrupted experiment goes on.
  std::function<std::optional<Measurement>(const std::string& name)> known = {};
  std::function<void(const std::string& name, const Measurement& measured)> measured = {};
};

struct AblationResult {
  AblationKind by = AblationKind::zero;
  std::string metric = {};    // the name of the other metric; empty: none
  Measurement baseline = {};  // of the whole model
  int64_t examples = 0;
  std::vector<AblatedHead> heads = {};        // each alone, in the order of the model
  std::vector<AblatedHead> all_but_one = {};  // each as the only one left of its attention
  std::vector<AblatedHead> greedy = {};       // in the order of removal, with all before them
  bool interrupted = false;                   // then it holds what was measured until then
};

AblationResult ablate_heads(base::ThreadPool& threads, models::Model& model,
                            const Examples& examples, const AblationOptions& options = {});

// {"loss", "heads": [{"head", "loss", "change"}], "by", "examples"}; "all_but_one" and "greedy", of
// the same form, where they were asked for; with another metric its name and its value beside each
// loss.
io::Json::Object ablation_json(const AblationResult& result);

}  // namespace headlight::heads
