// LinearWalk: from one row of a run's result back to the parts that add up to it. Inside heads
// only.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headlight/heads/attention_heads.h"
#include "headlight/heads/attribution.h"

namespace headlight::heads {

// Each row of a value that the result depends on has a direction: the result is the sum, over rows
// at which the walk stands, of row times direction, and of the parts so far. A step of the
// recording hands the direction of its output on to its inputs, by its own linear form, and makes
// parts of what it adds by itself. At heads, feed-forward layers and embeddings the walk ends.
class LinearWalk {
 public:
  LinearWalk(const autograd::Recording& recording, std::vector<AttentionHeads> attentions);

  // Of one row of `result`.
  void start(const autograd::Value& result, int64_t row, std::vector<double> direction);
  void run();
  std::vector<AttributedPart> take_parts();  // in the order of the run
  std::vector<ActivationGain> take_gains();

  // Rows of a step's output that the result depends on; of a norm, of all its outputs.
  struct Visit {
    const autograd::Recording::Step* step;
    int64_t value;
    int64_t row;
  };
  const std::vector<Visit>& visits() const { return visits_; }  // the last of the run first
  // "decoder.0.self" where a name of the value is "decoder.0.self.output"; else empty.
  std::string place_before(int64_t value, std::string_view ending) const;

 private:
  using Step = autograd::Recording::Step;
  using Input = autograd::Recording::Input;
  using Direction = std::vector<double>;
  struct Arrived {
    int64_t row;
    Direction direction;
  };

  std::vector<Arrived> take(int64_t value);
  void pass(const Input& input, int64_t row, std::span<const double> direction);
  void pass_to(const autograd::Recording::Source& source, const autograd::Value& value, int64_t row,
               std::span<const double> direction);
  void add_part(std::string name, PartKind kind, double value);
  std::string name_or(int64_t value, std::string_view otherwise) const;

  void visit(const Step& step);
  void visit_name(const Step& step);
  void visit_linear(const Step& step, const Arrived& at);
  void add_feed_forward(const Step& step, const std::string& place, const Arrived& at);
  // Gives the layer's name.
  std::string through_activation(const Step& step, int64_t row, Direction& direction);
  void visit_norm(const Step& step);
  Direction before_norm(const Step& step, const autograd::Value& rows, const Arrived& at);
  void visit_attention(const Step& step, const Arrived& at);
  void visit_embedding(const Step& step, const Arrived& at);
  void visit_sum(const Step& step, const Arrived& at);
  void visit_other(const Step& step, int64_t value, const Arrived& at);

  const autograd::Recording& recording_;
  std::vector<AttentionHeads> attentions_;
  std::multimap<int64_t, std::string> names_;                 // of values
  std::map<std::pair<int64_t, int64_t>, Direction> arrived_;  // by value and row
  int64_t result_ = autograd::Recording::kUnknown;
  std::vector<std::vector<AttributedPart>> parts_;  // of each step, the last first
  std::vector<ActivationGain> gains_;
  std::vector<Visit> visits_;
};

// What the only row of `logits`, which the recording knows, is made of.
Attribution attribution_of_row(const autograd::Recording& recording,
                               const std::vector<AttentionHeads>& attentions,
                               const autograd::Value& logits, const LogitMetric& metric);

}  // namespace headlight::heads
