// Five architectures that the project does not know, made of the block alone: they run, learn,
// decode and are explained without a line of code for them anywhere but here.
#include <cmath>

#include "headlight/explain/explain.h"
#include "headlight/models/models.h"
#include "tests/nn/plain_block.h"
#include "tests/nn/support.h"

namespace headlight::nn {
namespace {

using models::Batch;

constexpr int64_t kVocabulary = 13;
constexpr int64_t kWidth = 12;
constexpr int64_t kLongest = 16;

tensor::Tensor drawn_ids(int64_t count, uint64_t seed) {
  const base::Random random(seed);
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<int64_t>(random.below(static_cast<uint64_t>(i), kVocabulary)));
  }
  return tensor::Tensor::of({1, count}, ids);
}

// Random numbers everywhere, norms around 1, so that nothing hides behind a zero.
void fill_in(const Parameters& parameters, uint64_t seed) {
  const base::Random random(seed);
  uint64_t next = 0;
  for (const ParameterHandle& parameter : parameters) {
    tensor::Tensor numbers = tensor::Tensor::uninitialized(tensor::DType::f32, parameter->shape());
    const bool is_norm = parameter->shape().rank() == 1 && parameter->name().ends_with("weight");
    for (int64_t i = 0; i < numbers.elements(); ++i) {
      numbers.mutable_data<float>()[i] = (is_norm ? 1.0F : 0.0F) + 0.2F * random.normal(next++);
    }
    parameter->assign(numbers);
  }
}

AttentionNames names_of(const std::string& prefix) {
  return AttentionNames{.weights = {"q.weight", "k.weight", "v.weight"},
                        .biases = {"q.bias", "k.bias", "v.bias"},
                        .output_weight = "o.weight",
                        .output_bias = "o.bias"}
      .with_prefix(prefix);
}

TransformerNames block_names(const std::string& place) {
  const std::string p = place + ".";
  return {.self = names_of(p + "self."),
          .cross = names_of(p + "cross."),
          .self_norm = p + "self_norm",
          .cross_norm = p + "cross_norm",
          .feed_forward_norm = p + "ffn_norm",
          .first = p + "up",
          .second = p + "down"};
}

// What an architecture is made of: the options of each layer.
struct Design {
  std::vector<TransformerBlockOptions> encoder = {};
  std::vector<TransformerBlockOptions> decoder = {};
};

std::vector<TransformerBlock> blocks_of(const std::vector<TransformerBlockOptions>& options) {
  return std::vector<TransformerBlock>(options.begin(), options.end());
}

Norm final_norm(const Design& design, const std::string& place) {
  const TransformerBlockOptions& last = design.decoder.back();
  NormOptions options;
  options.width = kWidth;
  options.kind = last.norm_kind;
  options.bias = last.norm_bias;
  options.weight_offset = last.norm_weight_offset;
  options.epsilon = last.epsilon;
  options.place = place + ".norm";
  return {place + ".final", options};
}

SequenceEmbedding embedding_of(const Embedding& words, const std::string& place) {
  return {words, {.max_length = kLongest, .adds_positions = false, .place = place}};
}

class BlockModel : public models::Model {
 public:
  explicit BlockModel(Design design)
      : design_(std::move(design)),
        words_("words", kVocabulary, kWidth),
        decoder_{
            embedding_of(words_, "decoder"),
            {blocks_of(design_.decoder), final_norm(design_, "decoder"), "decoder"},
            OutputLayer(std::make_shared<Parameter>("head", tensor::Shape{kVocabulary, kWidth}))} {
    if (design_.encoder.empty()) return;
    encoder_embedding_.emplace(embedding_of(words_, "encoder"));
    encoder_.emplace(blocks_of(design_.encoder), final_norm(design_, "encoder"), "encoder");
  }

  std::string_view type() const override { return "of-blocks"; }
  models::Capabilities capabilities() const override {
    return {.continues_prompt = !encoder_.has_value(), .translates = encoder_.has_value()};
  }
  io::Json config() const override { return io::Json::Object{}; }
  int64_t vocab_size() const override { return kVocabulary; }
  int64_t hidden_width() const override { return kWidth; }
  int64_t context_length() const override { return kLongest; }
  const models::SpecialIds& special_ids() const override { return special_ids_; }
  const Design& design() const { return design_; }

  Parameters parameters() const override {
    Parameters all = words_.parameters();
    append(all, decoder_.output.parameters());
    append(all, decoder_.layers.parameters());
    if (encoder_) append(all, encoder_->parameters());
    Parameters once;
    for (const ParameterHandle& parameter : all) {
      if (std::find(once.begin(), once.end(), parameter) == once.end()) once.push_back(parameter);
    }
    return once;
  }
  void draw(uint64_t seed) override { draw_normal(parameters(), seed, 0.3F); }
  std::vector<MultiHeadAttention*> attentions() override { return decoder_.layers.attentions(); }
  models::Parts parts() const override {
    return {.encoder = encoder_ ? &*encoder_ : nullptr,
            .decoder = &decoder_.layers,
            .output = &decoder_.output};
  }

  using Model::loss;
  Value forward(Context& context, const Batch& batch) const override {
    const Value memory = encoded(context, batch);
    return decoder_.forward(
        context, batch.ids,
        {.lens = batch.lens, .memory = memory, .memory_lens = batch.source_lens});
  }
  Value logits(Context& context, const Value& output) const override {
    return decoder_.output.logits(context, output);
  }
  Value loss(Context& context, const Value& output, const tensor::Tensor& targets,
             float label_smoothing) const override {
    return decoder_.output.loss(context, output, targets, label_smoothing);
  }
  models::Decoding start(Context& context, const Batch& source) const override {
    std::vector<LayerCache> caches = decoder_.no_caches();
    if (encoder_) {
      decoder_.layers.remember(context, encoded(context, source), source.source_lens, caches);
    }
    return {decoder_, std::move(caches)};
  }

 private:
  bool ignores(const std::string& /*name*/, const nn::StoredTensor& /*tensor*/) const override {
    return false;
  }
  Value encoded(Context& context, const Batch& batch) const {
    if (!encoder_) return {};
    const Value x =
        encoder_embedding_->forward(context, batch.source_ids, {.lens = batch.source_lens});
    return encoder_->forward(context, x, {.lens = batch.source_lens});
  }

  Design design_;
  Embedding words_;
  models::Decoder decoder_;
  std::optional<SequenceEmbedding> encoder_embedding_;
  std::optional<TransformerStack> encoder_;
  models::SpecialIds special_ids_;
};

TransformerBlockOptions plain_layer(const std::string& stack, int layer) {
  const std::string place = stack + "." + std::to_string(layer);
  return {.width = kWidth,
          .heads = 4,
          .hidden = 10,
          .activation = Activation::gelu,
          .norm_place = NormPlace::pre,
          .causal = stack == "decoder",
          .qkv_bias = false,
          .out_bias = false,
          .feed_forward_bias = false,
          .norm_bias = false,
          .names = block_names(place),
          .place = place};
}

// RMSNorm, rotary positions, SwiGLU, two key/value heads for four queries.
Design rotary_and_grouped() {
  Design design;
  for (int layer = 0; layer < 2; ++layer) {
    TransformerBlockOptions options = plain_layer("decoder", layer);
    options.kv_heads = 2;
    options.head_dim = 6;
    options.norm_kind = NormKind::rms_norm;
    options.activation = Activation::silu;
    options.names.gate = options.place + ".gate";
    options.rotation = rotary_options({.width = 6, .base = 100});
    design.decoder.push_back(options);
  }
  return design;
}

// Both sublayers read the same stream; two of four columns of each head are rotated, as neighbours.
Design parallel_and_partial() {
  Design design;
  for (int layer = 0; layer < 2; ++layer) {
    TransformerBlockOptions options = plain_layer("decoder", layer);
    options.heads = 3;
    options.head_dim = 4;
    options.order = SublayerOrder::parallel;
    options.norm_bias = true;
    options.qkv_bias = true;
    options.out_bias = true;
    options.feed_forward_bias = true;
    options.rotation = rotary_options({.width = 2, .base = 100});
    options.rotation.interleaved = true;
    design.decoder.push_back(options);
  }
  return design;
}

Design with_slopes() {
  Design design;
  for (int layer = 0; layer < 2; ++layer) {
    TransformerBlockOptions options = plain_layer("decoder", layer);
    options.position_bias = {.slopes = alibi_slopes(options.heads)};
    options.norm_bias = true;
    design.decoder.push_back(options);
  }
  return design;
}

// T5: one table of buckets per stack, no scale, RMSNorm, gated GELU.
Design with_buckets() {
  Design design;
  for (const char* stack : {"encoder", "decoder"}) {
    const auto table =
        std::make_shared<Parameter>(std::string(stack) + ".buckets", tensor::Shape{8, 4});
    for (int layer = 0; layer < 2; ++layer) {
      TransformerBlockOptions options = plain_layer(stack, layer);
      options.norm_kind = NormKind::rms_norm;
      options.activation = Activation::gelu_tanh;
      options.names.gate = options.place + ".gate";
      options.scale = 1.0F;
      options.cross_attention = options.causal;
      options.position_bias = {
          .table = table, .bidirectional = !options.causal, .max_distance = 10};
      (options.causal ? design.decoder : design.encoder).push_back(options);
    }
  }
  return design;
}

// A window in every second layer, norms on queries and keys, norms before and after with
// 1 + weight, soft cap.
Design with_windows() {
  Design design;
  for (int layer = 0; layer < 2; ++layer) {
    TransformerBlockOptions options = plain_layer("decoder", layer);
    const std::string p = options.place + ".";
    options.window = layer % 2 == 0 ? 3 : 0;
    options.softcap = 2;
    options.norm_place = NormPlace::both;
    options.norm_kind = NormKind::rms_norm;
    options.norm_weight_offset = 1;
    options.names.self_output_norm = p + "self_after";
    options.names.feed_forward_output_norm = p + "ffn_after";
    options.names.self.query_norm = p + "q_norm";
    options.names.self.key_norm = p + "k_norm";
    options.rotation = rotary_options({.width = 2, .base = 100});
    design.decoder.push_back(options);
  }
  return design;
}

// The loss once more, in doubles.
class PlainModel {
 public:
  PlainModel(const Design& design, PlainState state) : design_(design), state_(std::move(state)) {}

  double loss(const Batch& batch) const {
    Matrix memory;
    if (!design_.encoder.empty()) {
      memory = stack("encoder", design_.encoder, rows_of(batch.source_ids), {});
    }
    const Matrix x = stack("decoder", design_.decoder, rows_of(batch.ids), memory);
    const std::vector<double>& head = state_.at("head");
    double sum = 0;
    for (int64_t t = 0; t < x.rows; ++t) {
      double largest = -1e300;
      std::vector<double> logits;
      for (int64_t v = 0; v < kVocabulary; ++v) {
        double logit = 0;
        for (int64_t c = 0; c < kWidth; ++c) {
          logit += x.at(t, c) * head[static_cast<size_t>(v * kWidth + c)];
        }
        logits.push_back(logit);
        largest = std::max(largest, logit);
      }
      double total = 0;
      for (const double logit : logits) total += std::exp(logit - largest);
      const auto target = static_cast<size_t>(batch.targets.data<int64_t>()[t]);
      sum += std::log(total) + largest - logits[target];
    }
    return sum / static_cast<double>(x.rows);
  }
  PlainState& state() { return state_; }

 private:
  Matrix rows_of(const tensor::Tensor& ids) const {
    Matrix x(ids.size(1), kWidth);
    const std::vector<double>& words = state_.at("words.weight");
    for (int64_t t = 0; t < x.rows; ++t) {
      for (int64_t c = 0; c < kWidth; ++c) {
        x.at(t, c) = words[static_cast<size_t>(ids.data<int64_t>()[t] * kWidth + c)];
      }
    }
    return x;
  }

  Matrix stack(const std::string& place, const std::vector<TransformerBlockOptions>& layers,
               Matrix x, const Matrix& memory) const {
    for (const TransformerBlockOptions& layer : layers) {
      x = plain_block(layer, state_, x, layer.cross_attention ? memory : Matrix());
    }
    const TransformerBlockOptions& last = design_.decoder.back();
    return plain_norm(last, state_, place + ".final", x);
  }

  const Design& design_;
  PlainState state_;
};

class Architectures : public testing::TestWithParam<Design (*)()> {
 protected:
  Architectures() : model_(GetParam()()) {
    fill_in(model_.parameters(), 5);
    batch_.ids = drawn_ids(7, 1);
    batch_.targets = drawn_ids(7, 2);
    if (!model_.design().encoder.empty()) batch_.source_ids = drawn_ids(6, 3);
  }

  base::ThreadPool threads_{2};
  tensor::Arena arena_;
  BlockModel model_;
  Batch batch_;
};

TEST_P(Architectures, have_the_loss_and_the_gradients_of_the_formulas_in_doubles) {
  autograd::Tape tape;
  Context context{.threads = threads_, .arena = arena_, .tape = &tape};
  const Value loss = model_.loss(context, batch_);
  tape.backward(context, loss);
  PlainModel plain(model_.design(), plain_state(model_.parameters()));
  EXPECT_NEAR(loss.item(), plain.loss(batch_), 1e-5);
  double largest = 0;
  for (const ParameterHandle& parameter : model_.parameters()) {
    ASSERT_TRUE(parameter->grad().defined()) << parameter->name();
    const tensor::Tensor gradient = parameter->grad().contiguous();
    for (int64_t i = 0; i < gradient.elements(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(gradient.data<float>()[i])));
    }
  }
  const base::Random random(9);
  uint64_t draw = 0;
  for (const ParameterHandle& parameter : model_.parameters()) {
    const tensor::Tensor gradient = parameter->grad().contiguous();
    std::vector<double>& numbers = plain.state().at(parameter->name());
    for (int trial = 0; trial < 4; ++trial) {
      const auto at = static_cast<size_t>(random.below(draw++, numbers.size()));
      const double kept = numbers[at];
      constexpr double kStep = 1e-5;
      numbers[at] = kept + kStep;
      const double above = plain.loss(batch_);
      numbers[at] = kept - kStep;
      const double below = plain.loss(batch_);
      numbers[at] = kept;
      EXPECT_NEAR(gradient.data<float>()[at], (above - below) / (2 * kStep), 1e-4 * largest)
          << parameter->name() << " " << at;
    }
  }
}

TEST_P(Architectures, decode_with_a_cache_to_the_bits_of_a_whole_run) {
  Context context{.threads = threads_, .arena = arena_};
  models::Decoding decoding = model_.start(context, batch_);
  for (int64_t t = 0; t < 7; ++t) {
    const tensor::Tensor cached = decoding.read(context, batch_.ids.slice(1, t, 1).contiguous());
    Batch so_far = batch_;
    so_far.ids = batch_.ids.slice(1, 0, t + 1).contiguous();
    EXPECT_TRUE(same_bits(cached, model_.next_logits(context, so_far))) << "after " << t;
  }
}

TEST_P(Architectures, are_explained_cell_by_cell) {
  const explain::Trace trace =
      explain::trace_model(threads_, model_, explain::Input{.batch = batch_});
  size_t count = 0;
  for (const explain::TracedTensor& tensor : trace.tensors()) {
    const tensor::Tensor values = trace.values(tensor.name);
    ASSERT_EQ(values.shape(), tensor.shape) << tensor.name;
    // Nothing but ids and constants is simply given.
    if (tensor.operation == explain::kGiven) {
      EXPECT_TRUE(tensor.name.ends_with(".ids") || tensor.name.ends_with(".rates") ||
                  tensor.name.ends_with(".slopes") || tensor.name.ends_with(".buckets"))
          << tensor.name;
    }
    for (int64_t i = 0; i < tensor.shape.elements(); ++i) {
      std::vector<int64_t> index(static_cast<size_t>(tensor.shape.rank()));
      int64_t rest = i;
      for (int axis = tensor.shape.rank() - 1; axis >= 0; --axis) {
        index[static_cast<size_t>(axis)] = rest % tensor.shape[axis];
        rest /= tensor.shape[axis];
      }
      const explain::CellTerms cell = explain::explain_cell(trace, {tensor.name, index});
      if (std::isinf(cell.value)) {
        ASSERT_EQ(cell.combined, cell.value) << tensor.name << " " << i;
      } else {
        ASSERT_NEAR(cell.combined, cell.value, 2e-6 * cell.size) << tensor.name << " " << i;
      }
      ++count;
    }
  }
  EXPECT_GT(count, 1000U);
  for (const ParameterHandle& parameter : model_.parameters()) {
    EXPECT_NE(trace.find(parameter->name()), nullptr) << parameter->name() << " is used nowhere";
  }
}

TEST_P(Architectures, explain_why_a_weight_changed) {
  const explain::Trace trace =
      explain::trace_model(threads_, model_, explain::Input{.batch = batch_});
  for (const ParameterHandle& parameter : model_.parameters()) {
    const std::vector<int64_t> cell(static_cast<size_t>(parameter->shape().rank()), 1);
    const explain::BackwardWalk walk =
        explain::walk_backward(trace, model_, {parameter->name(), cell});
    const double sum = walk.terms.empty() ? 0 : walk.terms.back().running;
    EXPECT_NEAR(sum, walk.gradient, 1e-5) << parameter->name();
  }
}

std::string name_of_design(const testing::TestParamInfo<Design (*)()>& info) {
  const std::vector<std::string> names = {"rotary_and_grouped", "parallel_and_partial",
                                          "with_slopes", "with_buckets", "with_windows"};
  return names[info.index];
}

INSTANTIATE_TEST_SUITE_P(Unknown, Architectures,
                         testing::Values(rotary_and_grouped, parallel_and_partial, with_slopes,
                                         with_buckets, with_windows),
                         name_of_design);

}  // namespace
}  // namespace headlight::nn
