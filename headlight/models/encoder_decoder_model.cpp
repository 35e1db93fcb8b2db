// EncoderDecoderModel: both stacks as the design has them.
#include "headlight/models/encoder_decoder_model.h"

#include <utility>

#include "headlight/models/config_reader.h"
#include "headlight/models/parameters.h"

namespace headlight::models {
namespace {

int64_t width_of(const EncoderDecoderDesign& design) { return design.decoder.layers.front().width; }

nn::Embedding table_of(const EncoderDecoderDesign& design, const StackDesign& side, int64_t rows) {
  return {design.shared_table.empty() ? side.table : design.shared_table, rows, width_of(design)};
}

nn::TransformerStack stack_of(const StackDesign& side, const char* place) {
  nn::ParameterHandle biases;
  if (!side.position_bias.empty()) {
    const nn::TransformerBlockOptions& first = side.layers.front();
    biases = std::make_shared<nn::Parameter>(
        side.position_bias, tensor::Shape{first.position_bias.buckets, first.heads});
  }
  std::vector<nn::TransformerBlock> blocks;
  for (nn::TransformerBlockOptions layer : side.layers) {
    layer.position_bias.table = biases;
    blocks.emplace_back(layer);
  }
  std::optional<nn::Norm> norm;
  if (!side.final_norm.empty()) norm.emplace(side.final_norm, side.final_norm_options);
  return {std::move(blocks), std::move(norm), place, side.output_dropout};
}

nn::OutputLayer output_of(const EncoderDecoderDesign& design, const nn::Embedding& table) {
  const int64_t ids = design.target_vocab_size;
  const nn::ParameterHandle weight =
      design.tied_head ? table.weight()
                       : std::make_shared<nn::Parameter>(design.head + ".weight",
                                                         tensor::Shape{ids, width_of(design)});
  nn::OutputLayer output(weight);
  output.set_input_scale(design.output_scale);
  if (!design.logits_bias.empty()) {
    output.set_constant(std::make_shared<nn::Parameter>(
        design.logits_bias, Tensor::zeros(tensor::DType::f32, {1, ids})));
  }
  return output;
}

// Of both kinds of attention of a layer.
std::vector<AttentionHeads> heads_of_side(const StackDesign& side) {
  std::vector<AttentionHeads> all;
  for (const nn::TransformerBlockOptions& layer : side.layers) {
    all.push_back({layer.place + ".self", layer.heads});
    if (layer.cross_attention) all.push_back({layer.place + ".cross", layer.heads});
  }
  return all;
}

HeadsLeft heads_left_of_stacks(const EncoderDecoderDesign& design) {
  HeadsLeft left;
  for (const StackDesign* side : {&design.encoder, &design.decoder}) {
    for (const nn::TransformerBlockOptions& layer : side->layers) {
      if (layer.self_heads_left) left[layer.place + ".self"] = *layer.self_heads_left;
      if (layer.cross_heads_left) left[layer.place + ".cross"] = *layer.cross_heads_left;
    }
  }
  return left;
}

int64_t stack_count(const StackDesign& side) {
  int64_t count = side.final_norm.empty() ? 0 : parameter_count(side.final_norm_options);
  if (!side.position_bias.empty()) {
    count += side.layers.front().position_bias.buckets * side.layers.front().heads;
  }
  for (const nn::TransformerBlockOptions& layer : side.layers) count += parameter_count(layer);
  return count;
}

}  // namespace

std::vector<AttentionHeads> heads_of_stacks(const EncoderDecoderDesign& design) {
  std::vector<AttentionHeads> all = heads_of_side(design.encoder);
  for (AttentionHeads& one : heads_of_side(design.decoder)) all.push_back(std::move(one));
  return all;
}

void set_heads_left(EncoderDecoderDesign& design, const HeadsLeft& left) {
  const HeadsLeft checked = checked_heads_left(left, heads_of_stacks(design), design.type);
  for (StackDesign* side : {&design.encoder, &design.decoder}) {
    for (nn::TransformerBlockOptions& layer : side->layers) {
      layer.self_heads_left = left_at(checked, layer.place + ".self");
      layer.cross_heads_left = left_at(checked, layer.place + ".cross");
    }
  }
}

EncoderDecoderModel::EncoderDecoderModel(EncoderDecoderDesign design)
    : design_(std::move(design)),
      source_table_(table_of(design_, design_.encoder, design_.vocab_size)),
      target_table_(design_.shared_table.empty()
                        ? table_of(design_, design_.decoder, design_.target_vocab_size)
                        : source_table_),
      encoder_embedding_(source_table_, design_.encoder.embedding),
      encoder_(stack_of(design_.encoder, "encoder")),
      decoder_{.embedding = nn::SequenceEmbedding(target_table_, design_.decoder.embedding),
               .layers = stack_of(design_.decoder, "decoder"),
               .output = output_of(design_, target_table_)} {}

io::Json EncoderDecoderModel::config() const {
  io::Json::Object config = design_.config;
  if (!design_.tie_key.empty()) config.emplace_back(design_.tie_key, design_.tied_head);
  write_heads_left(config, heads_left_of_stacks(design_), heads_of_stacks(design_));
  write_special_ids(config, design_.special_ids);
  return config;
}

nn::Parameters EncoderDecoderModel::parameters() const {
  return distinct_parameters({encoder_embedding_.parameters(), encoder_.parameters(),
                              decoder_.embedding.parameters(), decoder_.layers.parameters(),
                              decoder_.output.parameters()});
}

std::vector<Model::TiedCopy> EncoderDecoderModel::tied_copies() const {
  std::vector<TiedCopy> copies;
  if (design_.tied_head) {
    copies.push_back(
        {.name = design_.head + ".weight", .original = target_table_.weight()->name()});
  }
  if (!design_.shared_table.empty()) {
    for (const StackDesign* side : {&design_.encoder, &design_.decoder}) {
      copies.push_back({.name = side->table + ".weight",
                        .original = source_table_.weight()->name(),
                        .stands_in = true});
    }
  }
  return copies;
}

bool EncoderDecoderModel::ignores(const std::string& name, const nn::StoredTensor& tensor) const {
  return design_.ignored != nullptr && design_.ignored(name, tensor);
}

void EncoderDecoderModel::draw(uint64_t seed) {
  constexpr float kDeviation = 0.02F;
  if (design_.draw != nullptr) return design_.draw(parameters(), design_, seed);
  nn::draw_normal(parameters(), seed, kDeviation);
}

std::vector<nn::MultiHeadAttention*> EncoderDecoderModel::attentions() {
  std::vector<nn::MultiHeadAttention*> all = encoder_.attentions();
  for (nn::MultiHeadAttention* attention : decoder_.layers.attentions()) all.push_back(attention);
  return all;
}

Parts EncoderDecoderModel::parts() const {
  return {.encoder = &encoder_,
          .decoder = &decoder_.layers,
          .output = &decoder_.output,
          .encoder_table = source_table_.weight().get(),
          .decoder_table = target_table_.weight().get()};
}

std::unique_ptr<Model> EncoderDecoderModel::with_heads(const HeadsLeft& left) const {
  EncoderDecoderDesign design = design_;
  set_heads_left(design, left);
  return std::make_unique<EncoderDecoderModel>(std::move(design));
}

Value EncoderDecoderModel::encode(Context& context, const Tensor& source_ids,
                                  const Tensor& source_lens) const {
  if (!source_ids.defined()) {
    base::refuse(type(), "source ids", "are missing: the encoder has nothing to read");
  }
  const Value x = encoder_embedding_.forward(context, source_ids, {.lens = source_lens});
  return encoder_.forward(context, x, {.lens = source_lens});
}

Value EncoderDecoderModel::forward(Context& context, const Batch& batch) const {
  const Value memory = encode(context, batch.source_ids, batch.source_lens);
  if (batch.ids.defined() && batch.ids.rank() == 2 && batch.ids.size(0) != memory.size(0)) {
    base::refuse(type(), "ids",
                 std::to_string(batch.ids.size(0)) + " sequences for " +
                     std::to_string(memory.size(0)) + " sources");
  }
  return decoder_.forward(context, batch.ids,
                          {.lens = batch.lens, .memory = memory, .memory_lens = batch.source_lens});
}

Value EncoderDecoderModel::logits(Context& context, const Value& output) const {
  return decoder_.output.logits(context, output);
}

Value EncoderDecoderModel::loss(Context& context, const Value& output, const Tensor& targets,
                                float label_smoothing) const {
  return decoder_.output.loss(context, output, targets, label_smoothing);
}

Decoding EncoderDecoderModel::start(Context& context, const Batch& source) const {
  const Value memory = encode(context, source.source_ids, source.source_lens);
  std::vector<nn::LayerCache> caches = decoder_.no_caches();
  decoder_.layers.remember(context, memory, source.source_lens, caches);
  return {decoder_, std::move(caches)};
}

ModelPlan plan_of(const EncoderDecoderDesign& design) {
  int64_t rows = design.vocab_size;
  if (design.shared_table.empty()) rows += design.target_vocab_size;
  if (!design.tied_head) rows += design.target_vocab_size;
  const int64_t width = width_of(design);
  ModelPlan plan{.parameters = rows * width + stack_count(design.encoder) +
                               stack_count(design.decoder) +
                               (design.logits_bias.empty() ? 0 : design.target_vocab_size),
                 .make = [design] { return std::make_unique<EncoderDecoderModel>(design); },
                 .untied = [design](const std::string& copy) -> ModelPlan {
                   // Which of three tables would count is open.
                   if (copy != design.head + ".weight") return {};
                   EncoderDecoderDesign untied = design;
                   untied.tied_head = false;
                   return plan_of(untied);
                 }};
  for (const StackDesign* side : {&design.encoder, &design.decoder}) {
    if (side->embedding.adds_positions) plan.tables += side->embedding.max_length * width;
    for (const nn::TransformerBlockOptions& layer : side->layers) {
      plan.activations += kept_of_layer(layer);
    }
  }
  return plan;
}

}  // namespace headlight::models
