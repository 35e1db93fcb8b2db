// Folders' models as GGUF files, in the order and under the names that llama.cpp's converter gives
// to them: what the reader has to undo.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "headlight/io/io.h"
#include "tests/io/gguf_bytes.h"

namespace headlight::models {

// A tensor as a file holds it: rows of bytes.
struct RawTensor {
  io::Element element = io::Element::f32;
  std::vector<int64_t> shape;
  std::string bytes;

  int64_t rows() const { return shape[0]; }
  size_t row_bytes() const { return bytes.size() / static_cast<size_t>(rows()); }
};
using RawTensors = std::map<std::string, RawTensor>;

inline uint32_t gguf_type(io::Element element) {
  static const std::map<io::Element, uint32_t> kTypes = {
      {io::Element::f32, 0},   {io::Element::f16, 1},   {io::Element::q4_0, 2},
      {io::Element::q4_1, 3},  {io::Element::q5_0, 6},  {io::Element::q5_1, 7},
      {io::Element::q8_0, 8},  {io::Element::q4_k, 12}, {io::Element::q5_k, 13},
      {io::Element::q6_k, 14}, {io::Element::bf16, 30}};
  return kTypes.at(element);
}

// Settings and tensors, to be written as one file.
class GgufWriter {
 public:
  explicit GgufWriter(const std::string& architecture) : architecture_(architecture) {
    parts_.settings.clear();
    parts_.tensors.clear();
    parts_.data.clear();
    add_text("general.architecture", architecture);
  }

  void add_text(const std::string& key, const std::string& value) {
    parts_.settings.push_back(io::gguf_setting(key, io::kText, io::gguf_string(value)));
  }
  void set(const std::string& key, int64_t value) {
    add(key, io::kUint32, io::u32(static_cast<uint64_t>(value)));
  }
  void set_float(const std::string& key, double value) {
    add(key, io::kFloat32, io::little_endian(static_cast<float>(value)));
  }
  void set_flag(const std::string& key, bool value) {
    add(key, io::kBool, std::string(1, value ? '\1' : '\0'));
  }
  void add_raw(const std::string& setting) { parts_.settings.push_back(setting); }
  void leave_out(const std::string& key) {
    const std::string start = io::gguf_string(key);
    std::erase_if(parts_.settings, [&](const auto& one) { return one.starts_with(start); });
  }

  void add_tensor(const std::string& name, const RawTensor& tensor) {
    io::GgufTensor described{.name = io::gguf_string(name),
                             .sizes = {},
                             .type = gguf_type(tensor.element),
                             .offset = parts_.data.size()};
    for (const int64_t size : tensor.shape) {
      described.sizes.insert(described.sizes.begin(), static_cast<uint64_t>(size));
    }
    parts_.tensors.push_back(described.bytes());
    parts_.data += tensor.bytes;
    parts_.data.resize((parts_.data.size() + 31) / 32 * 32);
  }

  std::string bytes() const { return parts_.bytes(); }

 private:
  void add(const std::string& key, uint32_t type, const std::string& value) {
    parts_.settings.push_back(io::gguf_setting(architecture_ + "." + key, type, value));
  }

  std::string architecture_;
  io::GgufParts parts_;
};

// Pairs of a folder's part of a name and GGUF's; N is the layer. The first that fits counts.
using NamePairs = std::vector<std::pair<std::string, std::string>>;

inline NamePairs names_in_gguf(const std::string& type) {
  if (type == "gpt_neox") {
    return {{"gpt_neox.embed_in", "token_embd"},
            {"gpt_neox.final_layer_norm", "output_norm"},
            {"embed_out", "output"},
            {"gpt_neox.layers.N.input_layernorm", "blk.N.attn_norm"},
            {"gpt_neox.layers.N.attention.query_key_value", "blk.N.attn_qkv"},
            {"gpt_neox.layers.N.attention.dense", "blk.N.attn_output"},
            {"gpt_neox.layers.N.post_attention_layernorm", "blk.N.ffn_norm"},
            {"gpt_neox.layers.N.mlp.dense_h_to_4h", "blk.N.ffn_up"},
            {"gpt_neox.layers.N.mlp.dense_4h_to_h", "blk.N.ffn_down"}};
  }
  if (type == "gpt2") {
    return {{"transformer.wte", "token_embd"},
            {"transformer.wpe", "position_embd"},
            {"transformer.ln_f", "output_norm"},
            {"lm_head", "output"},
            {"transformer.h.N.ln_1", "blk.N.attn_norm"},
            {"transformer.h.N.ln_2", "blk.N.ffn_norm"},
            {"transformer.h.N.attn.c_attn", "blk.N.attn_qkv"},
            {"transformer.h.N.attn.c_proj", "blk.N.attn_output"},
            {"transformer.h.N.mlp.c_fc", "blk.N.ffn_up"},
            {"transformer.h.N.mlp.c_proj", "blk.N.ffn_down"}};
  }
  if (type == "bert" || type == "roberta") {
    const std::string p = type + ".";
    const std::string layer = p + "encoder.layer.N.";
    return {{p + "embeddings.word_embeddings", "token_embd"},
            {p + "embeddings.token_type_embeddings", "token_types"},
            {p + "embeddings.position_embeddings", "position_embd"},
            {p + "embeddings.LayerNorm", "token_embd_norm"},
            {layer + "attention.self.query", "blk.N.attn_q"},
            {layer + "attention.self.key", "blk.N.attn_k"},
            {layer + "attention.self.value", "blk.N.attn_v"},
            {layer + "attention.output.dense", "blk.N.attn_output"},
            {layer + "attention.output.LayerNorm", "blk.N.attn_output_norm"},
            {layer + "intermediate.dense", "blk.N.ffn_up"},
            {layer + "output.dense", "blk.N.ffn_down"},
            {layer + "output.LayerNorm", "blk.N.layer_output_norm"}};
  }
  if (type == "distilbert") {
    const std::string layer = "distilbert.transformer.layer.N.";
    return {{"distilbert.embeddings.word_embeddings", "token_embd"},
            {"distilbert.embeddings.position_embeddings", "position_embd"},
            {"distilbert.embeddings.LayerNorm", "token_embd_norm"},
            {layer + "attention.q_lin", "blk.N.attn_q"},
            {layer + "attention.k_lin", "blk.N.attn_k"},
            {layer + "attention.v_lin", "blk.N.attn_v"},
            {layer + "attention.out_lin", "blk.N.attn_output"},
            {layer + "sa_layer_norm", "blk.N.attn_output_norm"},
            {layer + "ffn.lin1", "blk.N.ffn_up"},
            {layer + "ffn.lin2", "blk.N.ffn_down"},
            {layer + "output_layer_norm", "blk.N.layer_output_norm"}};
  }
  if (type == "modernbert") {
    return {{"model.embeddings.tok_embeddings", "token_embd"},
            {"model.embeddings.norm", "token_embd_norm"},
            {"model.final_norm", "output_norm"},
            {"model.layers.N.attn_norm", "blk.N.attn_norm"},
            {"model.layers.N.attn.Wqkv", "blk.N.attn_qkv"},
            {"model.layers.N.attn.Wo", "blk.N.attn_output"},
            {"model.layers.N.mlp_norm", "blk.N.ffn_norm"},
            {"model.layers.N.mlp.Wi", "blk.N.ffn_up"},
            {"model.layers.N.mlp.Wo", "blk.N.ffn_down"}};
  }
  if (type == "t5") {
    NamePairs names = {{"shared", "token_embd"},
                       {"lm_head", "output"},
                       {"encoder.final_layer_norm", "enc.output_norm"},
                       {"decoder.final_layer_norm", "dec.output_norm"}};
    for (const std::string side : {"encoder", "decoder"}) {
      const std::string from = side + ".block.N.layer.";
      const std::string to = side.substr(0, 3) + ".blk.N.";
      const std::string last = side == "encoder" ? "1." : "2.";
      for (const std::string part : {"q", "k", "v", "o"}) {
        names.push_back({from + "0.SelfAttention." + part, to + "attn_" + part});
        names.push_back({from + "1.EncDecAttention." + part, to + "cross_attn_" + part});
      }
      names.push_back({from + "0.SelfAttention.relative_attention_bias", to + "attn_rel_b"});
      names.push_back({from + last + "DenseReluDense.wi", to + "ffn_up"});
      names.push_back({from + last + "DenseReluDense.wi_0", to + "ffn_gate"});
      names.push_back({from + last + "DenseReluDense.wi_1", to + "ffn_up"});
      names.push_back({from + last + "DenseReluDense.wo", to + "ffn_down"});
      names.push_back({from + last + "layer_norm", to + "ffn_norm"});
      names.push_back({from + "0.layer_norm", to + "attn_norm"});
      if (side == "decoder") names.push_back({from + "1.layer_norm", to + "cross_attn_norm"});
    }
    return names;
  }
  const bool is_gemma = type == "gemma3_text";
  const std::string layer = "model.layers.N.";
  return {{"model.embed_tokens", "token_embd"},
          {"model.norm", "output_norm"},
          {"lm_head", "output"},
          {layer + "input_layernorm", "blk.N.attn_norm"},
          {layer + "self_attn.q_proj", "blk.N.attn_q"},
          {layer + "self_attn.k_proj", "blk.N.attn_k"},
          {layer + "self_attn.v_proj", "blk.N.attn_v"},
          {layer + "self_attn.o_proj", "blk.N.attn_output"},
          {layer + "self_attn.q_norm", "blk.N.attn_q_norm"},
          {layer + "self_attn.k_norm", "blk.N.attn_k_norm"},
          {layer + "post_attention_layernorm",
           is_gemma ? "blk.N.post_attention_norm" : "blk.N.ffn_norm"},
          {layer + "pre_feedforward_layernorm", "blk.N.ffn_norm"},
          {layer + "post_feedforward_layernorm", "blk.N.post_ffw_norm"},
          {layer + "mlp.gate_proj", "blk.N.ffn_gate"},
          {layer + "mlp.up_proj", "blk.N.ffn_up"},
          {layer + "mlp.down_proj", "blk.N.ffn_down"}};
}

// Empty: the converter leaves it out.
inline std::string name_in_gguf(const std::string& type, const std::string& name) {
  const size_t dot = name.rfind('.');
  std::string stem = name.substr(0, dot);
  std::string layer;
  const size_t digits = stem.find_first_of("0123456789");
  const bool in_block = digits != std::string::npos && digits > 0 && stem[digits - 1] == '.';
  if (in_block) {
    const size_t end = std::min(stem.find('.', digits), stem.size());
    layer = stem.substr(digits, end - digits);
    stem = stem.substr(0, digits) + "N" + stem.substr(end);
  }
  for (const auto& [folder, gguf] : names_in_gguf(type)) {
    if (folder != stem) continue;
    std::string result = gguf;
    if (const size_t place = result.find(".N."); place != std::string::npos) {
      result.replace(place + 1, 1, layer);
    }
    return result + name.substr(dot);
  }
  return "";
}

// Rows as (outer, first, second, together) become (outer, second, first, together).
inline RawTensor swapped_rows(const RawTensor& tensor, int64_t outer, int64_t first,
                              int64_t second) {
  RawTensor result = tensor;
  result.bytes.clear();
  const auto together = static_cast<size_t>(tensor.rows() / (outer * first * second));
  const size_t bytes = tensor.row_bytes() * together;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t s = 0; s < second; ++s) {
      for (int64_t f = 0; f < first; ++f) {
        result.bytes +=
            tensor.bytes.substr(static_cast<size_t>((o * first + f) * second + s) * bytes, bytes);
      }
    }
  }
  return result;
}

inline RawTensor of_floats(std::vector<int64_t> shape, const std::vector<float>& numbers) {
  RawTensor tensor{.shape = std::move(shape), .bytes = std::string(numbers.size() * 4, '\0')};
  std::memcpy(tensor.bytes.data(), numbers.data(), tensor.bytes.size());
  return tensor;
}

inline std::vector<float> floats_of(const RawTensor& tensor) {
  std::vector<float> numbers(tensor.bytes.size() / 4);
  std::memcpy(numbers.data(), tensor.bytes.data(), tensor.bytes.size());
  return numbers;
}

// GPT-2's folders have these transposed; blocks go along the rows that GGUF has, so that here they
// are as in GGUF.
inline bool is_transposed(const std::string& type, const std::string& name) {
  return type == "gpt2" && name.find(".h.") != std::string::npos &&
         (name.ends_with("c_attn.weight") || name.ends_with("c_proj.weight") ||
          name.ends_with("c_fc.weight"));
}

// What the converter does to a tensor of a folder.
inline RawTensor as_in_gguf(const std::string& type, const io::Json& config,
                            const std::string& name, const RawTensor& tensor) {
  const auto count = [&](const char* key) { return config.find(key)->integer().value(); };
  if (type == "llama" || type == "mistral" || type == "smollm3") {
    const bool query = name.find(".q_proj.") != std::string::npos;
    if (!query && name.find(".k_proj.") == std::string::npos) return tensor;
    const int64_t heads = count(query ? "num_attention_heads" : "num_key_value_heads");
    return swapped_rows(tensor, heads, 2, tensor.rows() / heads / 2);
  }
  if (type == "gemma3_text" && name.ends_with("norm.weight")) {
    std::vector<float> numbers = floats_of(tensor);
    for (float& number : numbers) number += 1;
    return of_floats(tensor.shape, numbers);
  }
  if (type == "gpt_neox" && name.find("query_key_value") != std::string::npos) {
    return swapped_rows(tensor, 1, count("num_attention_heads"), 3);
  }
  if (type == "roberta" && name.ends_with("position_embeddings.weight")) {
    const int64_t cut = count("pad_token_id") + 1;
    RawTensor rest = tensor;
    rest.bytes = tensor.bytes.substr(tensor.row_bytes() * static_cast<size_t>(cut));
    rest.shape[0] -= cut;
    return rest;
  }
  return tensor;
}

// Settings of a configuration, as far as the converter writes them.
class GgufSettings {
 public:
  GgufSettings(GgufWriter& writer, const io::Json& config) : writer_(writer), config_(config) {}

  void copy(const std::string& key, std::initializer_list<const char*> names) {
    const io::Json* value = find(names);
    if (value != nullptr && value->integer()) writer_.set(key, *value->integer());
  }
  void copy_float(const std::string& key, std::initializer_list<const char*> names) {
    const io::Json* value = find(names);
    if (value != nullptr && value->number()) writer_.set_float(key, *value->number());
  }
  const io::Json* find(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      const io::Json* value = config_.find(name);
      if (value != nullptr && !value->is_null()) return value;
    }
    return nullptr;
  }
  int64_t count(std::initializer_list<const char*> names) const {
    return find(names)->integer().value();
  }

  void sizes(const std::string& type) {
    // RoBERTa's positions are counted when they have been cut.
    if (type != "roberta") copy("context_length", {"max_position_embeddings", "n_positions"});
    copy("embedding_length", {"hidden_size", "n_embd", "dim", "d_model"});
    copy("feed_forward_length", {"intermediate_size", "hidden_dim", "d_ff", "n_inner"});
    copy("block_count", {"num_hidden_layers", "n_layer", "n_layers", "num_layers"});
    copy("attention.head_count", {"num_attention_heads", "n_head", "n_heads", "num_heads"});
    copy("attention.head_count_kv", {"num_key_value_heads"});
    copy("attention.key_length", {"head_dim", "d_kv"});
    copy("attention.value_length", {"head_dim", "d_kv"});
    copy_float("attention.layer_norm_rms_epsilon",
               {"rms_norm_eps", type == "t5" ? "layer_norm_epsilon" : "rms_norm_eps"});
    copy_float("attention.layer_norm_epsilon",
               {"layer_norm_eps", "layer_norm_epsilon", "norm_eps"});
  }

 private:
  GgufWriter& writer_;
  const io::Json& config_;
};

// {"rope_theta", "rope_type", …}, from wherever a configuration has it.
inline io::Json::Object rope_of(const io::Json& config, const std::string& kind) {
  const io::Json* nested = config.find("rope_parameters");
  if (nested != nullptr && nested->find(kind) != nullptr) return *nested->find(kind)->object();
  if (nested != nullptr && nested->object() != nullptr && nested->find("rope_theta") != nullptr) {
    return *nested->object();
  }
  io::Json::Object rope;
  const io::Json* base =
      config.find(kind == "full_attention" ? "rope_theta" : "rope_local_base_freq");
  for (const char* other : {"rotary_emb_base", "global_rope_theta"}) {
    if (base == nullptr && kind == "full_attention") base = config.find(other);
  }
  if (base == nullptr && kind != "full_attention") base = config.find("local_rope_theta");
  if (base != nullptr) rope.emplace_back("rope_theta", *base);
  const io::Json* scaling = config.find("rope_scaling");
  if (kind == "full_attention" && scaling != nullptr && scaling->object() != nullptr) {
    rope.insert(rope.end(), scaling->object()->begin(), scaling->object()->end());
  }
  return rope;
}

inline double number_of(const io::Json& object, const char* key, double otherwise) {
  const io::Json* value = object.find(key);
  return value == nullptr ? otherwise : value->number().value_or(otherwise);
}

// The tensor of factors by which llama3 scaling divides each rate.
inline RawTensor llama3_factors(const io::Json& rope, int64_t head_dim) {
  const double base = number_of(rope, "rope_theta", 10000);
  const double factor = number_of(rope, "factor", 8);
  const double low = number_of(rope, "low_freq_factor", 1);
  const double high = number_of(rope, "high_freq_factor", 4);
  const double context = number_of(rope, "original_max_position_embeddings", 8192);
  std::vector<float> factors;
  for (int64_t i = 0; i < head_dim; i += 2) {
    const double wave = 2 * std::numbers::pi *
                        std::pow(base, static_cast<double>(i) / static_cast<double>(head_dim));
    const double smooth = (context / wave - low) / (high - low);
    factors.push_back(static_cast<float>(wave < context / high ? 1
                                         : wave > context / low
                                             ? factor
                                             : 1 / ((1 - smooth) / factor + smooth)));
  }
  return of_floats({head_dim / 2}, factors);
}

inline std::string architecture_in_gguf(const std::string& type) {
  static const std::map<std::string, std::string> kNames = {
      {"mistral", "llama"},          {"gemma3_text", "gemma3"}, {"gpt_neox", "gptneox"},
      {"modernbert", "modern-bert"}, {"roberta", "bert"},       {"distilbert", "bert"}};
  const auto found = kNames.find(type);
  return found == kNames.end() ? type : found->second;
}

inline void add_rope(const std::string& type, const io::Json& config, GgufSettings& settings,
                     GgufWriter& writer) {
  const io::Json rope = rope_of(config, "full_attention");
  const int64_t heads = settings.count({"num_attention_heads", "n_head"});
  const io::Json* head = settings.find({"head_dim"});
  const int64_t width =
      head != nullptr ? *head->integer() : settings.count({"hidden_size"}) / heads;
  writer.set_float("rope.freq_base", number_of(rope, "rope_theta", 10000));
  const double share = number_of(rope, "partial_rotary_factor", number_of(config, "rotary_pct", 1));
  writer.set("rope.dimension_count", static_cast<int64_t>(static_cast<double>(width) * share));
  const io::Json* scaling = rope.find("rope_type");
  if (scaling != nullptr && *scaling->text() == "linear") {
    writer.add_raw(io::gguf_setting(architecture_in_gguf(type) + ".rope.scaling.type", io::kText,
                                    io::gguf_string("linear")));
    writer.set_float("rope.scaling.factor", number_of(rope, "factor", 1));
  }
  if (scaling != nullptr && *scaling->text() == "llama3") {
    writer.add_tensor("rope_freqs.weight", llama3_factors(rope, width));
  }
}

// true for each layer with a window.
inline void add_pattern(const std::string& type, const io::Json& config, GgufWriter& writer) {
  std::string flags;
  uint64_t count = 0;
  for (const io::Json& layer : *config.find("layer_types")->array()) {
    flags += *layer.text() == "sliding_attention" ? '\1' : '\0';
    ++count;
  }
  writer.add_raw(io::gguf_setting(architecture_in_gguf(type) + ".attention.sliding_window_pattern",
                                  io::kArray, io::gguf_array(io::kBool, count, flags)));
}

// The whole file. Tensors are those of a folder of this type.
inline std::string gguf_of(const std::string& type, const io::Json& config,
                           const RawTensors& tensors) {
  GgufWriter writer(architecture_in_gguf(type));
  GgufSettings settings(writer, config);
  const bool is_bert = type == "bert" || type == "roberta" || type == "distilbert";
  settings.sizes(type);
  if (type == "distilbert") writer.set_float("attention.layer_norm_epsilon", 1e-12);
  if (type == "t5") {
    settings.copy("attention.relative_buckets_count", {"relative_attention_num_buckets"});
    settings.copy("decoder_block_count", {"num_decoder_layers"});
    settings.copy("decoder_start_token_id", {"decoder_start_token_id"});
    if (settings.find({"n_positions"}) == nullptr) writer.set("context_length", 512);
  } else if (!is_bert && type != "gpt2") {
    add_rope(type, config, settings, writer);
  }
  if (is_bert || type == "modernbert") writer.set_flag("attention.causal", false);
  if (type == "gpt_neox") {
    writer.set_flag("use_parallel_residual", *config.find("use_parallel_residual")->boolean());
  }
  if (type == "mistral") settings.copy("attention.sliding_window", {"sliding_window"});
  if (type == "gemma3_text" || type == "modernbert") {
    settings.copy("attention.sliding_window", {"sliding_window", "local_attention"});
    add_pattern(type, config, writer);
    const io::Json windowed = rope_of(config, "sliding_attention");
    writer.set_float("rope.freq_base_swa", number_of(windowed, "rope_theta", 10000));
  }
  for (const auto& [name, tensor] : tensors) {
    const std::string theirs = name_in_gguf(type, name);
    if (theirs.empty()) continue;
    RawTensor stored = as_in_gguf(type, config, name, tensor);
    if (theirs == "position_embd.weight" && type == "roberta") {
      writer.set("context_length", stored.rows());
    }
    writer.add_tensor(theirs, stored);
  }
  return writer.bytes();
}

}  // namespace headlight::models
