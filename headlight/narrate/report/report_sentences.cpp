// Runs on single sentences, of which the weights of all heads are kept.
#include "headlight/narrate/report/report_sentences.h"

#include <algorithm>

#include "headlight/explain/explain.h"

namespace headlight::narrate {
namespace {

using tensor::Tensor;

Tensor cut_ids(const Tensor& ids, int64_t most) {
  return ids.defined() && ids.size(1) > most ? ids.slice(1, 0, most).contiguous() : ids;
}

// One sequence without targets, short enough to be looked at.
models::Batch cut_example(const models::Batch& row, int64_t most) {
  return {.ids = cut_ids(row.ids, most),
          .source_ids = cut_ids(row.source_ids, most),
          .segments = cut_ids(row.segments, most)};
}

std::vector<std::string> labels_of_ids(const Tensor& ids, const text::Tokenizer* tokenizer) {
  std::vector<std::string> labels;
  if (!ids.defined()) return labels;
  for (int64_t i = 0; i < ids.elements(); ++i) {
    const int64_t id = ids.data<int64_t>()[i];
    labels.push_back(tokenizer == nullptr ? std::to_string(id) : text::label_of(*tokenizer, id));
  }
  return labels;
}

ReportSentence looked_at(base::ThreadPool& threads, const models::Model& model,
                         const explain::Input& input) {
  ReportSentence sentence{
      .tokens = input.tokens, .source_tokens = input.source_tokens, .heads = {}};
  const explain::Trace trace = explain::trace_model(threads, model, input);
  for (const explain::TracedTensor& tensor : trace.tensors()) {
    if (!tensor.is_attention || !tensor.variant.empty()) continue;
    const Tensor weights = trace.values(tensor.name).contiguous();  // (1, H, T, S)
    const std::string place = tensor.name.substr(0, tensor.name.rfind('.'));
    const bool is_encoder = place.starts_with("encoder.") && !input.source_tokens.empty();
    for (int64_t head = 0; head < weights.size(1); ++head) {
      const int64_t number =
          tensor.head_numbers.empty() ? head : tensor.head_numbers[static_cast<size_t>(head)];
      sentence.heads.push_back(
          {.head = place + "." + std::to_string(number),
           .weights =
               weights.slice(1, head, 1).contiguous().reshaped({weights.size(2), weights.size(3)}),
           .rows_are_source = is_encoder,
           .columns_are_source = is_encoder || place.ends_with(".cross")});
    }
  }
  return sentence;
}

}  // namespace

std::vector<ReportSentence> report_sentences(base::ThreadPool& threads, const models::Model& model,
                                             const text::Tokenizer* tokenizer,
                                             const heads::Examples& examples,
                                             const SentenceLimits& limits) {
  std::vector<ReportSentence> sentences;
  for (const models::Batch& batch : examples) {
    for (int64_t row = 0; row < batch.ids.size(0); ++row) {
      if (std::ssize(sentences) == limits.sentences) return sentences;
      const models::Batch example = cut_example(heads::example_at(batch, row), limits.tokens);
      sentences.push_back(
          looked_at(threads, model,
                    {.batch = example,
                     .tokens = labels_of_ids(example.ids, tokenizer),
                     .source_tokens = labels_of_ids(example.source_ids, tokenizer)}));
    }
  }
  return sentences;
}

}  // namespace headlight::narrate
