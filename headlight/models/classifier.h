// Classifier: the head that says something of a whole sequence, a number for each of its labels.
// What families differ in is data in its design.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/nn/nn.h"

namespace headlight::models {

struct Batch;

// What the numbers of a classifier mean.
enum class ClassProblem {
  single_label,  // softmax makes probabilities of them: one label is right
  multi_label,   // each is a label's by itself, which may be right or not
  regression,    // they are what is asked for
};

// What a folder says of its classes.
struct Classes {
  std::vector<std::string> labels = {};  // at least one
  ClassProblem problem = ClassProblem::single_label;
  bool names_problem = false;     // the folder has a problem_type
  std::string architecture = {};  // as the folder has it: "BertForSequenceClassification"
};

// Which row of a sequence is classified.
enum class ClassifiedRow {
  first,
  mean,  // of all that count
  last,  // that counts and is not the padding's id
};

// A layer with an activation and maybe a norm on that row, and the layer that gives the numbers.
struct ClassifierDesign {
  Classes classes = {};
  ClassifiedRow row = ClassifiedRow::first;
  std::optional<int64_t> padding = {};  // of `last`
  int64_t width = 0;                    // of what the layers give
  // Where the output is read by way of a narrower row: its width and the stem of the layer to it.
  int64_t narrow_width = 0;
  std::string projection = {};
  std::string transform = {};  // stem; empty: none
  bool transform_bias = true;
  nn::Activation activation = nn::Activation::tanh;
  std::string norm = {};  // stem; empty: none
  nn::NormOptions norm_options = {};
  std::string output = "classifier";  // stem
  bool output_bias = true;
  float dropout = 0;         // of what the output layer reads
  bool drops_input = false;  // ... and of the row itself
};

// Numbers in its parameters, known before any is made.
int64_t parameter_count(const ClassifierDesign& design);

class Classifier {
 public:
  explicit Classifier(ClassifierDesign design);

  const ClassifierDesign& design() const noexcept { return design_; }
  const Classes& classes() const noexcept { return design_.classes; }
  int64_t label_count() const { return std::ssize(design_.classes.labels); }
  nn::Parameters parameters() const;

  // From the hidden states (B, T, C) of a batch: (B, labels). Observed as "classifier.pooled",
  // "classifier.hidden", "classifier.activated", "classifier.norm", "classifier.logits" and, where
  // one label is right, "classifier.probabilities".
  autograd::Value logits(autograd::Context& context, const autograd::Value& output,
                         const Batch& batch) const;

 private:
  std::vector<autograd::RowRange> ranges(const autograd::Value& output, const Batch& batch) const;

  ClassifierDesign design_;
  std::optional<nn::Linear> projection_;
  std::optional<nn::Linear> transform_;
  std::optional<nn::Norm> norm_;
  nn::Linear output_;
};

// What to tell people of a sequence: a probability of each label, or the number itself. Of the
// `most` largest, the largest first, of equals the first; of a regression in the labels' order.
struct LabelScore {
  std::string label;
  double score = 0;
  float logit = 0;
};
// `logits` has a number for each label.
std::vector<LabelScore> label_scores(const Classes& classes, const float* logits, size_t most);

}  // namespace headlight::models
