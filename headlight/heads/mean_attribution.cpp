// One run for each example, walked back from every target.
#include "headlight/heads/mean_attribution.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "headlight/heads/linear_walk.h"

namespace headlight::heads {
namespace {

int64_t likeliest_other(const float* logits, int64_t words, int64_t right) {
  int64_t other = right == 0 ? 1 : 0;
  for (int64_t word = 0; word < words; ++word) {
    if (word != right && logits[word] > logits[other]) other = word;
  }
  return other;
}

class AttributionMeans {
 public:
  AttributionMeans(base::ThreadPool& threads, const models::Model& model)
      : threads_(threads), model_(model), attentions_(attention_heads(model)) {
    for (const AttentionHeads& attention : attentions_) {
      if (!attention.is_output_stack) continue;
      for (const std::string& name : attention.head_names) sums_[name] = {};
    }
  }

  void add(const models::Batch& example) {
    tensor::Arena arena;
    autograd::Recording recording;
    autograd::Context context{.threads = threads_, .arena = arena, .observer = &recording};
    const autograd::Value output = model_.forward(context, example);
    const int64_t* targets = example.targets.data<int64_t>();
    std::map<std::string, Sum> of_example;
    double margin = 0;
    double count = 0;
    for (int64_t at = 0; at < example.targets.size(1); ++at) {
      if (targets[at] < 0) continue;
      const autograd::Value logits = model_.logits(context, autograd::slice(output, 1, at, 1));
      const LogitMetric metric{
          at, targets[at],
          likeliest_other(logits.data().data<float>(), logits.size(-1), targets[at])};
      const Attribution attribution = attribution_of_row(recording, attentions_, logits, metric);
      add_parts(attribution, of_example);
      margin += attribution.measured;
      ++count;
    }
    if (count == 0) return;
    for (const auto& [name, sum] : of_example) {
      sums_[name].magnitude += sum.magnitude / count;
      sums_[name].value += sum.value / count;
    }
    margin_ += margin / count;
    ++examples_;
  }

  MeanAttribution result() const {
    if (examples_ == 0) base::refuse("attribution", "examples", "none of them has a target");
    const auto count = static_cast<double>(examples_);
    MeanAttribution result{.examples = examples_, .margin = margin_ / count};
    for (const HeadName& head : heads_of(model_)) {
      const auto sum = sums_.find(head.text());
      if (sum == sums_.end()) continue;
      result.heads.push_back({head, sum->second.magnitude / count, sum->second.value / count});
    }
    return result;
  }

 private:
  struct Sum {
    double magnitude = 0;
    double value = 0;
  };

  static void add_parts(const Attribution& attribution, std::map<std::string, Sum>& sums) {
    for (const AttributedPart& part : attribution.parts) {
      if (part.kind != PartKind::head) continue;
      sums[part.part].magnitude += std::abs(part.value);
      sums[part.part].value += part.value;
    }
  }

  base::ThreadPool& threads_;
  const models::Model& model_;
  std::vector<AttentionHeads> attentions_;
  std::map<std::string, Sum> sums_;  // of all examples, by the name of a head
  double margin_ = 0;
  int64_t examples_ = 0;
};

}  // namespace

MeanAttribution mean_attribution(base::ThreadPool& threads, const models::Model& model,
                                 const Examples& examples, const Watch& watch) {
  check_examples(model, examples);
  if (model.vocab_size() < 2) {
    base::refuse("attribution", model.type(),
                 "it knows one word only, which has no other beside it");
  }
  AttributionMeans means(threads, model);
  const int64_t all = example_count(examples);
  int64_t done = 0;
  for (const models::Batch& batch : examples) {
    for (int64_t row = 0; row < batch.ids.size(0); ++row) {
      if (watch.stops()) return {.interrupted = true};
      means.add(example_at(batch, row));
      watch.tell(++done, all);
    }
  }
  return means.result();
}

}  // namespace headlight::heads
