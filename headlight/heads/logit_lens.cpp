// Rows of all layers, through the end of the model together.
#include "headlight/heads/logit_lens.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace headlight::heads {
namespace {

using autograd::Value;
using tensor::Tensor;

// The streams' names in order, and their rows at one position as (layers, C).
struct StreamRows {
  std::vector<std::string> names;
  Tensor rows;
};

StreamRows stream_rows(base::ThreadPool& threads, const models::Model& model,
                       const nn::TransformerStack& stack, const models::Batch& batch,
                       int64_t position) {
  StreamRows streams;
  for (const nn::TransformerBlock& block : stack.blocks()) {
    const std::string& place = block.options().place;
    if (streams.names.empty()) streams.names.push_back(place + ".residual_in");
    streams.names.push_back(place + ".residual_out");
  }
  autograd::Recording recording({.wants =
                                     [&streams](std::string_view place) {
                                       return std::ranges::find(streams.names, place) !=
                                              streams.names.end();
                                     },
                                 .reports = false});
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena, .observer = &recording};
  const int64_t width = model.forward(context, batch).size(-1);
  const auto count = static_cast<int64_t>(streams.names.size());
  streams.rows = Tensor::uninitialized(tensor::DType::f32, {count, width});
  float* to = streams.rows.mutable_data<float>();
  for (const std::string& name : streams.names) {
    to = std::copy_n(recording.seen(name).data<float>() + position * width, width, to);
  }
  return streams;
}

// Probabilities of one row, in doubles.
class LensRow {
 public:
  explicit LensRow(std::span<const float> logits) : logits_(logits) {
    largest_ = *std::ranges::max_element(logits);
    for (const float logit : logits) total_ += std::exp(static_cast<double>(logit) - largest_);
  }

  LensWord word(int64_t id) const {
    const float logit = logits_[static_cast<size_t>(id)];
    LensWord word{.id = id, .logit = logit, .probability = std::exp(logit - largest_) / total_};
    for (size_t other = 0; other < logits_.size(); ++other) {
      const auto other_id = static_cast<int64_t>(other);
      const bool is_before = order_of(other_id) > order_of(id) ||
                             (order_of(other_id) == order_of(id) && other_id <= id);
      word.rank += is_before ? 1 : 0;
    }
    return word;
  }

  std::vector<LensWord> most_likely(int64_t count) const {
    std::vector<int64_t> ids(logits_.size());
    std::iota(ids.begin(), ids.end(), 0);
    const auto kept = std::min<int64_t>(count, static_cast<int64_t>(ids.size()));
    std::partial_sort(ids.begin(), ids.begin() + kept, ids.end(), [this](int64_t a, int64_t b) {
      const float x = order_of(a);
      const float y = order_of(b);
      return x > y || (x == y && a < b);
    });
    std::vector<LensWord> words;
    for (int64_t i = 0; i < kept; ++i) words.push_back(word(ids[static_cast<size_t>(i)]));
    return words;
  }

 private:
  // What is no number is the least likely.
  float order_of(int64_t id) const {
    const float logit = logits_[static_cast<size_t>(id)];
    return std::isnan(logit) ? -std::numeric_limits<float>::infinity() : logit;
  }

  std::span<const float> logits_;
  double largest_ = 0;
  double total_ = 0;
};

io::Json lens_word_json(const LensWord& word, const std::function<std::string(int64_t)>& label) {
  return io::Json::Object{{"word", label(word.id)},
                          {"id", word.id},
                          {"logit", word.logit},
                          {"probability", word.probability},
                          {"rank", word.rank}};
}

}  // namespace

LogitLens logit_lens(base::ThreadPool& threads, const models::Model& model,
                     const models::Batch& batch, const LogitMetric& metric, int64_t top) {
  check_metric("logit lens", model, batch, metric);
  const models::Parts parts = model.parts();
  const nn::TransformerStack* stack = parts.decoder != nullptr ? parts.decoder : parts.encoder;
  if (stack == nullptr || stack->blocks().empty()) {
    base::refuse("logit lens", model.type(), "the model has no layers to look between");
  }
  const StreamRows streams = stream_rows(threads, model, *stack, batch, metric.position);
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena};
  Value rows = Value::leaf(streams.rows);
  LogitLens lens;
  if (const nn::Norm* norm = stack->final_norm()) {
    lens.final_norm = norm->options().place;
    rows = norm->forward(context, rows);
  }
  const Tensor logits = model.logits(context, rows).data();
  const auto words = static_cast<size_t>(logits.size(-1));
  for (size_t layer = 0; layer < streams.names.size(); ++layer) {
    const LensRow row({logits.data<float>() + layer * words, words});
    LensLayer said{.stream = streams.names[layer],
                   .words = row.most_likely(top),
                   .word = row.word(metric.word)};
    if (metric.against) said.against = row.word(*metric.against);
    lens.layers.push_back(std::move(said));
  }
  return lens;
}

io::Json::Object logit_lens_json(const LogitLens& lens,
                                 const std::function<std::string(int64_t)>& label) {
  io::Json::Array layers;
  for (const LensLayer& layer : lens.layers) {
    io::Json::Array words;
    for (const LensWord& word : layer.words) words.push_back(lens_word_json(word, label));
    io::Json::Object said = {{"layer", layer.stream},
                             {"words", std::move(words)},
                             {"word", lens_word_json(layer.word, label)}};
    if (layer.against) said.emplace_back("against", lens_word_json(*layer.against, label));
    layers.emplace_back(std::move(said));
  }
  return {{"final_norm", lens.final_norm.empty() ? io::Json() : io::Json(lens.final_norm)},
          {"layers", std::move(layers)}};
}

}  // namespace headlight::heads
