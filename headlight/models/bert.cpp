// Bert: names and shapes of BERT, and what comes after its layers.
#include "headlight/models/bert.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "headlight/models/encoder_model.h"
#include "headlight/models/parameters.h"

namespace headlight::models {
namespace {

using tensor::DType;

constexpr const char* kHeadBias = "cls.predictions.bias";
constexpr const char* kDecoderBias = "cls.predictions.decoder.bias";
constexpr const char* kDecoderWeight = "cls.predictions.decoder.weight";

[[noreturn]] void refuse_bert(const char* where, const std::string& why) {
  base::refuse(Bert::kType, where, why);
}

std::string place_of(const BertConfig& /*config*/, int64_t layer) {
  return "encoder." + std::to_string(layer) + ".self";
}

BertConfig completed(BertConfig config) {
  if (!config.heads_left.empty()) {
    config.heads_left =
        checked_heads_left(std::move(config.heads_left), attention_heads(config), Bert::kType);
  }
  return config;
}

nn::TransformerBlock block_of(const BertConfig& config, int64_t layer) {
  const std::string name = config.prefix + "encoder.layer." + std::to_string(layer) + ".";
  const nn::AttentionNames attention =
      nn::AttentionNames{.weights = {"self.query.weight", "self.key.weight", "self.value.weight"},
                         .biases = {"self.query.bias", "self.key.bias", "self.value.bias"},
                         .output_weight = "output.dense.weight",
                         .output_bias = "output.dense.bias"}
          .with_prefix(name + "attention.");
  return nn::TransformerBlock(
      {.width = config.hidden_size,
       .heads = config.num_attention_heads,
       .self_heads_left = left_at(config.heads_left, place_of(config, layer)),
       .hidden = config.intermediate_size,
       .activation = config.activation,
       .epsilon = config.layer_norm_eps,
       .dropout = config.dropout,
       .attention_dropout = config.attention_dropout.value_or(config.dropout),
       .names = {.self = attention,
                 .self_norm = name + "attention.output.LayerNorm",
                 .feed_forward_norm = name + "output.LayerNorm",
                 .first = name + "intermediate.dense",
                 .second = name + "output.dense"},
       .place = "encoder." + std::to_string(layer)});
}

nn::TransformerStack layers_of(const BertConfig& config) {
  std::vector<nn::TransformerBlock> blocks;
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    blocks.push_back(block_of(config, layer));
  }
  return {std::move(blocks), std::nullopt, "encoder"};
}

nn::OutputLayer output_of(const BertConfig& config, const nn::ParameterHandle& table) {
  const nn::ParameterHandle weight =
      config.tied_head ? table
                       : std::make_shared<nn::Parameter>(
                             kDecoderWeight, tensor::Shape{config.vocab_size, config.hidden_size});
  return nn::OutputLayer(
      weight, std::make_shared<nn::Parameter>(config.decoder_bias ? kDecoderBias : kHeadBias,
                                              Tensor::zeros(DType::f32, {config.vocab_size})));
}

nn::NormOptions norm_options(const BertConfig& config, std::string place) {
  return {.width = config.hidden_size, .epsilon = config.layer_norm_eps, .place = std::move(place)};
}

}  // namespace

std::vector<AttentionHeads> attention_heads(const BertConfig& config) {
  std::vector<AttentionHeads> all;
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    all.push_back({place_of(config, layer), config.num_attention_heads});
  }
  return all;
}

int64_t merged_width(const BertConfig& config, int64_t layer) {
  return count_left(config.heads_left, place_of(config, layer), config.num_attention_heads) *
         (config.hidden_size / config.num_attention_heads);
}

std::optional<ClassifierDesign> classifier_of(const BertConfig& config) {
  if (!config.classes) return std::nullopt;
  return ClassifierDesign{.classes = *config.classes,
                          .width = config.hidden_size,
                          .transform = config.prefix + "pooler.dense",
                          .dropout = config.classifier_dropout};
}

Bert::Bert(const BertConfig& config)
    : config_(completed(config)),
      embedding_(nn::Embedding(config.prefix + "embeddings.word_embeddings", config.vocab_size,
                               config.hidden_size),
                 {.max_length = config.max_position_embeddings,
                  .learned_positions = config.prefix + "embeddings.position_embeddings",
                  .place = "encoder"}),
      segments_(config.prefix + "embeddings.token_type_embeddings", config.type_vocab_size,
                config.hidden_size),
      embedding_norm_(config.prefix + "embeddings.LayerNorm",
                      norm_options(config, "encoder.embedding_norm")),
      layers_(layers_of(config_)) {
  const int64_t width = config.hidden_size;
  if (config.pooler) {
    pooler_.emplace(config.prefix + "pooler.dense",
                    nn::LinearOptions{.inputs = width, .outputs = width});
  }
  if (const auto design = classifier_of(config)) classifier_.emplace(*design);
  if (!config.masked_words) return;
  const std::string name = "cls.predictions.";
  masked_words_.emplace(MaskedWords{
      .transform = nn::Linear(name + "transform.dense",
                              {.inputs = width, .outputs = width, .activation = config.activation}),
      .norm = nn::Norm(name + "transform.LayerNorm", norm_options(config, "prediction.norm")),
      .output = output_of(config, embedding_.parameters().front())});
}

int64_t parameter_count(const BertConfig& config) {
  const int64_t width = config.hidden_size;
  const int64_t rows = config.vocab_size + config.max_position_embeddings + config.type_vocab_size;
  const int64_t square = width * width + width;
  const int64_t norm = 2 * width;
  const int64_t feed_forward =
      2 * width * config.intermediate_size + config.intermediate_size + width;
  int64_t layers = 0;
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const int64_t merged = merged_width(config, layer);
    layers += 4 * width * merged + 3 * merged + width + feed_forward + 2 * norm;
  }
  const auto classifier = classifier_of(config);
  return rows * width + norm + layers + (config.pooler ? square : 0) +
         (classifier ? parameter_count(*classifier) : 0) +
         (config.masked_words ? square + norm + config.vocab_size : 0) +
         (config.masked_words && !config.tied_head ? config.vocab_size * width : 0);
}

nn::Parameters Bert::parameters() const {
  nn::Parameters head;
  if (masked_words_) {
    head =
        distinct_parameters({masked_words_->transform.parameters(),
                             masked_words_->norm.parameters(), masked_words_->output.parameters()});
  }
  return distinct_parameters({embedding_.parameters(), segments_.parameters(),
                              embedding_norm_.parameters(), layers_.parameters(),
                              pooler_ ? pooler_->parameters() : nn::Parameters(),
                              classifier_ ? classifier_->parameters() : nn::Parameters(), head});
}

nn::StateDict Bert::state() const {
  nn::StateDict state = Model::state();
  if (masked_words_ && !config_.tied_head) {
    const Tensor bias = state.at(config_.decoder_bias ? kDecoderBias : kHeadBias);
    state[kHeadBias] = bias;
    state[kDecoderBias] = bias;
  }
  return state;
}

std::vector<Model::TiedCopy> Bert::tied_copies() const {
  std::vector<TiedCopy> copies;
  if (!masked_words_) return copies;
  if (config_.tied_head) {
    copies.push_back({.name = kDecoderWeight, .original = embedding_.parameters().front()->name()});
  }
  if (!config_.decoder_bias) copies.push_back({.name = kDecoderBias, .original = kHeadBias});
  return copies;
}

// Buffers, the head for the next sentence, which is not computed here, and a bias that another one
// stands for.
bool Bert::ignores(const std::string& name, const nn::StoredTensor& /*tensor*/) const {
  return name == config_.prefix + "embeddings.position_ids" ||
         name.starts_with("cls.seq_relationship.") || (config_.decoder_bias && name == kHeadBias);
}

void Bert::draw(uint64_t seed) {
  constexpr float kDeviation = 0.02F;
  nn::draw_normal(parameters(), seed, kDeviation);
}

std::vector<nn::MultiHeadAttention*> Bert::attentions() { return layers_.attentions(); }

Parts Bert::parts() const {
  return {.encoder = &layers_,
          .output = masked_words_ ? &masked_words_->output : nullptr,
          .encoder_table = embedding_.parameters().front().get()};
}

std::unique_ptr<Model> Bert::with_heads(const HeadsLeft& left) const {
  BertConfig config = config_;
  config.heads_left = left;
  return std::make_unique<Bert>(config);
}

Value Bert::forward(Context& context, const Batch& batch) const {
  if (!batch.ids.defined()) refuse_bert("ids", "are missing");
  if (batch.source_ids.defined()) refuse_bert("source ids", "an encoder alone takes none");
  const Tensor segments =
      batch.segments.defined() ? batch.segments : Tensor::zeros(DType::i64, batch.ids.shape());
  if (segments.shape() != batch.ids.shape()) {
    refuse_bert("segments",
                "are " + segments.shape().text() + ", the ids are " + batch.ids.shape().text());
  }
  autograd::name_value(context, "encoder", "segment_ids", Value::leaf(segments));
  const Value added = segments_.forward(context, segments);
  autograd::observe(context, "encoder", "segments", added);
  Value x = embedding_.forward(context, batch.ids, {.lens = batch.lens, .added = added});
  x = embedding_norm_.forward(context, x);
  x = autograd::dropout(context, x, config_.dropout, "encoder.embedding_norm.output");
  return layers_.forward(context, x, {.lens = batch.lens});
}

// What the words' output layer reads.
Value Bert::transformed(Context& context, const Value& output) const {
  const MaskedWords& head = masked_words();
  const Value activated = head.transform.forward(context, output, "prediction.hidden");
  autograd::observe(context, "prediction", "activated", activated);
  return head.norm.forward(context, activated);
}

const Bert::MaskedWords& Bert::masked_words() const {
  if (!masked_words_) refuse_bert("logits", "the model has no head that predicts words");
  return *masked_words_;
}

Value Bert::logits(Context& context, const Value& output) const {
  return masked_words().output.logits(context, transformed(context, output));
}

Value Bert::loss(Context& context, const Value& output, const Tensor& targets,
                 float label_smoothing) const {
  return masked_words().output.loss(context, transformed(context, output), targets,
                                    label_smoothing);
}

Tensor Bert::pooled(Context& context, const Value& output) const {
  if (!pooler_) refuse_bert("pooled output", "the model has no pooler");
  const Tensor first = output.data().slice(1, 0, 1).contiguous(context.arena);
  Tensor rows =
      pooler_->forward(context, Value::leaf(first.reshaped({output.size(0), output.size(2)})))
          .data();
  std::transform(rows.data<float>(), rows.data<float>() + rows.elements(),
                 rows.mutable_data<float>(), [](float number) { return std::tanh(number); });
  return rows;
}

Tensor Bert::sentence_vectors(Context& context, const Value& output, const Tensor& lens,
                              Pooling pooling) const {
  return pooled_rows(context, kType, output, lens, pooling);
}

}  // namespace headlight::models
