// What can be asked of a model.
#include "headlight/heads/logit_metric.h"

#include <string>

namespace headlight::heads {
namespace {

void check_word(std::string_view what, const char* which, int64_t id, int64_t known) {
  if (id >= 0 && id < known) return;
  base::refuse(what, which,
               "id " + std::to_string(id) + " is none of the model's, which are 0 to " +
                   std::to_string(known - 1));
}

void check_one_sequence(std::string_view what, const char* which, const tensor::Tensor& ids) {
  if (ids.rank() == 2 && ids.size(0) == 1 && ids.size(1) >= 1) return;
  base::refuse(what, which, "are " + ids.shape().text() + ", one sequence [1, T] is needed");
}

}  // namespace

double metric_of(const float* logits, const LogitMetric& metric) {
  const double logit = logits[metric.word];
  return metric.against ? logit - static_cast<double>(logits[*metric.against]) : logit;
}

void check_metric(std::string_view what, const models::Model& model, const models::Batch& batch,
                  const LogitMetric& metric) {
  if (!model.has_logits()) {
    base::refuse(what, model.type(),
                 "the model predicts no words: there are no logits to ask about");
  }
  if (!batch.ids.defined()) base::refuse(what, "ids", "are missing");
  check_one_sequence(what, "ids", batch.ids);
  if (batch.source_ids.defined()) check_one_sequence(what, "source ids", batch.source_ids);
  if (batch.lens.defined() || batch.source_lens.defined()) {
    base::refuse(what, "lengths", "one sequence has no padding and needs none");
  }
  check_word(what, "word", metric.word, model.vocab_size());
  if (metric.against) check_word(what, "against", *metric.against, model.vocab_size());
  const int64_t count = batch.ids.size(1);
  if (metric.position < 0 || metric.position >= count) {
    base::refuse(what, "position " + std::to_string(metric.position),
                 count == 1 ? "there is one token, at 0"
                            : "there are " + std::to_string(count) + " tokens, 0 to " +
                                  std::to_string(count - 1));
  }
}

}  // namespace headlight::heads
