// Gpt: names and shapes of GPT-2, its configuration both ways, and its row in the registry.
#include "headlight/models/gpt.h"

#include <algorithm>
#include <cmath>

#include "headlight/models/classes_config.h"
#include "headlight/models/config_reader.h"
#include "headlight/models/decoder_model.h"
#include "headlight/models/parameters.h"

namespace headlight::models {
namespace {

constexpr const char* kHeadName = "lm_head.weight";

std::string place_of(const GptConfig& /*config*/, int64_t layer) {
  return "decoder." + std::to_string(layer) + ".self";
}

std::vector<AttentionHeads> attention_heads(const GptConfig& config) {
  std::vector<AttentionHeads> all;
  for (int64_t layer = 0; layer < config.n_layer; ++layer) {
    all.push_back({place_of(config, layer), config.n_head});
  }
  return all;
}

GptConfig completed(GptConfig config) {
  if (config.n_inner == 0) config.n_inner = 4 * config.n_embd;
  if (config.classifier) config.classifier->width = config.n_embd;
  if (!config.heads_left.empty()) {
    config.heads_left =
        checked_heads_left(std::move(config.heads_left), attention_heads(config), Gpt::kType);
  }
  return config;
}

// The width of a layer's heads together.
int64_t merged_width(const GptConfig& config, int64_t layer) {
  return count_left(config.heads_left, place_of(config, layer), config.n_head) *
         (config.n_embd / config.n_head);
}

int64_t activations_of(const GptConfig& config) {
  int64_t kept = 0;
  for (int64_t layer = 0; layer < config.n_layer; ++layer) {
    kept += kept_of_layer(config.n_embd, merged_width(config, layer), config.n_inner);
  }
  return kept;
}

nn::TransformerBlock block_of(const GptConfig& config, int64_t layer) {
  const std::string name = config.prefix + "h." + std::to_string(layer) + ".";
  nn::AttentionNames attention = nn::fused_names().with_prefix(name + "attn.");
  attention.layout = nn::WeightLayout::in_out;
  return nn::TransformerBlock(
      {.width = config.n_embd,
       .heads = config.n_head,
       .self_heads_left = left_at(config.heads_left, place_of(config, layer)),
       .hidden = config.n_inner,
       .activation = config.activation,
       .norm_place = nn::NormPlace::pre,
       .causal = true,
       .qkv_bias = config.bias,
       .out_bias = config.bias,
       .feed_forward_bias = config.bias,
       .norm_bias = config.bias,
       .epsilon = config.layer_norm_epsilon,
       .dropout = config.dropout,
       .attention_dropout = config.attention_dropout.value_or(config.dropout),
       .names = {.self = attention,
                 .self_norm = name + "ln_1",
                 .feed_forward_norm = name + "ln_2",
                 .first = name + "mlp.c_fc",
                 .second = name + "mlp.c_proj"},
       .place = "decoder." + std::to_string(layer)});
}

nn::TransformerStack layers_of(const GptConfig& config) {
  std::vector<nn::TransformerBlock> blocks;
  for (int64_t layer = 0; layer < config.n_layer; ++layer) {
    blocks.push_back(block_of(config, layer));
  }
  const nn::Norm norm(config.prefix + "ln_f", {.width = config.n_embd,
                                               .bias = config.bias,
                                               .epsilon = config.layer_norm_epsilon,
                                               .place = "decoder.norm"});
  return {std::move(blocks), norm, "decoder"};
}

Decoder decoder_of(const GptConfig& config) {
  const nn::Embedding words(config.prefix + "wte", config.vocab_size, config.n_embd);
  const nn::ParameterHandle head =
      config.tied_head || config.classifier
          ? words.weight()
          : std::make_shared<nn::Parameter>(kHeadName,
                                            tensor::Shape{config.vocab_size, config.n_embd});
  return {.embedding = nn::SequenceEmbedding(
              words, {.max_length = config.block_size,
                      .learned_positions = config.prefix + "wpe",
                      .dropout = config.embedding_dropout.value_or(config.dropout),
                      .place = "decoder"}),
          .layers = layers_of(config),
          .output = nn::OutputLayer(head)};
}

void refuse_source(const Batch& batch) {
  if (!batch.source_ids.defined()) return;
  base::refuse(Gpt::kType, "source ids", "a decoder alone takes none");
}

// The one copy that there may be is the output layer.
ModelPlan plan_of(const GptConfig& given) {
  const GptConfig config = completed(given);
  return {.parameters = parameter_count(config),
          .activations = activations_of(config),
          .make = [config] { return std::make_unique<Gpt>(config); },
          .untied =
              [config](const std::string& /*copy*/) {
                GptConfig untied = config;
                untied.tied_head = false;
                return plan_of(untied);
              }};
}

// Folders have names with the prefix or without.
ModelPlan read_gpt(const io::Json& json, const std::string& path,
                   const io::StoredTensors& tensors) {
  GptConfig config = Gpt::read_config(json, path);
  if (!any_starts_with(tensors, config.prefix)) config.prefix.clear();
  return plan_of(config);
}

ModelPlan fresh_gpt(const ModelRequest& request) {
  return plan_of(GptConfig{.block_size = request.block_size,
                           .vocab_size = request.vocab_size,
                           .n_layer = request.n_layer,
                           .n_head = request.n_head,
                           .n_embd = request.n_embd,
                           .n_inner = request.d_ff,
                           .dropout = request.dropout,
                           .bias = *request.bias,
                           .activation = *request.activation,
                           .tied_head = *request.tie_embeddings,
                           .special_ids = request.special_ids});
}

}  // namespace

Gpt::Gpt(const GptConfig& config) : config_(completed(config)), decoder_(decoder_of(config_)) {
  if (config_.classifier) classifier_.emplace(*config_.classifier);
}

int64_t parameter_count(const GptConfig& given) {
  const GptConfig config = completed(given);
  const int64_t width = config.n_embd;
  const bool one_table = config.tied_head || config.classifier;
  const int64_t tables = (one_table ? 1 : 2) * config.vocab_size + config.block_size;
  const int64_t norm = config.bias ? 2 * width : width;
  int64_t layers = 0;
  for (int64_t layer = 0; layer < config.n_layer; ++layer) {
    const int64_t merged = merged_width(config, layer);
    const int64_t biases = config.bias ? 3 * merged + 2 * width + config.n_inner : 0;
    layers += 2 * norm + 4 * width * merged + 2 * width * config.n_inner + biases;
  }
  return tables * width + layers + norm +
         (config.classifier ? parameter_count(*config.classifier) : 0);
}

nn::Parameters Gpt::parameters() const {
  return distinct_parameters(
      {decoder_.embedding.parameters(), decoder_.layers.parameters(),
       classifier_ ? classifier_->parameters() : decoder_.output.parameters()});
}

// Others' GPTs have biases everywhere: without them a folder says so and holds zeros.
nn::StateDict Gpt::state() const {
  nn::StateDict state = Model::state();
  if (config_.bias) return state;
  for (const nn::ParameterHandle& parameter : parameters()) {
    const std::string& name = parameter->name();
    const bool is_norm = parameter->shape().rank() == 1;
    const bool is_layer = name.ends_with("c_attn.weight") || name.ends_with("c_proj.weight") ||
                          name.ends_with("c_fc.weight");
    if (!is_norm && !is_layer) continue;
    const std::string bias =
        name.substr(0, name.size() - std::string_view("weight").size()) + "bias";
    state[bias] = Tensor::zeros(tensor::DType::f32, {parameter->shape()[-1]});
  }
  return state;
}

std::vector<Model::TiedCopy> Gpt::tied_copies() const {
  if (!config_.tied_head || classifier_) return {};
  return {{.name = kHeadName, .original = config_.prefix + "wte.weight"}};
}

// Of a GPT without biases zeros may be stored in their place; a bias has one axis.
bool Gpt::ignores(const std::string& name, const nn::StoredTensor& tensor) const {
  if (nn::is_mask_buffer(name, tensor)) return true;
  const bool can_be_bias =
      name.ends_with(".bias") && tensor.shape.rank() == 1 && tensor.shape[0] <= 4 * kMostWidth;
  if (config_.bias || !can_be_bias) return false;
  const Tensor numbers = tensor::to_float32(tensor.load());
  return std::all_of(numbers.data<float>(), numbers.data<float>() + numbers.elements(),
                     [](float number) { return number == 0; });
}

std::vector<nn::MultiHeadAttention*> Gpt::attentions() { return decoder_.layers.attentions(); }

Parts Gpt::parts() const {
  return {.decoder = &decoder_.layers,
          .output = classifier_ ? nullptr : &decoder_.output,
          .decoder_table = decoder_.embedding.parameters().front().get()};
}

std::unique_ptr<Model> Gpt::with_heads(const HeadsLeft& left) const {
  GptConfig config = config_;
  config.heads_left = left;
  return std::make_unique<Gpt>(config);
}

// As nanoGPT: what is added to the residual stream starts smaller the more layers add to it.
void Gpt::draw(uint64_t seed) {
  constexpr float kDeviation = 0.02F;
  nn::Parameters residual;
  for (const nn::ParameterHandle& parameter : parameters()) {
    if (parameter->name().ends_with(".c_proj.weight")) residual.push_back(parameter);
  }
  nn::draw_normal(residual, seed, kDeviation / std::sqrt(2 * static_cast<float>(config_.n_layer)));
  nn::draw_normal(parameters(), seed, kDeviation);
}

Value Gpt::forward(Context& context, const Batch& batch) const {
  refuse_source(batch);
  return decoder_.forward(context, batch.ids, {.lens = batch.lens});
}

Value Gpt::logits(Context& context, const Value& output) const {
  if (classifier_) refuse_words(kType);
  return decoder_.output.logits(context, output);
}

Value Gpt::loss(Context& context, const Value& output, const Tensor& targets,
                float label_smoothing) const {
  if (classifier_) refuse_words(kType);
  return decoder_.output.loss(context, output, targets, label_smoothing);
}

Decoding Gpt::start(Context& /*context*/, const Batch& source) const {
  if (classifier_) refuse_words(kType);
  refuse_source(source);
  return Decoding(decoder_);
}

GptConfig Gpt::read_config(const io::Json& json, const std::string& path) {
  const ConfigReader reader(json, path);
  GptConfig config;
  config.vocab_size = reader.size("vocab_size", kMostIds);
  // Both of Hugging Face's names for one setting.
  const auto size = [&reader](std::string_view key, std::string_view other, int64_t most) {
    return reader.size(reader.spelling(key, other), most);
  };
  config.block_size = size("n_positions", "max_position_embeddings", kMostIds);
  config.n_layer = size("n_layer", "num_hidden_layers", kMostLayers);
  config.n_head = size("n_head", "num_attention_heads", kMostWidth);
  config.n_embd = size("n_embd", "hidden_size", kMostWidth);
  config.n_inner = reader.size("n_inner", 4 * kMostWidth, 4 * config.n_embd);
  config.dropout = reader.fraction("resid_pdrop", true, 0);
  config.embedding_dropout = reader.fraction("embd_pdrop", true, config.dropout);
  config.attention_dropout = reader.fraction("attn_pdrop", true, config.dropout);
  config.bias = reader.boolean("headlight_bias", true);
  config.activation = reader.activation("activation_function", nn::Activation::gelu_tanh);
  config.tied_head = reader.boolean("tie_word_embeddings", true);
  config.layer_norm_epsilon = reader.fraction("layer_norm_epsilon", false, 1e-5F);
  config.special_ids = reader.special_ids(config.vocab_size, OutsideIds::none);
  reader.check_heads("n_head", config.n_head, config.n_embd);
  config.heads_left = read_heads_left(json, path, attention_heads(config));
  config.classifier = last_row_classifier(json, path, config.special_ids);
  reader.require("scale_attn_weights", true);
  reader.require("scale_attn_by_inverse_layer_idx", false);
  reader.require("add_cross_attention", false);
  reader.require_same("n_inner", "intermediate_size");
  reader.require_same("activation_function", "hidden_act");
  reader.require_same("layer_norm_epsilon", "layer_norm_eps");
  reader.require("bias", config.bias);
  refuse_foreign_settings(reader);
  refuse_unread_settings(reader, kType);
  return config;
}

io::Json Gpt::config() const {
  io::Json::Object config = {
      {"architectures", io::Json::Array{"GPT2LMHeadModel"}},
      {"model_type", kType},
      {"vocab_size", config_.vocab_size},
      {"n_positions", config_.block_size},
      {"n_ctx", config_.block_size},
      {"n_embd", config_.n_embd},
      {"n_layer", config_.n_layer},
      {"n_head", config_.n_head},
      {"n_inner", config_.n_inner},
      {"activation_function", kernels::name_of(config_.activation)},
      {"embd_pdrop", short_number(config_.embedding_dropout.value_or(config_.dropout))},
      {"resid_pdrop", short_number(config_.dropout)},
      {"attn_pdrop", short_number(config_.attention_dropout.value_or(config_.dropout))},
      {"layer_norm_epsilon", short_number(config_.layer_norm_epsilon)},
      {"tie_word_embeddings", config_.tied_head}};
  if (classifier_) write_classes(config, classifier_->classes());
  if (!config_.bias) config.emplace_back("headlight_bias", false);
  write_heads_left(config, config_.heads_left, attention_heads(config_));
  write_special_ids(config, config_.special_ids);
  return config;
}

Architecture gpt2_architecture() {
  return {.model_type = Gpt::kType,
          .capabilities = Gpt::kCapabilities,
          .read = read_gpt,
          .fresh = fresh_gpt,
          .choices = {.bias = by_default(true),
                      .tie_embeddings = by_default(true),
                      .pre_norm = always(true),
                      .learned_positions = always(true),
                      .activation = by_default(nn::Activation::gelu_tanh)}};
}

}  // namespace headlight::models
