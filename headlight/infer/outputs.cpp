// Inputs sorted by length into batches, results put back in order.
#include "headlight/infer/outputs.h"

#include <algorithm>
#include <numeric>

#include "headlight/infer/padding.h"

namespace headlight::infer {
namespace {

using Ids = std::vector<int64_t>;

size_t length_of(const Ids& ids) { return ids.size(); }
size_t length_of(const ClassifiedText& text) { return text.ids.size(); }

// run(the inputs of a batch) gives a result for each.
template <class Result, class Input, class Run>
std::vector<Result> in_batches(const std::vector<Input>& inputs, size_t batch_tokens,
                               const Run& run,
                               const std::function<void(double share)>& progress = {}) {
  std::vector<size_t> lengths;
  lengths.reserve(inputs.size());
  for (const Input& input : inputs) lengths.push_back(length_of(input));
  std::vector<Result> results(inputs.size());
  size_t done = 0;
  for (const std::vector<size_t>& batch : length_batches(lengths, batch_tokens)) {
    std::vector<Input> members;
    members.reserve(batch.size());
    for (const size_t index : batch) members.push_back(inputs[index]);
    std::vector<Result> of_batch = run(members);
    for (size_t i = 0; i < batch.size(); ++i) results[batch[i]] = std::move(of_batch[i]);
    done += batch.size();
    if (progress) progress(static_cast<double>(done) / static_cast<double>(inputs.size()));
  }
  return results;
}

std::vector<Prompt> prompts_for(const std::vector<Ids>& sources) {
  std::vector<Prompt> prompts;
  prompts.reserve(sources.size());
  for (const Ids& source : sources) prompts.push_back({.source = source});
  return prompts;
}

std::vector<std::vector<float>> rows_of(const tensor::Tensor& matrix) {
  std::vector<std::vector<float>> rows;
  for (int64_t row = 0; row < matrix.size(0); ++row) {
    const float* first = matrix.data<float>() + row * matrix.size(1);
    rows.emplace_back(first, first + matrix.size(1));
  }
  return rows;
}

}  // namespace

std::vector<std::vector<size_t>> length_batches(const std::vector<size_t>& lengths,
                                                size_t most_tokens) {
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t index) { return lengths[index]; });
  std::vector<std::vector<size_t>> batches;
  for (const size_t index : order) {
    // Lengths ascend: the newcomer is the longest of its batch.
    if (batches.empty() || (batches.back().size() + 1) * lengths[index] > most_tokens) {
      batches.emplace_back();
    }
    batches.back().push_back(index);
  }
  return batches;
}

std::vector<Continuation> greedy_outputs(Context& context, const Model& model,
                                         const std::vector<Ids>& sources,
                                         const OutputOptions& options) {
  return in_batches<Continuation>(
      sources, options.batch_tokens,
      [&](const std::vector<Ids>& batch) {
        return generate(context, model, prompts_for(batch), {.ending = options.ending});
      },
      options.progress);
}

std::vector<std::vector<Hypothesis>> beam_outputs(Context& context, const Model& model,
                                                  const std::vector<Ids>& sources,
                                                  const SearchOptions& search,
                                                  const OutputOptions& options) {
  const BeamOptions beam_options{
      .beams = search.beams, .length_penalty = search.length_penalty, .ending = options.ending};
  // Each source is held once per beam.
  const size_t batch_tokens =
      options.batch_tokens / static_cast<size_t>(std::max<int64_t>(1, search.beams));
  return in_batches<std::vector<Hypothesis>>(
      sources, batch_tokens,
      [&](const std::vector<Ids>& batch) {
        return beam_search(context, model, prompts_for(batch), beam_options);
      },
      options.progress);
}

std::vector<std::vector<float>> sentence_vectors(Context& context, const Model& model,
                                                 const std::vector<Ids>& sentences,
                                                 const SentenceOptions& options) {
  using Vector = std::vector<float>;
  return in_batches<Vector>(sentences, options.batch_tokens, [&](const std::vector<Ids>& batch) {
    const PaddedIds words = padded(batch);
    const autograd::Value output = model.forward(context, {.ids = words.ids, .lens = words.lens});
    const tensor::Tensor rows =
        model.sentence_vectors(context, output, words.lens, options.pooling);
    return rows_of(rows);
  });
}

std::vector<std::vector<float>> class_logits(Context& context, const Model& model,
                                             const std::vector<ClassifiedText>& texts,
                                             size_t batch_tokens) {
  using Vector = std::vector<float>;
  return in_batches<Vector>(texts, batch_tokens, [&](const std::vector<ClassifiedText>& batch) {
    std::vector<Ids> ids;
    std::vector<Ids> segments;
    for (const ClassifiedText& text : batch) {
      ids.push_back(text.ids);
      segments.push_back(text.segments.empty() ? Ids(text.ids.size()) : text.segments);
    }
    const PaddedIds words = padded(ids);
    models::Batch read{.ids = words.ids, .lens = words.lens};
    if (model.reads_segments()) read.segments = padded(segments).ids;
    const autograd::Value output = model.forward(context, read);
    return rows_of(model.class_logits(context, output, read).data());
  });
}

}  // namespace headlight::infer
