// EncoderModel: embedding, layers and heads as the design has them.
#include "headlight/models/encoder_model.h"

#include <cmath>
#include <utility>

#include "headlight/models/classes_config.h"
#include "headlight/models/config_reader.h"
#include "headlight/models/parameters.h"

namespace headlight::models {
namespace {

using tensor::DType;

nn::NormOptions norm_at(const EncoderDesign& design, int64_t width, std::string place) {
  nn::NormOptions options = design.norm;
  options.width = width;
  options.place = std::move(place);
  return options;
}

// Layers that share are copies of one: they hold the same parameters.
nn::TransformerStack encoder_layers(const EncoderDesign& design) {
  std::vector<nn::TransformerBlock> blocks;
  for (size_t layer = 0; layer < design.layers.size(); ++layer) {
    const bool own = design.shared.empty() || design.shared[layer] == layer;
    if (own) {
      blocks.emplace_back(design.layers[layer]);
    } else {
      blocks.push_back(blocks[design.shared[layer]].at(design.layers[layer].place));
    }
  }
  std::optional<nn::Norm> norm;
  if (!design.final_norm.empty()) {
    norm.emplace(design.final_norm, norm_at(design, design.layers.front().width, "encoder.norm"));
  }
  return {std::move(blocks), std::move(norm), "encoder"};
}

// The name of the output layer's bias; the other name of two is stored beside it, or ignored.
struct BiasNames {
  std::string counts = {};
  std::string other = {};
};
BiasNames bias_names(const EncoderDesign& design) {
  if (!design.masked_words) return {};
  const MaskedWordsDesign& head = *design.masked_words;
  if (head.layer_bias.empty()) return {head.bias, ""};
  if (design.tied_head && !design.own_bias) return {head.bias, head.layer_bias};
  return {head.layer_bias, head.bias};
}

nn::OutputLayer masked_output(const EncoderDesign& design, const nn::ParameterHandle& table) {
  const MaskedWordsDesign& head = *design.masked_words;
  const nn::ParameterHandle weight =
      design.tied_head ? table
                       : std::make_shared<nn::Parameter>(
                             head.weight, tensor::Shape{design.vocab_size, design.embedding_width});
  nn::ParameterHandle bias;
  const std::string name = bias_names(design).counts;
  if (!name.empty()) {
    bias = std::make_shared<nn::Parameter>(name, Tensor::zeros(DType::f32, {design.vocab_size}));
  }
  return nn::OutputLayer(weight, bias);
}

void refuse_shared(const EncoderDesign& design) {
  if (design.shared.empty()) return;
  base::refuse(design.type, "heads", "layers share their weights, none of them can lose a head");
}

ClassifierDesign with_width(ClassifierDesign classifier, int64_t width) {
  classifier.width = width;
  return classifier;
}

int64_t masked_words_count(const EncoderDesign& design) {
  if (!design.masked_words) return 0;
  const MaskedWordsDesign& head = *design.masked_words;
  const int64_t width = design.embedding_width;
  return width * design.layers.front().width + (head.transform_bias ? width : 0) +
         parameter_count(norm_at(design, width, "")) +
         (design.tied_head ? 0 : design.vocab_size * width) +
         (head.bias.empty() ? 0 : design.vocab_size);
}

}  // namespace

EncoderModel::EncoderModel(EncoderDesign design)
    : design_(std::move(design)),
      embedding_(nn::Embedding(design_.table, design_.vocab_size, design_.embedding_width),
                 design_.embedding),
      embedding_norm_(design_.embedding_norm,
                      norm_at(design_, design_.embedding_width, "encoder.embedding_norm")),
      layers_(encoder_layers(design_)) {
  const int64_t width = hidden_width();
  const int64_t narrow = design_.embedding_width;
  if (!design_.segments.empty()) segments_.emplace(design_.segments, design_.segment_rows, narrow);
  if (!design_.projection.empty()) {
    projection_.emplace(design_.projection, nn::LinearOptions{.inputs = narrow, .outputs = width});
  }
  if (!design_.pooler.empty()) {
    pooler_.emplace(design_.pooler, nn::LinearOptions{.inputs = width, .outputs = width});
  }
  if (design_.classifier) classifier_.emplace(with_width(*design_.classifier, width));
  if (!design_.masked_words) return;
  const MaskedWordsDesign& head = *design_.masked_words;
  masked_words_.emplace(
      MaskedWords{.transform = nn::Linear(head.transform, {.inputs = width,
                                                           .outputs = narrow,
                                                           .bias = head.transform_bias,
                                                           .activation = head.activation}),
                  .norm = nn::Norm(head.norm, norm_at(design_, narrow, "prediction.norm")),
                  .output = masked_output(design_, embedding_.parameters().front())});
}

io::Json EncoderModel::config() const {
  io::Json::Object config = {
      {"architectures",
       io::Json::Array{design_.masked_words ? design_.masked_architecture : design_.architecture}}};
  config.insert(config.end(), design_.config.begin(), design_.config.end());
  if (classifier_) write_classes(config, classifier_->classes());
  config.emplace_back("tie_word_embeddings", design_.tied_head);
  write_heads_left(config, heads_left_in(design_.layers), heads_of_layers(design_.layers));
  write_special_ids(config, design_.special_ids);
  return config;
}

nn::Parameters EncoderModel::parameters() const {
  nn::Parameters all = embedding_.parameters();
  if (segments_) nn::append(all, segments_->parameters());
  nn::append(all, embedding_norm_.parameters());
  if (projection_) nn::append(all, projection_->parameters());
  nn::append(all, layers_.parameters());
  if (pooler_) nn::append(all, pooler_->parameters());
  if (classifier_) nn::append(all, classifier_->parameters());
  if (masked_words_) {
    nn::append(all, masked_words_->transform.parameters());
    nn::append(all, masked_words_->norm.parameters());
    nn::append(all, masked_words_->output.parameters());
  }
  return all;
}

nn::StateDict EncoderModel::state() const {
  nn::StateDict state = Model::state();
  const auto [counts, other] = bias_names(design_);
  if (!design_.tied_head && !other.empty()) state[other] = state.at(counts);
  return state;
}

std::vector<Model::TiedCopy> EncoderModel::tied_copies() const {
  std::vector<TiedCopy> copies;
  if (!design_.masked_words || !design_.tied_head) return copies;
  copies.push_back({.name = design_.masked_words->weight, .original = design_.table + ".weight"});
  const auto [counts, other] = bias_names(design_);
  if (!other.empty() && !design_.own_bias) copies.push_back({.name = other, .original = counts});
  return copies;
}

// Of two biases that differ only one counts: other programs compute with that alone.
bool EncoderModel::ignores(const std::string& name, const nn::StoredTensor& tensor) const {
  const bool other_bias =
      (!design_.tied_head || design_.own_bias) && name == bias_names(design_).other;
  return other_bias || name.ends_with("embeddings.position_ids") ||
         (design_.ignored != nullptr && design_.ignored(name, tensor));
}

void EncoderModel::draw(uint64_t seed) {
  constexpr float kDeviation = 0.02F;
  if (design_.draw != nullptr) return design_.draw(parameters(), design_, seed);
  nn::draw_normal(parameters(), seed, kDeviation);
}

Parts EncoderModel::parts() const {
  return {.encoder = &layers_,
          .output = masked_words_ ? &masked_words_->output : nullptr,
          .encoder_table = projection_ ? nullptr : embedding_.parameters().front().get()};
}

std::unique_ptr<Model> EncoderModel::with_heads(const HeadsLeft& left) const {
  EncoderDesign design = design_;
  set_heads_left(design.layers, left, design.type);
  if (!heads_left_in(design.layers).empty()) refuse_shared(design);
  return std::make_unique<EncoderModel>(std::move(design));
}

Value EncoderModel::segments_of(Context& context, const Batch& batch) const {
  const Tensor segments =
      batch.segments.defined() ? batch.segments : Tensor::zeros(DType::i64, batch.ids.shape());
  if (segments.shape() != batch.ids.shape()) {
    base::refuse(type(), "segments",
                 "are " + segments.shape().text() + ", the ids are " + batch.ids.shape().text());
  }
  autograd::name_value(context, "encoder", "segment_ids", Value::leaf(segments));
  const Value added = segments_->forward(context, segments);
  autograd::observe(context, "encoder", "segments", added);
  return added;
}

Value EncoderModel::forward(Context& context, const Batch& batch) const {
  if (!batch.ids.defined()) base::refuse(type(), "ids", "are missing");
  if (batch.source_ids.defined()) {
    base::refuse(type(), "source ids", "an encoder alone takes none");
  }
  if (batch.segments.defined() && !segments_) {
    base::refuse(type(), "segments", "models of this type do not tell texts apart");
  }
  nn::SequenceEmbedding::Call call{.lens = batch.lens};
  if (segments_) call.added = segments_of(context, batch);
  Value x = embedding_norm_.forward(context, embedding_.forward(context, batch.ids, call));
  x = autograd::dropout(context, x, design_.dropout, "encoder.embedding_norm.output");
  if (projection_) {
    x = projection_->forward(context, x);
    autograd::observe(context, "encoder", "widened", x);
  }
  return layers_.forward(context, x, {.lens = batch.lens});
}

const EncoderModel::MaskedWords& EncoderModel::masked_words() const {
  if (!masked_words_) base::refuse(type(), "logits", "the model has no head that predicts words");
  return *masked_words_;
}

// What the words' output layer reads.
Value EncoderModel::transformed(Context& context, const Value& output) const {
  const MaskedWords& head = masked_words();
  const Value activated = head.transform.forward(context, output, "prediction.hidden");
  autograd::observe(context, "prediction", "activated", activated);
  return head.norm.forward(context, activated);
}

Value EncoderModel::logits(Context& context, const Value& output) const {
  return masked_words().output.logits(context, transformed(context, output));
}

Value EncoderModel::loss(Context& context, const Value& output, const Tensor& targets,
                         float label_smoothing) const {
  return masked_words().output.loss(context, transformed(context, output), targets,
                                    label_smoothing);
}

Tensor EncoderModel::sentence_vectors(Context& context, const Value& output, const Tensor& lens,
                                      Pooling pooling) const {
  return pooled_rows(context, type(), output, lens, pooling);
}

// Mean and length as products with matrices of one row or column.
Tensor pooled_rows(Context& context, std::string_view type, const Value& output, const Tensor& lens,
                   Pooling pooling) {
  const int64_t width = output.size(2);
  Tensor vectors = Tensor::uninitialized(context.arena, DType::f32, {output.size(0), width});
  for (int64_t b = 0; b < output.size(0); ++b) {
    const int64_t ids = lens.defined() ? lens.data<int64_t>()[b] : output.size(1);
    const int64_t count = pooling == Pooling::mean ? ids : 1;
    if (ids < 1) {
      base::refuse(type, "sentence vectors", "sequence " + std::to_string(b) + " is empty");
    }
    const std::vector<float> shares(static_cast<size_t>(count), 1 / static_cast<float>(count));
    const tensor::MatrixView vector = vectors.slice(0, b, 1).mutable_matrix();
    const Tensor rows = output.data().slice(0, b, 1).slice(1, 0, count);
    kernels::matmul(context.execution(), {shares.data(), 1, count, count}, rows.matrix(), vector);
    float square = 0;
    kernels::matmul(context.execution(), vector, vector.transposed(),
                    tensor::MatrixView{&square, 1, 1, 1});
    const float length = std::sqrt(square);
    if (length > 0) kernels::scale(context.execution(), 1 / length, vector, vector);
  }
  return vectors;
}

ModelPlan plan_of(const EncoderDesign& design) {
  const int64_t width = design.layers.front().width;
  const int64_t narrow = design.embedding_width;
  const nn::SequenceEmbeddingOptions& embedding = design.embedding;
  int64_t rows = design.vocab_size + design.segment_rows;
  if (!embedding.learned_positions.empty()) rows += embedding.max_length + embedding.position_start;
  ModelPlan plan{.parameters = rows * narrow + parameter_count(norm_at(design, narrow, "")),
                 .make = [design] { return std::make_unique<EncoderModel>(design); },
                 .untied =
                     [design](const std::string& copy) {
                       EncoderDesign untied = design;
                       const bool is_bias = copy == bias_names(design).other;
                       (is_bias ? untied.own_bias : untied.tied_head) = is_bias;
                       return plan_of(untied);
                     }};
  if (!design.projection.empty()) plan.parameters += narrow * width + width;
  if (!design.pooler.empty()) plan.parameters += width * width + width;
  if (!design.final_norm.empty()) plan.parameters += parameter_count(norm_at(design, width, ""));
  plan.parameters += masked_words_count(design);
  if (design.classifier) plan.parameters += parameter_count(with_width(*design.classifier, width));
  for (size_t layer = 0; layer < design.layers.size(); ++layer) {
    const bool own = design.shared.empty() || design.shared[layer] == layer;
    if (own) plan.parameters += parameter_count(design.layers[layer]);
    plan.activations += kept_of_layer(design.layers[layer]);
  }
  return plan;
}

}  // namespace headlight::models
