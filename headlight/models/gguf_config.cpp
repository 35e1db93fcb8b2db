// Each architecture of GGUF's that is a family of ours: its settings under the keys of config.json.
#include "headlight/models/gguf_config.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "headlight/models/config_reader.h"
#include "headlight/models/gguf_rotary.h"

namespace headlight::models {
namespace {

using Object = io::Json::Object;
using Settings = GgufSettingsReader;

constexpr std::string_view kTable = "token_embd.weight";
constexpr std::string_view kOutput = "output.weight";

double short_double(double number) { return short_number(static_cast<float>(number)); }

// Ids that the tokenizer's settings name; where a turn has an end of its own, texts end there too.
void add_special_ids(const Settings& settings, Object& config) {
  const auto id_of = [&](const std::string& role) -> std::optional<int64_t> {
    const io::Json* id = settings.file().setting("tokenizer.ggml." + role + "_token_id");
    return id == nullptr ? std::nullopt : id->integer();
  };
  if (const auto id = id_of("bos")) config.emplace_back("bos_token_id", *id);
  if (const auto id = id_of("padding")) config.emplace_back("pad_token_id", *id);
  io::Json::Array ends;
  for (const char* role : {"eos", "eot", "eom"}) {
    const auto id = id_of(role);
    if (id && std::ranges::find(ends, io::Json(*id)) == ends.end()) ends.emplace_back(*id);
  }
  if (ends.size() == 1) config.emplace_back("eos_token_id", ends.front());
  if (ends.size() > 1) config.emplace_back("eos_token_id", std::move(ends));
}

void check_vocabulary(const Settings& settings, int64_t rows) {
  const auto told = settings.find_integer("vocab_size");
  if (told && *told != rows) {
    settings.refuse("vocab_size", "is " + std::to_string(*told) + ", " + std::string(kTable) +
                                      " has " + std::to_string(rows) + " rows");
  }
}

void require_causal(const Settings& settings, bool causal) {
  if (settings.find_boolean("attention.causal").value_or(causal) == causal) return;
  settings.refuse("attention.causal", causal ? "is false: attention both ways is not computed"
                                             : "is true: an encoder looks both ways");
}

// Keys that all architectures have and of which nothing follows here.
void pass_common(const Settings& settings) {
  if (settings.file().setting("tokenizer.ggml.suppress_tokens") != nullptr) {
    base::refuse("gguf", settings.path(),
                 "tokenizer.ggml.suppress_tokens forbids tokens, which is not followed here");
  }
  for (const char* key : {"expert_count", "expert_used_count"}) {
    if (settings.find_integer(key).value_or(0) > 0) {
      settings.refuse(key, "is set: mixtures of experts are not computed");
    }
  }
  settings.pass({"tensor_data_layout", "rope.scaling.finetuned"});
}

int64_t head_width(const Settings& settings, int64_t width, int64_t heads) {
  const auto key = settings.find_integer("attention.key_length");
  const auto value = settings.find_integer("attention.value_length");
  if (heads < 1) settings.refuse("attention.head_count", "is not from 1 on");
  if (!key && width % heads != 0) {
    settings.refuse("attention.head_count", "is " + std::to_string(heads) +
                                                ", which does not divide embedding_length " +
                                                std::to_string(width));
  }
  const int64_t result = key.value_or(width / heads);
  if (value && *value != result) {
    settings.refuse("attention.value_length", "is " + std::to_string(*value) + ", keys have " +
                                                  std::to_string(result) +
                                                  "; they must be the same");
  }
  return result;
}

// The same of architectures whose heads share the width evenly.
int64_t even_head_width(const Settings& settings, int64_t width, int64_t heads) {
  const int64_t result = head_width(settings, width, heads);
  if (width % heads == 0 && result == width / heads) return result;
  settings.refuse("attention.key_length",
                  "is " + std::to_string(result) + ", " + std::to_string(heads) +
                      " heads share embedding_length " + std::to_string(width) + " evenly");
}

// What Llama's kin have in common.
Object llama_like(const Settings& settings, std::string_view type) {
  const int64_t rows = settings.rows(kTable);
  check_vocabulary(settings, rows);
  require_causal(settings, true);
  pass_common(settings);
  const int64_t width = settings.integer("embedding_length");
  const int64_t heads = settings.integer("attention.head_count");
  const int64_t head_dim = head_width(settings, width, heads);
  Object config = {
      {"model_type", type},
      {"vocab_size", rows},
      {"hidden_size", width},
      {"intermediate_size", settings.integer("feed_forward_length")},
      {"num_hidden_layers", settings.integer("block_count")},
      {"num_attention_heads", heads},
      {"num_key_value_heads", settings.find_integer("attention.head_count_kv").value_or(heads)},
      {"head_dim", head_dim},
      {"max_position_embeddings", settings.integer("context_length")},
      {"rms_norm_eps", short_double(settings.number("attention.layer_norm_rms_epsilon"))},
      {"tie_word_embeddings", !settings.has(kOutput)}};
  add_rotation(settings, head_dim, config);
  add_special_ids(settings, config);
  return config;
}

// 0: there is none.
int64_t window_of(const Settings& settings) {
  const int64_t window = settings.find_integer("attention.sliding_window").value_or(0);
  if (window < 0) settings.refuse("attention.sliding_window", "is below 0");
  return window;
}

Object llama_config(const Settings& settings) {
  const int64_t window = window_of(settings);
  Object config = llama_like(settings, window > 0 ? "mistral" : "llama");
  if (window > 0) {
    config.emplace_back("sliding_window", window);
    return config;
  }
  config.emplace_back("attention_bias", settings.has("blk.0.attn_q.bias"));
  config.emplace_back("mlp_bias", settings.has("blk.0.ffn_up.bias"));
  return config;
}

Object qwen2_config(const Settings& settings) {
  settings.pass({"pooling_type"});
  return llama_like(settings, "qwen2");
}

Object qwen3_config(const Settings& settings) {
  settings.pass({"pooling_type"});
  Object config = llama_like(settings, "qwen3");
  config.emplace_back("attention_bias", settings.has("blk.0.attn_q.bias"));
  return config;
}

Object smollm3_config(const Settings& settings) {
  Object config = llama_like(settings, "smollm3");
  config.emplace_back("attention_bias", settings.has("blk.0.attn_q.bias"));
  return config;
}

// Which layers have the window, if there is one: each but every n-th, or as a list says.
io::Json::Array layer_types(const Settings& settings, int64_t window, int64_t usual,
                            bool whole_first) {
  constexpr std::string_view kKey = "attention.sliding_window_pattern";
  const int64_t layers = settings.integer("block_count");
  const io::Json* value = settings.find(kKey);
  const bool is_list = value != nullptr && value->array() != nullptr;
  const int64_t every = is_list || value == nullptr ? usual : value->integer().value_or(0);
  if (every < 1 || (is_list && std::ssize(*value->array()) != layers) || layers > kMostLayers) {
    settings.refuse(kKey,
                    "is neither a number from 1 on nor a list with true or false for each "
                    "layer");
  }
  io::Json::Array types;
  for (int64_t layer = 0; layer < layers; ++layer) {
    bool windowed = whole_first ? layer % every != 0 : (layer + 1) % every != 0;
    if (is_list) {
      const io::Json& one = (*value->array())[static_cast<size_t>(layer)];
      windowed = one.boolean().value_or(one.integer().value_or(0) != 0);
    }
    types.emplace_back(windowed && window > 0 ? "sliding_attention" : "full_attention");
  }
  return types;
}

// 27B's scores are scaled by another width, which files do not tell.
Object gemma3_config(const Settings& settings) {
  constexpr int64_t kLargestLayers = 62;
  constexpr int64_t kUsualPattern = 6;
  Object config = llama_like(settings, "gemma3_text");
  const int64_t layers = settings.integer("block_count");
  const int64_t heads = settings.integer("attention.head_count");
  const int64_t width = settings.integer("embedding_length");
  const int64_t head_dim = head_width(settings, width, heads);
  config.emplace_back("query_pre_attn_scalar", layers == kLargestLayers ? width / heads : head_dim);
  config.emplace_back("hidden_activation", "gelu_pytorch_tanh");
  if (const auto cap = settings.find_number("final_logit_softcapping"); cap && *cap != 0) {
    config.emplace_back("final_logit_softcapping", *cap);
  }
  const int64_t window = window_of(settings);
  config.emplace_back("layer_types", layer_types(settings, window, kUsualPattern, false));
  if (window > 0) config.emplace_back("sliding_window", window);
  config.emplace_back("rope_local_base_freq",
                      settings.find_number("rope.freq_base_swa").value_or(10000));
  return config;
}

Object neox_config(const Settings& settings) {
  const int64_t rows = settings.rows(kTable);
  check_vocabulary(settings, rows);
  require_causal(settings, true);
  pass_common(settings);
  const int64_t width = settings.integer("embedding_length");
  const int64_t heads = settings.integer("attention.head_count");
  const int64_t head_dim = even_head_width(settings, width, heads);
  Object config = {
      {"model_type", "gpt_neox"},
      {"vocab_size", rows},
      {"hidden_size", width},
      {"intermediate_size", settings.integer("feed_forward_length")},
      {"num_hidden_layers", settings.integer("block_count")},
      {"num_attention_heads", heads},
      {"max_position_embeddings", settings.integer("context_length")},
      {"layer_norm_eps", short_double(settings.number("attention.layer_norm_epsilon"))},
      {"use_parallel_residual", settings.find_boolean("use_parallel_residual").value_or(true)},
      {"hidden_act", "gelu"},
      {"attention_bias", settings.has("blk.0.attn_qkv.bias")},
      {"tie_word_embeddings", !settings.has(kOutput)}};
  add_partial_rotation(settings, head_dim, config);
  add_special_ids(settings, config);
  return config;
}

Object gpt2_config(const Settings& settings) {
  const int64_t rows = settings.rows(kTable);
  check_vocabulary(settings, rows);
  require_causal(settings, true);
  pass_common(settings);
  const int64_t context = settings.integer("context_length");
  Object config = {
      {"model_type", "gpt2"},
      {"vocab_size", rows},
      {"n_embd", settings.integer("embedding_length")},
      {"n_inner", settings.integer("feed_forward_length")},
      {"n_layer", settings.integer("block_count")},
      {"n_head", settings.integer("attention.head_count")},
      {"n_positions", context},
      {"layer_norm_epsilon", short_double(settings.number("attention.layer_norm_epsilon"))},
      {"activation_function", "gelu_new"},
      {"tie_word_embeddings", !settings.has(kOutput)}};
  add_special_ids(settings, config);
  return config;
}

// DistilBERT is a BERT without segments; RoBERTa's positions have been cut to begin at 0, which
// makes it one too.
Object bert_config(const Settings& settings) {
  constexpr float kDistilEpsilon = 1e-12F;
  const int64_t rows = settings.rows(kTable);
  check_vocabulary(settings, rows);
  require_causal(settings, false);
  pass_common(settings);
  settings.pass({"pooling_type"});
  const bool is_distilled = !settings.has("token_types.weight");
  const double epsilon = settings.number("attention.layer_norm_epsilon");
  if (is_distilled && static_cast<float>(epsilon) != kDistilEpsilon) {
    settings.refuse("attention.layer_norm_epsilon",
                    "is not 1e-12, which all models without segments (DistilBERT) have");
  }
  Object config = {
      {"model_type", is_distilled ? "distilbert" : "bert"},
      {"vocab_size", rows},
      {is_distilled ? "dim" : "hidden_size", settings.integer("embedding_length")},
      {is_distilled ? "hidden_dim" : "intermediate_size", settings.integer("feed_forward_length")},
      {is_distilled ? "n_layers" : "num_hidden_layers", settings.integer("block_count")},
      {is_distilled ? "n_heads" : "num_attention_heads", settings.integer("attention.head_count")},
      {"max_position_embeddings", settings.integer("context_length")},
      {is_distilled ? "activation" : "hidden_act", "gelu"}};
  if (!is_distilled) {
    config.emplace_back("layer_norm_eps", short_double(epsilon));
    config.emplace_back("type_vocab_size", settings.rows("token_types.weight"));
  }
  add_special_ids(settings, config);
  return config;
}

Object modernbert_config(const Settings& settings) {
  constexpr int64_t kUsualPattern = 3;
  const int64_t rows = settings.rows(kTable);
  check_vocabulary(settings, rows);
  require_causal(settings, false);
  pass_common(settings);
  settings.pass({"pooling_type"});
  const int64_t width = settings.integer("embedding_length");
  const int64_t heads = settings.integer("attention.head_count");
  const int64_t layers = settings.integer("block_count");
  const int64_t window = settings.integer("attention.sliding_window");
  refuse_rotary_scaling(settings);
  check_rotated_columns(settings, even_head_width(settings, width, heads));
  const std::string activation = settings.text("hidden_activation");
  Object config = {
      {"model_type", "modernbert"},
      {"vocab_size", rows},
      {"hidden_size", width},
      {"intermediate_size", settings.integer("feed_forward_length")},
      {"num_hidden_layers", layers},
      {"num_attention_heads", heads},
      {"max_position_embeddings", settings.integer("context_length")},
      {"norm_eps", short_double(settings.number("attention.layer_norm_epsilon"))},
      {"hidden_activation", activation.empty() ? "gelu" : activation},
      {"local_attention", window},
      {"layer_types", layer_types(settings, window, kUsualPattern, true)},
      {"global_rope_theta", settings.find_number("rope.freq_base").value_or(160000)},
      {"local_rope_theta", settings.find_number("rope.freq_base_swa").value_or(10000)}};
  add_special_ids(settings, config);
  return config;
}

Object t5_config(const Settings& settings) {
  const int64_t rows = settings.rows(kTable);
  check_vocabulary(settings, rows);
  pass_common(settings);
  settings.pass({"attention.layer_norm_epsilon", "attention.head_count_kv"});
  const int64_t layers = settings.integer("block_count");
  const int64_t heads = settings.integer("attention.head_count");
  const bool is_gated = settings.has("enc.blk.0.ffn_gate.weight");
  Object config = {
      {"model_type", "t5"},
      {"vocab_size", rows},
      {"d_model", settings.integer("embedding_length")},
      {"d_kv", head_width(settings, settings.integer("embedding_length"), heads)},
      {"d_ff", settings.integer("feed_forward_length")},
      {"num_layers", layers},
      {"num_decoder_layers", settings.find_integer("decoder_block_count").value_or(layers)},
      {"num_heads", heads},
      {"n_positions", settings.integer("context_length")},
      {"relative_attention_num_buckets", settings.integer("attention.relative_buckets_count")},
      {"layer_norm_epsilon", short_double(settings.number("attention.layer_norm_rms_epsilon"))},
      {"feed_forward_proj", is_gated ? "gated-gelu" : "relu"},
      {"tie_word_embeddings", !settings.has(kOutput)}};
  if (const auto id = settings.find_integer("decoder_start_token_id")) {
    config.emplace_back("decoder_start_token_id", *id);
  }
  add_special_ids(settings, config);
  return config;
}

struct GgufArchitecture {
  std::string_view name;
  Object (*config)(const Settings& settings);
};
constexpr std::array<GgufArchitecture, 10> kArchitectures = {{{"llama", llama_config},
                                                              {"qwen2", qwen2_config},
                                                              {"qwen3", qwen3_config},
                                                              {"smollm3", smollm3_config},
                                                              {"gemma3", gemma3_config},
                                                              {"gptneox", neox_config},
                                                              {"gpt2", gpt2_config},
                                                              {"bert", bert_config},
                                                              {"modern-bert", modernbert_config},
                                                              {"t5", t5_config}}};

}  // namespace

io::Json gguf_config(const GgufSettingsReader& settings) {
  const auto found =
      std::ranges::find(kArchitectures, settings.architecture(), &GgufArchitecture::name);
  if (found == kArchitectures.end()) {
    std::string known;
    for (const GgufArchitecture& one : kArchitectures) {
      known.append(known.empty() ? "" : ", ").append(one.name);
    }
    base::refuse("gguf", settings.path(),
                 "the architecture " + io::in_quotes(settings.architecture()) +
                     " is not read; read are " + known);
  }
  io::Json config = found->config(settings);
  settings.refuse_unread();
  return config;
}

}  // namespace headlight::models
