// Names by tables, and tensors in another order.
#include "headlight/models/gguf_tensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "headlight/models/gguf_rotary.h"

namespace headlight::models {
namespace {

using nn::StoredTensor;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

// Without ".weight" and ".bias"; N is the layer.
struct TensorName {
  std::string_view gguf;
  std::string_view folder;
};

// Of Llama and its kin, but for the norms around sublayers.
constexpr std::array<TensorName, 13> kDecoderNames = {
    {{"token_embd", "model.embed_tokens"},
     {"output_norm", "model.norm"},
     {"output", "lm_head"},
     {"blk.N.attn_norm", "model.layers.N.input_layernorm"},
     {"blk.N.attn_q", "model.layers.N.self_attn.q_proj"},
     {"blk.N.attn_k", "model.layers.N.self_attn.k_proj"},
     {"blk.N.attn_v", "model.layers.N.self_attn.v_proj"},
     {"blk.N.attn_output", "model.layers.N.self_attn.o_proj"},
     {"blk.N.attn_q_norm", "model.layers.N.self_attn.q_norm"},
     {"blk.N.attn_k_norm", "model.layers.N.self_attn.k_norm"},
     {"blk.N.ffn_gate", "model.layers.N.mlp.gate_proj"},
     {"blk.N.ffn_up", "model.layers.N.mlp.up_proj"},
     {"blk.N.ffn_down", "model.layers.N.mlp.down_proj"}}};
constexpr std::array<TensorName, 1> kLlamaNorms = {
    {{"blk.N.ffn_norm", "model.layers.N.post_attention_layernorm"}}};
constexpr std::array<TensorName, 3> kGemmaNorms = {
    {{"blk.N.post_attention_norm", "model.layers.N.post_attention_layernorm"},
     {"blk.N.ffn_norm", "model.layers.N.pre_feedforward_layernorm"},
     {"blk.N.post_ffw_norm", "model.layers.N.post_feedforward_layernorm"}}};

constexpr std::array<TensorName, 9> kNeoXNames = {
    {{"token_embd", "gpt_neox.embed_in"},
     {"output_norm", "gpt_neox.final_layer_norm"},
     {"output", "embed_out"},
     {"blk.N.attn_norm", "gpt_neox.layers.N.input_layernorm"},
     {"blk.N.attn_qkv", "gpt_neox.layers.N.attention.query_key_value"},
     {"blk.N.attn_output", "gpt_neox.layers.N.attention.dense"},
     {"blk.N.ffn_norm", "gpt_neox.layers.N.post_attention_layernorm"},
     {"blk.N.ffn_up", "gpt_neox.layers.N.mlp.dense_h_to_4h"},
     {"blk.N.ffn_down", "gpt_neox.layers.N.mlp.dense_4h_to_h"}}};

constexpr std::array<TensorName, 10> kGpt2Names = {
    {{"token_embd", "transformer.wte"},
     {"position_embd", "transformer.wpe"},
     {"output_norm", "transformer.ln_f"},
     {"output", "lm_head"},
     {"blk.N.attn_norm", "transformer.h.N.ln_1"},
     {"blk.N.attn_qkv", "transformer.h.N.attn.c_attn"},
     {"blk.N.attn_output", "transformer.h.N.attn.c_proj"},
     {"blk.N.ffn_norm", "transformer.h.N.ln_2"},
     {"blk.N.ffn_up", "transformer.h.N.mlp.c_fc"},
     {"blk.N.ffn_down", "transformer.h.N.mlp.c_proj"}}};

constexpr std::array<TensorName, 12> kBertNames = {
    {{"token_embd", "embeddings.word_embeddings"},
     {"token_types", "embeddings.token_type_embeddings"},
     {"position_embd", "embeddings.position_embeddings"},
     {"token_embd_norm", "embeddings.LayerNorm"},
     {"blk.N.attn_q", "encoder.layer.N.attention.self.query"},
     {"blk.N.attn_k", "encoder.layer.N.attention.self.key"},
     {"blk.N.attn_v", "encoder.layer.N.attention.self.value"},
     {"blk.N.attn_output", "encoder.layer.N.attention.output.dense"},
     {"blk.N.attn_output_norm", "encoder.layer.N.attention.output.LayerNorm"},
     {"blk.N.ffn_up", "encoder.layer.N.intermediate.dense"},
     {"blk.N.ffn_down", "encoder.layer.N.output.dense"},
     {"blk.N.layer_output_norm", "encoder.layer.N.output.LayerNorm"}}};

constexpr std::array<TensorName, 11> kDistilNames = {
    {{"token_embd", "embeddings.word_embeddings"},
     {"position_embd", "embeddings.position_embeddings"},
     {"token_embd_norm", "embeddings.LayerNorm"},
     {"blk.N.attn_q", "transformer.layer.N.attention.q_lin"},
     {"blk.N.attn_k", "transformer.layer.N.attention.k_lin"},
     {"blk.N.attn_v", "transformer.layer.N.attention.v_lin"},
     {"blk.N.attn_output", "transformer.layer.N.attention.out_lin"},
     {"blk.N.attn_output_norm", "transformer.layer.N.sa_layer_norm"},
     {"blk.N.ffn_up", "transformer.layer.N.ffn.lin1"},
     {"blk.N.ffn_down", "transformer.layer.N.ffn.lin2"},
     {"blk.N.layer_output_norm", "transformer.layer.N.output_layer_norm"}}};

constexpr std::array<TensorName, 9> kModernNames = {{{"token_embd", "embeddings.tok_embeddings"},
                                                     {"token_embd_norm", "embeddings.norm"},
                                                     {"output_norm", "final_norm"},
                                                     {"blk.N.attn_norm", "layers.N.attn_norm"},
                                                     {"blk.N.attn_qkv", "layers.N.attn.Wqkv"},
                                                     {"blk.N.attn_output", "layers.N.attn.Wo"},
                                                     {"blk.N.ffn_norm", "layers.N.mlp_norm"},
                                                     {"blk.N.ffn_up", "layers.N.mlp.Wi"},
                                                     {"blk.N.ffn_down", "layers.N.mlp.Wo"}}};

constexpr std::array<TensorName, 26> kT5Names = {
    {{"token_embd", "shared"},
     {"output", "lm_head"},
     {"enc.output_norm", "encoder.final_layer_norm"},
     {"dec.output_norm", "decoder.final_layer_norm"},
     {"enc.blk.N.attn_norm", "encoder.block.N.layer.0.layer_norm"},
     {"enc.blk.N.attn_q", "encoder.block.N.layer.0.SelfAttention.q"},
     {"enc.blk.N.attn_k", "encoder.block.N.layer.0.SelfAttention.k"},
     {"enc.blk.N.attn_v", "encoder.block.N.layer.0.SelfAttention.v"},
     {"enc.blk.N.attn_o", "encoder.block.N.layer.0.SelfAttention.o"},
     {"enc.blk.N.attn_rel_b", "encoder.block.N.layer.0.SelfAttention.relative_attention_bias"},
     {"enc.blk.N.ffn_norm", "encoder.block.N.layer.1.layer_norm"},
     {"enc.blk.N.ffn_down", "encoder.block.N.layer.1.DenseReluDense.wo"},
     {"dec.blk.N.attn_norm", "decoder.block.N.layer.0.layer_norm"},
     {"dec.blk.N.attn_q", "decoder.block.N.layer.0.SelfAttention.q"},
     {"dec.blk.N.attn_k", "decoder.block.N.layer.0.SelfAttention.k"},
     {"dec.blk.N.attn_v", "decoder.block.N.layer.0.SelfAttention.v"},
     {"dec.blk.N.attn_o", "decoder.block.N.layer.0.SelfAttention.o"},
     {"dec.blk.N.attn_rel_b", "decoder.block.N.layer.0.SelfAttention.relative_attention_bias"},
     {"dec.blk.N.cross_attn_norm", "decoder.block.N.layer.1.layer_norm"},
     {"dec.blk.N.cross_attn_q", "decoder.block.N.layer.1.EncDecAttention.q"},
     {"dec.blk.N.cross_attn_k", "decoder.block.N.layer.1.EncDecAttention.k"},
     {"dec.blk.N.cross_attn_v", "decoder.block.N.layer.1.EncDecAttention.v"},
     {"dec.blk.N.cross_attn_o", "decoder.block.N.layer.1.EncDecAttention.o"},
     {"dec.blk.N.cross_attn_rel_b",
      "decoder.block.N.layer.1.EncDecAttention.relative_attention_bias"},
     {"dec.blk.N.ffn_norm", "decoder.block.N.layer.2.layer_norm"},
     {"dec.blk.N.ffn_down", "decoder.block.N.layer.2.DenseReluDense.wo"}}};
constexpr std::array<TensorName, 2> kT5Plain = {
    {{"enc.blk.N.ffn_up", "encoder.block.N.layer.1.DenseReluDense.wi"},
     {"dec.blk.N.ffn_up", "decoder.block.N.layer.2.DenseReluDense.wi"}}};
constexpr std::array<TensorName, 4> kT5Gated = {
    {{"enc.blk.N.ffn_gate", "encoder.block.N.layer.1.DenseReluDense.wi_0"},
     {"enc.blk.N.ffn_up", "encoder.block.N.layer.1.DenseReluDense.wi_1"},
     {"dec.blk.N.ffn_gate", "decoder.block.N.layer.2.DenseReluDense.wi_0"},
     {"dec.blk.N.ffn_up", "decoder.block.N.layer.2.DenseReluDense.wi_1"}}};

using TensorNames = std::span<const TensorName>;
constexpr std::array<std::string_view, 3> kRotatedRows = {"llama", "mistral", "smollm3"};

// The tables of a type, to be looked into one after the other.
std::array<TensorNames, 2> names_of(const io::Gguf& file, std::string_view type) {
  if (type == "gemma3_text") return {kDecoderNames, kGemmaNorms};
  if (type == "gpt_neox") return {kNeoXNames};
  if (type == "gpt2") return {kGpt2Names};
  if (type == "bert") return {kBertNames};
  if (type == "distilbert") return {kDistilNames};
  if (type == "modernbert") return {kModernNames};
  if (type != "t5") return {kDecoderNames, kLlamaNorms};
  if (file.find("enc.blk.0.ffn_gate.weight") != nullptr) return {kT5Names, kT5Gated};
  return {kT5Names, kT5Plain};
}

// "blk.17.attn_q" as "blk.N.attn_q" and "17".
struct NameParts {
  std::string general;
  std::string layer;
};
NameParts parts_of(const std::string& stem) {
  const size_t block = stem.find("blk.");
  if (block == std::string::npos) return {stem, ""};
  const size_t begin = block + 4;
  const size_t end = std::min(stem.find_first_not_of("0123456789", begin), stem.size());
  return {stem.substr(0, begin) + "N" + stem.substr(end), stem.substr(begin, end - begin)};
}

std::string folder_name(const std::array<TensorNames, 2>& tables, const std::string& name) {
  if (name == kRotaryFactors) return "";
  const size_t dot = std::min(name.rfind('.'), name.size());
  const NameParts parts = parts_of(name.substr(0, dot));
  for (const TensorNames table : tables) {
    const auto found = std::ranges::find(table, parts.general, &TensorName::gguf);
    if (found == table.end()) continue;
    std::string result(found->folder);
    if (const size_t place = result.find(".N."); place != std::string::npos) {
      result.replace(place + 1, 1, parts.layer);
    }
    return result + name.substr(dot);
  }
  return name;
}

// Rows lie as (outer, first, second, together) and are wanted as (outer, second, first, together).
struct RowOrder {
  int64_t outer = 1;
  int64_t first = 1;
  int64_t second = 1;
  int64_t together = 1;

  int64_t rows() const { return outer * first * second * together; }
  // Where the row lies that is wanted as this one.
  int64_t source_of(int64_t row) const {
    const int64_t group = row / together;
    const int64_t i = group / (first * second);
    const int64_t wanted = group % (first * second);
    return ((i * first + wanted % first) * second + wanted / first) * together + row % together;
  }
};

Tensor reordered(const Tensor& from, const RowOrder& order) {
  Tensor to = Tensor::uninitialized(from.dtype(), from.shape());
  const size_t bytes =
      from.bytes() / static_cast<size_t>(order.rows()) * static_cast<size_t>(order.together);
  const auto* source = static_cast<const std::byte*>(from.raw());
  auto* target = static_cast<std::byte*>(to.mutable_raw());
  for (int64_t i = 0; i < order.outer; ++i) {
    for (int64_t second = 0; second < order.second; ++second) {
      for (int64_t first = 0; first < order.first; ++first) {
        const int64_t place = (i * order.first + first) * order.second + second;
        std::memcpy(target, source + static_cast<size_t>(place) * bytes, bytes);
        target += bytes;
      }
    }
  }
  return to;
}

// A tensor whose rows are not so many is left as it is: its shape is told to be wrong.
StoredTensor in_order(StoredTensor tensor, const RowOrder& order) {
  if (tensor.shape.rank() == 0 || order.rows() < 1 || tensor.shape[0] != order.rows())
    return tensor;
  tensor.load = [load = std::move(tensor.load), order] { return reordered(load(), order); };
  if (!tensor.load_rows) return tensor;
  const size_t size =
      static_cast<size_t>(tensor.shape.elements() / order.rows()) * size_of(tensor.dtype);
  tensor.load_rows = [load = std::move(tensor.load_rows), order, size](int64_t begin, int64_t count,
                                                                       std::byte* to) {
    for (int64_t row = begin; row < begin + count; ++row, to += size) {
      load(order.source_of(row), 1, to);
    }
  };
  return tensor;
}

StoredTensor minus_one(StoredTensor tensor) {
  tensor.load_rows = {};
  tensor.load = [load = std::move(tensor.load)] {
    const Tensor stored = tensor::to_float32(load());
    Tensor less = Tensor::uninitialized(DType::f32, stored.shape());
    const float* numbers = stored.data<float>();
    std::transform(numbers, numbers + stored.elements(), less.mutable_data<float>(),
                   [](float number) { return number - 1; });
    return less;
  };
  if (nn::is_weight_type(tensor.dtype)) tensor.dtype = DType::f32;
  return tensor;
}

StoredTensor transposed(StoredTensor tensor) {
  if (tensor.shape.rank() != 2) return tensor;
  const int64_t rows = tensor.shape[1];
  const int64_t columns = tensor.shape[0];
  tensor.load_rows = {};
  // One column as a row of single numbers.
  tensor.load = [load = std::move(tensor.load), rows, columns] {
    const Tensor stored = load();
    const Tensor flat = stored.reshaped({rows * columns});
    return reordered(flat, {.first = columns, .second = rows}).reshaped({rows, columns});
  };
  tensor.shape = {rows, columns};
  return tensor;
}

int64_t number_in(const io::Json& config, std::string_view key) {
  const io::Json* value = config.find(key);
  return value == nullptr ? 0 : value->integer().value_or(0);
}

bool is_projection(const std::string& name, std::string_view projection) {
  return name.ends_with(std::string(projection) + ".weight") ||
         name.ends_with(std::string(projection) + ".bias");
}

StoredTensor changed(const io::Json& config, std::string_view type, const std::string& name,
                     StoredTensor tensor) {
  const int64_t rows = tensor.shape.rank() == 0 ? 0 : tensor.shape[0];
  if (std::ranges::find(kRotatedRows, type) != kRotatedRows.end()) {
    const bool is_query = is_projection(name, "self_attn.q_proj");
    if (!is_query && !is_projection(name, "self_attn.k_proj")) return tensor;
    const int64_t heads =
        number_in(config, is_query ? "num_attention_heads" : "num_key_value_heads");
    if (heads < 1) return tensor;
    return in_order(std::move(tensor), {.outer = heads, .first = rows / heads / 2, .second = 2});
  }
  if (type == "gemma3_text" && name.ends_with("norm.weight")) return minus_one(std::move(tensor));
  if (type == "gpt_neox" && is_projection(name, "query_key_value")) {
    const int64_t heads = number_in(config, "num_attention_heads");
    if (heads < 1) return tensor;
    return in_order(std::move(tensor), {.first = 3, .second = heads, .together = rows / 3 / heads});
  }
  if (type == "gpt2" && (name.ends_with("c_attn.weight") || name.ends_with("c_proj.weight") ||
                         name.ends_with("c_fc.weight"))) {
    return transposed(std::move(tensor));
  }
  return tensor;
}

}  // namespace

io::StoredTensors gguf_tensors(const io::Gguf& file, std::string_view model_type) {
  const std::array<TensorNames, 2> tables = names_of(file, model_type);
  return file.renamed([&](const std::string& name) { return folder_name(tables, name); });
}

void undo_gguf_changes(const io::Json& config, nn::StoredState& state) {
  const std::string& type = *config.find("model_type")->text();
  for (auto& [name, tensor] : state) tensor = changed(config, type, name, std::move(tensor));
}

}  // namespace headlight::models
