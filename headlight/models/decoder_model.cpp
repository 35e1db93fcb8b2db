// DecoderModel: embedding, layers and output layer as the design has them.
#include "headlight/models/decoder_model.h"

#include <utility>

#include "headlight/models/classes_config.h"
#include "headlight/models/config_reader.h"
#include "headlight/models/parameters.h"

namespace headlight::models {
namespace {

constexpr const char* kTieKey = "tie_word_embeddings";

int64_t table_width_of(const DecoderDesign& design) {
  return design.table_width > 0 ? design.table_width : design.layers.front().width;
}

Decoder decoder_of(const DecoderDesign& design) {
  const int64_t width = table_width_of(design);
  const nn::Embedding words(design.table, design.vocab_size, width);
  const nn::ParameterHandle head =
      design.tied_head || design.classifier
          ? words.weight()
          : std::make_shared<nn::Parameter>(design.head + ".weight",
                                            tensor::Shape{design.vocab_size, width});
  std::optional<nn::Norm> norm;
  if (!design.final_norm.empty()) norm.emplace(design.final_norm, design.final_norm_options);
  std::vector<nn::TransformerBlock> blocks(design.layers.begin(), design.layers.end());
  nn::OutputLayer output(head);
  if (!design.output_projection.empty() && !design.classifier) {
    output.set_projection(
        nn::Linear(design.output_projection,
                   {.inputs = design.layers.front().width, .outputs = width, .bias = false}));
  }
  return {.embedding = nn::SequenceEmbedding(words, design.embedding),
          .layers = nn::TransformerStack(std::move(blocks), std::move(norm), "decoder"),
          .output = std::move(output)};
}

// Where the table is narrower than the layers, the output is read in its width.
ClassifierDesign classifier_of(const DecoderDesign& design) {
  ClassifierDesign classifier = *design.classifier;
  classifier.width = design.layers.front().width;
  classifier.narrow_width = table_width_of(design);
  classifier.projection = design.output_projection;
  return classifier;
}

void refuse_source(const Batch& batch, std::string_view type) {
  if (!batch.source_ids.defined()) return;
  base::refuse(type, "source ids", "a decoder alone takes none");
}

}  // namespace

std::vector<AttentionHeads> heads_of_layers(
    const std::vector<nn::TransformerBlockOptions>& layers) {
  std::vector<AttentionHeads> all;
  for (const nn::TransformerBlockOptions& layer : layers) {
    all.push_back({layer.place + ".self", layer.heads});
  }
  return all;
}

void set_heads_left(std::vector<nn::TransformerBlockOptions>& layers, const HeadsLeft& left,
                    std::string_view type) {
  const HeadsLeft checked = checked_heads_left(left, heads_of_layers(layers), type);
  for (nn::TransformerBlockOptions& layer : layers) {
    layer.self_heads_left = left_at(checked, layer.place + ".self");
  }
}

HeadsLeft heads_left_in(const std::vector<nn::TransformerBlockOptions>& layers) {
  HeadsLeft left;
  for (const nn::TransformerBlockOptions& layer : layers) {
    if (layer.self_heads_left) left[layer.place + ".self"] = *layer.self_heads_left;
  }
  return left;
}

DecoderModel::DecoderModel(DecoderDesign design)
    : design_(std::move(design)), decoder_(decoder_of(design_)) {
  if (design_.classifier) classifier_.emplace(classifier_of(design_));
}

std::optional<ClassifierDesign> last_row_classifier(const io::Json& config, const std::string& path,
                                                    const SpecialIds& special_ids) {
  const std::optional<Classes> classes = read_classes(ConfigReader(config, path));
  if (!classes) return std::nullopt;
  return ClassifierDesign{.classes = *classes,
                          .row = ClassifiedRow::last,
                          .padding = special_ids.padding,
                          .output = "score",
                          .output_bias = false};
}

void refuse_words(std::string_view type) {
  base::refuse(type, "logits", "the model classifies texts and predicts no words");
}

io::Json DecoderModel::config() const {
  io::Json::Object config = design_.config;
  if (classifier_) write_classes(config, classifier_->classes());
  config.emplace_back(kTieKey, design_.tied_head);
  write_heads_left(config, heads_left_in(design_.layers), heads_of_layers(design_.layers));
  write_special_ids(config, design_.special_ids);
  return config;
}

nn::Parameters DecoderModel::parameters() const {
  return distinct_parameters(
      {decoder_.embedding.parameters(), decoder_.layers.parameters(),
       classifier_ ? classifier_->parameters() : decoder_.output.parameters()});
}

std::vector<Model::TiedCopy> DecoderModel::tied_copies() const {
  if (!design_.tied_head || classifier_) return {};
  return {{.name = design_.head + ".weight", .original = design_.table + ".weight"}};
}

bool DecoderModel::ignores(const std::string& name, const nn::StoredTensor& tensor) const {
  return design_.ignored != nullptr && design_.ignored(name, tensor);
}

std::vector<nn::MultiHeadAttention*> DecoderModel::attentions() {
  return decoder_.layers.attentions();
}

Parts DecoderModel::parts() const {
  return {.decoder = &decoder_.layers,
          .output = classifier_ ? nullptr : &decoder_.output,
          .decoder_table = design_.output_projection.empty()
                               ? decoder_.embedding.parameters().front().get()
                               : nullptr};
}

std::unique_ptr<Model> DecoderModel::with_heads(const HeadsLeft& left) const {
  DecoderDesign design = design_;
  set_heads_left(design.layers, left, design.type);
  return std::make_unique<DecoderModel>(std::move(design));
}

// As all of these families are drawn by transformers.
void DecoderModel::draw(uint64_t seed) {
  constexpr float kDeviation = 0.02F;
  nn::draw_normal(parameters(), seed, kDeviation);
}

Value DecoderModel::forward(Context& context, const Batch& batch) const {
  refuse_source(batch, type());
  return decoder_.forward(context, batch.ids, {.lens = batch.lens});
}

Value DecoderModel::logits(Context& context, const Value& output) const {
  if (classifier_) refuse_words(type());
  return decoder_.output.logits(context, output);
}

Value DecoderModel::loss(Context& context, const Value& output, const Tensor& targets,
                         float label_smoothing) const {
  if (classifier_) refuse_words(type());
  return decoder_.output.loss(context, output, targets, label_smoothing);
}

Decoding DecoderModel::start(Context& /*context*/, const Batch& source) const {
  if (classifier_) refuse_words(type());
  refuse_source(source, type());
  return Decoding(decoder_);
}

ModelPlan plan_of(const DecoderDesign& design) {
  const int64_t width = design.layers.front().width;
  const nn::SequenceEmbeddingOptions& embedding = design.embedding;
  const bool one_table = design.tied_head || design.classifier;
  const int64_t ids = (one_table ? 1 : 2) * design.vocab_size;
  const int64_t positions =
      embedding.learned_positions.empty() ? 0 : embedding.max_length + embedding.position_start;
  const int64_t projections = (embedding.projection.empty() ? 0 : 1) +
                              (design.output_projection.empty() || design.classifier ? 0 : 1);
  ModelPlan plan{.parameters = ids * table_width_of(design) + positions * width +
                               projections * width * table_width_of(design),
                 .make = [design] { return std::make_unique<DecoderModel>(design); },
                 .untied =
                     [design](const std::string& /*copy*/) {
                       DecoderDesign untied = design;
                       untied.tied_head = false;
                       return plan_of(untied);
                     }};
  if (design.classifier) plan.parameters += parameter_count(classifier_of(design));
  if (!design.final_norm.empty()) plan.parameters += parameter_count(design.final_norm_options);
  for (const nn::TransformerBlockOptions& layer : design.layers) {
    plan.parameters += parameter_count(layer);
    plan.activations += kept_of_layer(layer);
  }
  return plan;
}

}  // namespace headlight::models
