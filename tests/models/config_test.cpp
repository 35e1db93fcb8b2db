// Configurations and tensors that do not make a model: one line each, with the file, the key and
// the numbers, before anything is computed.
#include <fcntl.h>

#include <cstring>
#include <initializer_list>
#include <span>

#include "tests/models/support.h"

namespace headlight::models {
namespace {

struct BadValue {
  const char* key;
  const char* value;  // JSON; null pointer: the key is left out
  const char* part;   // of the message
};

const BadValue kBadGpt[] = {
    {"model_type", nullptr, "is missing, supported: gpt2, bert, headlight-seq2seq"},
    {"model_type", R"("falcon")", R"(is "falcon", supported: gpt2, bert, headlight-seq2seq)"},
    {"model_type", "5", "is 5, supported"},
    {"model_type", "null", "is missing, supported"},
    {"vocab_size", nullptr, "(vocab_size): is missing, a whole number from 1 to 10000000"},
    {"vocab_size", "null", "(vocab_size): is null"},
    {"vocab_size", R"("17")", R"((vocab_size): is "17", a whole number is needed)"},
    {"vocab_size", "0", "(vocab_size): is 0, it must be from 1 to 10000000"},
    {"vocab_size", "-1", "(vocab_size): is -1"},
    {"vocab_size", "2147483648", "(vocab_size): is 2147483648, it must be from 1"},
    {"vocab_size", "1e308", "(vocab_size): is 1e+308, a whole number is needed"},
    {"vocab_size", "NaN", "config.json"},
    {"vocab_size", "16.5", "is 16.5, a whole number is needed"},
    {"vocab_size", "true", "is true, a whole number is needed"},
    {"vocab_size", "[17]", "is a list, a whole number is needed"},
    {"vocab_size", "99999999999999999999", "a whole number is needed"},
    {"vocab_size", "18", "transformer.wte.weight is float32 [17, 24] and should be [18, 24]"},
    {"n_positions", "0", "(n_positions): is 0"},
    {"n_positions", "13", "transformer.wpe.weight is float32 [12, 24] and should be [13, 24]"},
    {"n_layer", "1001", "(n_layer): is 1001, it must be from 1 to 1000"},
    {"n_layer", "3", "12 missing: transformer.h.2.ln_1.weight, transformer.h.2.ln_1.bias"},
    {"n_layer", "1", "12 unexpected: transformer.h.1.attn.c_attn.bias"},
    {"n_head", "5", "(n_head): 5 heads do not divide the width 24"},
    {"n_head", "-4", "(n_head): is -4"},
    {"n_embd", "{}", "is an object"},
    {"n_inner", "95", "of the wrong shape or type: transformer.h.0.mlp.c_fc.weight"},
    {"activation_function", R"("tanh")", R"(is "tanh", supported: relu, gelu, gelu_new)"},
    {"activation_function", "1", "is 1, supported: relu, gelu, gelu_new"},
    {"layer_norm_epsilon", "0", "(layer_norm_epsilon): is 0, it must be above 0 and below 1"},
    {"layer_norm_epsilon", "-1e-5", "it must be above 0 and below 1"},
    {"layer_norm_epsilon", "1e308", "is 1e+308, it must be above 0"},
    {"layer_norm_epsilon", R"("small")", R"(is "small", a number is needed)"},
    {"resid_pdrop", "1", "(resid_pdrop): is 1, it must be at least 0 and below 1"},
    {"resid_pdrop", "-0.1", "it must be at least 0"},
    {"tie_word_embeddings", "1", "(tie_word_embeddings): is 1, true or false is needed"},
    {"tie_word_embeddings", "false", "1 missing: lm_head.weight"},
    {"headlight_bias", "false", "unexpected: transformer.h.0.attn.c_attn.bias"},
    {"eos_token_id", "2.5", "(eos_token_id): is 2.5, a whole number is needed"},
    {"scale_attn_weights", "false", "is false, only true is supported"},
    {"add_cross_attention", "true", "is true, only false is supported"},
};

const BadValue kBadSeq2Seq[] = {
    {"d_model", nullptr, "(d_model): is missing"},
    {"d_model", "26", "(encoder_attention_heads): 4 heads do not divide the width 26"},
    {"encoder_layers", "0", "(encoder_layers): is 0"},
    {"decoder_layers", "1.5", "(decoder_layers): is 1.5"},
    {"decoder_attention_heads", "7",
     "(decoder_attention_heads): 7 heads do not divide the width 24"},
    {"head_dim", "-1", "(head_dim): is -1"},
    {"head_dim", "900000", "(head_dim): is 900000, 4 heads of that width are more than 1000000"},
    {"head_dim", "5", "should be [20, 24]"},
    {"encoder_ffn_dim", "null", "(encoder_ffn_dim): is null"},
    {"decoder_ffn_dim", "-48", "(decoder_ffn_dim): is -48"},
    {"max_position_embeddings", "0", "(max_position_embeddings): is 0"},
    {"decoder_vocab_size", "18", "vocabularies of 17 and 18 ids cannot share one table"},
    {"positions", R"("rotary")", R"(is "rotary", supported: sinusoidal, learned)"},
    {"positions", R"("learned")", "2 missing: encoder.embed_positions.weight"},
    {"position_order", R"("zigzag")", "supported: interleaved, halves"},
    {"position_divisor", "2", "is 2, supported: half, half_minus_one"},
    {"position_start", "-1", "(position_start): is -1"},
    {"normalize_before", "null_", "config.json"},
    {"final_layer_norm", "true", "4 missing: encoder.layer_norm.weight"},
    {"tie_word_embeddings", "false", "1 missing: lm_head.weight"},
    {"layer_norm_eps", "true", "(layer_norm_eps): is true, a number is needed"},
    {"dropout", "1.5", "(dropout): is 1.5"},
    {"pad_token_id", "17", "(pad_token_id): is 17, the vocabulary has ids 0 to 16"},
    {"eos_token_id", "-1", "(eos_token_id): is -1"},
    {"decoder_start_token_id", R"("<s>")", "a whole number is needed"},
    {"activation_function", R"("quick_gelu")", "supported: relu, gelu, gelu_new"},
};

const BadValue kBadBert[] = {
    {"hidden_size", "0", "(hidden_size): is 0"},
    {"num_attention_heads", "9", "(num_attention_heads): 9 heads do not divide the width 24"},
    {"intermediate_size", R"("big")", R"(is "big")"},
    {"max_position_embeddings", "2147483648", "is 2147483648"},
    {"type_vocab_size", "3",
     "token_type_embeddings.weight is float32 [2, 24] and should be [3, 24]"},
    {"hidden_act", R"("tanh")", "supported: relu, gelu, gelu_new"},
    {"position_embedding_type", R"("relative_key")", R"(only "absolute" is supported)"},
    {"is_decoder", "true", "only false is supported"},
};

const BadValue kBadLlama[] = {
    {"hidden_size", nullptr, "(hidden_size): is missing"},
    {"num_key_value_heads", "3", "4 heads cannot share 3 key/value heads evenly"},
    {"head_dim", "5", "(head_dim): is 5, rotation needs an even width"},
    {"head_dim", "900000", "4 heads of that width are more than 1000000"},
    {"head_dim", "8", "model.layers.0.self_attn.q_proj.weight is float32 [24, 24]"},
    {"hidden_act", R"("tanh")", "supported: relu, gelu, gelu_new, silu"},
    {"rms_norm_eps", "0", "it must be above 0 and below 1"},
    {"rope_theta", "0", "(rope_theta): is 0, it must be above 1e-30 and below 1e30"},
    {"rope_theta", R"("big")", R"(is "big", a number is needed)"},
    {"rope_scaling", "4", "(rope_scaling): is 4, an object is needed"},
    {"rope_scaling", R"({"rope_type":"yarn","factor":2})",
     R"((rope_scaling.rope_type): is "yarn", supported: default, linear, llama3)"},
    {"rope_scaling", R"({"type":"linear"})", "(rope_scaling.factor): is missing"},
    {"rope_scaling", R"({"type":"linear","rope_type":"llama3"})", "another name of it"},
    {"rope_scaling", R"({"type":"linear","factor":-2})", "(rope_scaling.factor): is -2"},
    {"rope_scaling", R"({"type":"linear","factor":2,"mscale":1})",
     "(rope_scaling.mscale): is not computed for this kind of scaling"},
    {"rope_scaling",
     R"({"rope_type":"llama3","factor":2,"low_freq_factor":4,"high_freq_factor":1})",
     "must be more than low_freq_factor"},
    {"rope_parameters", R"({"rope_type":"default","rope_theta":7})",
     "(rope_parameters.rope_theta): has another value than the rope_theta beside it"},
    {"rope_parameters", R"({"full_attention":{"rope_theta":7}})", "full_attention"},
    {"partial_rotary_factor", "0.5", "is not 1"},
    {"attention_bias", "1", "true or false is needed"},
    {"attention_bias", "true", "8 missing: model.layers.0.self_attn.q_proj.bias"},
    {"sliding_window", "8",
     "(sliding_window): is 8: models of type llama are computed without it; remove it"},
    {"attn_logit_softcapping", "30", "are computed without it"},
    {"num_local_experts", "8", "are computed without it"},
    {"layer_types", R"(["sliding_attention"])", "(layer_types): is a list"},
    {"tie_word_embeddings", "false", "1 missing: lm_head.weight"},
    {"quantization_config", R"({"bits":4})", "quantized weights are not read"},
};

const BadValue kBadQwen[] = {
    {"layer_types", R"(["full_attention"])", "is 1 long, a list of 2 is needed"},
    {"layer_types", R"(["full_attention","linear_attention"])",
     R"(has "linear_attention", supported: full_attention, sliding_attention)"},
    {"use_sliding_window", "false", "has sliding_attention, and there is no sliding_window"},
    {"sliding_window", "0", "(sliding_window): is 0"},
};

const BadValue kBadGemma[] = {
    {"final_logit_softcapping", "30.0", "(final_logit_softcapping): is 30.0: models of type"},
    {"use_bidirectional_attention", "true", "(use_bidirectional_attention): is true"},
    {"query_pre_attn_scalar", "0", "(query_pre_attn_scalar): is 0"},
    {"rope_parameters", R"({"full_attention":{"rope_theta":7}})",
     "has another value than the rope_theta beside it"},
};

LlamaConfig small_llama() {
  return {.vocab_size = 17,
          .hidden_size = 24,
          .intermediate_size = 20,
          .num_hidden_layers = 2,
          .num_attention_heads = 4,
          .num_key_value_heads = 2,
          .max_position_embeddings = 12,
          .tied_head = true};
}

class BadModel : public ModelTest {
 protected:
  // A folder that is right.
  template <class Architecture, class Config>
  void write(const Config& config) {
    Architecture model(config);
    fill(model, 1);
    save_model(base::real_files(), folder_.path(), model);
    config_ = *model.config().object();
  }

  std::string error() {
    return error_of([this] { load_model(base::real_files(), folder_.path()); });
  }

  template <size_t kCount>
  void expect_refused(const BadValue (&cases)[kCount]) {
    expect_all_refused(cases);
  }
  void expect_refused(std::initializer_list<BadValue> cases) {
    expect_all_refused({cases.begin(), cases.size()});
  }

  void expect_all_refused(std::span<const BadValue> cases) {
    for (const BadValue& bad : cases) {
      SCOPED_TRACE(std::string(bad.key) + ": " + (bad.value == nullptr ? "left out" : bad.value));
      std::string text;
      for (const auto& [key, value] : config_) {
        if (key != bad.key) text += io::json_text(key) + ":" + io::json_text(value) + ",";
      }
      if (bad.value != nullptr) text += io::json_text(bad.key) + ":" + bad.value + ",";
      text.back() = '}';
      folder_.put("config.json", "{" + text);
      const std::string message = error();
      expect_has(message, bad.part);
      EXPECT_EQ(message.find('\n'), std::string::npos);
    }
  }

  TemporaryFolder folder_;
  io::Json::Object config_;
};

TEST_F(BadModel, gpt_configurations_are_refused_with_file_key_and_numbers) {
  write<Gpt>(small_gpt());
  expect_refused(kBadGpt);
}

TEST_F(BadModel, encoder_decoder_configurations_are_refused) {
  write<Seq2Seq>(small_seq2seq());
  expect_refused(kBadSeq2Seq);
  folder_.put("config.json", R"({"model_type":"headlight-seq2seq","vocab_size":17,"d_model":3,)"
                             R"("encoder_layers":1,"decoder_layers":1,"encoder_ffn_dim":4,)"
                             R"("decoder_ffn_dim":4,"encoder_attention_heads":1,)"
                             R"("decoder_attention_heads":1,"max_position_embeddings":8})");
  expect_has(error(), "(d_model): is 3, sinusoidal positions need an even width");
}

TEST_F(BadModel, bert_configurations_are_refused) {
  write<Bert>(small_bert());
  expect_refused(kBadBert);
  expect_refused({{"rope_theta", "7", "models of type bert are computed without it"},
                  {"alibi", "true", "models of type bert are computed without it"}});
}

TEST_F(BadModel, configurations_of_llama_and_its_kin_are_refused) {
  LlamaConfig config = small_llama();
  write<DecoderModel>(design_of(kLlama, config));
  expect_refused(kBadLlama);
  config.window = 4;
  config.windowed = {true, false};
  write<DecoderModel>(design_of(kQwen2, config));
  expect_refused(kBadQwen);
  config.score_scalar = 6;
  write<DecoderModel>(design_of(kGemma3, config));
  expect_refused(kBadGemma);
}

TEST_F(BadModel, configurations_of_older_decoders_are_refused) {
  write<DecoderModel>(design_of(GptNeoXConfig{.vocab_size = 17,
                                              .hidden_size = 24,
                                              .num_hidden_layers = 2,
                                              .num_attention_heads = 3,
                                              .intermediate_size = 20,
                                              .max_position_embeddings = 12,
                                              .rotary = {.width = 2}}));
  expect_refused({{"rotary_pct", "0.4", "gives 3 columns of a head's 8 to rotate"},
                  {"rotary_pct", "1.5", "(rotary_pct): is more than 1"},
                  {"rope_theta", "7", "and rope_theta, another name of it, is 7"},
                  {"partial_rotary_factor", "0.5", "another name of it, is 0.5"},
                  {"head_dim", "4", "is 4, only 8 is supported"},
                  {"is_causal", "false", "only true is supported"},
                  {"use_parallel_residual", "1", "true or false is needed"}});
  write<DecoderModel>(design_of(GptNeoConfig{.vocab_size = 17,
                                             .hidden_size = 24,
                                             .num_layers = 2,
                                             .num_heads = 3,
                                             .max_position_embeddings = 12}));
  expect_refused({{"attention_types", "7", "lists of kinds with how often they come"},
                  {"attention_types", R"([[["global"], 3]])", "lists of kinds"},
                  {"attention_types", R"([[["global"], 900000000000]])", "lists of kinds"},
                  {"attention_types", R"([[["near"], 2]])", R"(layers are "global" or "local")"},
                  {"attention_layers", R"(["local","local"])", "something else than"},
                  {"num_hidden_layers", "3", "another name of it"}});
  write<DecoderModel>(design_of(OptConfig{.vocab_size = 17,
                                          .hidden_size = 24,
                                          .num_hidden_layers = 2,
                                          .num_attention_heads = 3,
                                          .ffn_dim = 20,
                                          .max_position_embeddings = 12}));
  expect_refused({{"layer_norm_elementwise_affine", "false", "only true is supported"},
                  {"word_embed_proj_dim", "6", "2 missing: model.decoder.project_in.weight"},
                  {"layerdrop", "0.1", "models of type opt are computed without it"},
                  {"enable_bias", "false", "unexpected: model.decoder.layers.0.fc1.bias"}});
}

TEST_F(BadModel, configurations_of_encoders_and_translators_are_refused) {
  BertKinConfig small{.vocab_size = 17,
                      .hidden_size = 24,
                      .num_hidden_layers = 2,
                      .num_attention_heads = 3,
                      .intermediate_size = 20,
                      .max_position_embeddings = 12};
  write<EncoderModel>(roberta_design(small));
  expect_refused({{"max_position_embeddings", "2", "positions begin at pad_token_id + 1"},
                  {"position_embedding_type", R"("relative_key")", "is supported"},
                  {"embedding_size", "6", "models of type roberta are computed without it"}});
  write<EncoderModel>(distilbert_design(small));
  expect_refused({{"hidden_size", "48", "another name of it"},
                  {"is_causal", "true", "only false is supported"}});
  small.embedding_size = 6;
  write<EncoderModel>(albert_design(small));
  expect_refused({{"num_hidden_groups", "3", "2 layers cannot be in so many"},
                  {"inner_group_num", "1000", "makes more than 1000 layers"},
                  {"headlight_heads", R"({"encoder.0.self":[1]})", "layers share their weights"}});
  write<EncoderModel>(design_of(ModernBertConfig{.vocab_size = 17,
                                                 .hidden_size = 24,
                                                 .intermediate_size = 20,
                                                 .num_hidden_layers = 2,
                                                 .num_attention_heads = 3,
                                                 .max_position_embeddings = 12}));
  expect_refused({{"rope_scaling", R"({"type":"linear","factor":2})", "it belongs into"},
                  {"num_attention_heads", "8", "heads are 3 wide, rotation needs an even width"},
                  {"layer_types", R"(["full_attention","near"])", R"(has "near", supported)"}});
  write<EncoderDecoderModel>(design_of(MarianConfig{.vocab_size = 17,
                                                    .d_model = 24,
                                                    .encoder_layers = 1,
                                                    .decoder_layers = 1,
                                                    .encoder_attention_heads = 3,
                                                    .decoder_attention_heads = 3,
                                                    .encoder_ffn_dim = 20,
                                                    .decoder_ffn_dim = 20,
                                                    .max_position_embeddings = 12}));
  expect_refused({{"normalize_before", "true", "only false is supported"},
                  {"decoder_vocab_size", "18", "a table that both sides share has vocab_size 17"},
                  {"add_bias_logits", "true", "only false is supported"},
                  {"encoder_layerdrop", "0.1", "models of type marian are computed without it"},
                  {"num_attention_heads", "2", "another name of it"},
                  {"is_causal", "false", "only null is supported"}});
  write<EncoderDecoderModel>(design_of(T5Config{
      .vocab_size = 17, .d_model = 24, .d_kv = 5, .d_ff = 20, .num_layers = 1, .num_heads = 2}));
  expect_refused(
      {{"feed_forward_proj", R"("gated-tanh")", "supported: relu, gated-gelu"},
       {"dense_act_fn", R"("silu")", "another activation than that of feed_forward_proj"},
       {"is_gated_act", "true", "only false is supported"},
       {"relative_attention_num_buckets", "3", "at least 4 are needed"},
       {"relative_attention_max_distance", "16", "must be more than half of them"},
       {"d_kv", "900000", "2 heads of that width are more than 1000000"}});
}

TEST_F(BadModel, configuration_files_that_are_none_are_refused) {
  write<Gpt>(small_gpt());
  const std::pair<std::string, const char*> files[] = {
      {"", "config.json"},
      {"[]", "is a list, an object is needed"},
      {"17", "is 17, an object is needed"},
      {R"({"model_type":"gpt2")", "config.json"},
      {R"({"model_type":"gpt2","model_type":"bert"})", "model_type"},
      {R"({"a":)" + std::string(100, '[') + std::string(100, ']') + "}", "64"},
      {R"({"model_type":")" + std::string(10'000'001, 'x') + R"("})", "10000000"},
      {std::string("\xff\xfe{}"), "config.json"},
  };
  for (const auto& [text, part] : files) {
    folder_.put("config.json", text);
    expect_has(error(), part);
  }
  std::filesystem::remove(folder_ / "config.json");
  expect_has(error(), "config.json");
}

TEST_F(BadModel, folders_without_weights_or_without_themselves_are_refused) {
  write<Gpt>(small_gpt());
  std::filesystem::remove(folder_ / "model.safetensors");
  expect_has(error(), "model.safetensors");
  expect_has(error_of([&] { load_model(base::real_files(), folder_ / "none"); }),
             "there is no such file or folder");
  folder_.put("notes.txt", "x");
  expect_has(error_of([&] { load_model(base::real_files(), folder_ / "notes.txt"); }),
             "is not a folder");
}

TEST_F(BadModel, tensors_that_do_not_fit_are_listed_up_to_five_with_a_count) {
  write<Gpt>(small_gpt());
  const std::string path = folder_ / "model.safetensors";
  nn::StateDict state = read_tensors(path);
  std::vector<io::NamedTensor> renamed;
  for (const auto& [name, tensor] : state) renamed.push_back({"x." + name, tensor});
  io::write_safetensors(base::real_files(), path, renamed);
  const std::string message = error();
  expect_has(message, "load (" + path +
                          "): 28 missing: wte.weight, wpe.weight, h.0.ln_1.weight, "
                          "h.0.ln_1.bias, h.0.attn.c_attn.weight, ...");
  expect_has(message, "28 unexpected: x.transformer.h.0.attn.c_attn.bias");

  state["transformer.wte.weight"] = Tensor::zeros(DType::i64, {17, 24});
  std::vector<io::NamedTensor> tensors;
  for (const auto& [name, tensor] : state) tensors.push_back({name, tensor});
  io::write_safetensors(base::real_files(), path, tensors);
  expect_has(error(), "1 of the wrong shape or type: transformer.wte.weight is int64 [17, 24]");
}

// A machine whose memory is nearly all taken.
struct FullMemory : base::FileSystem {
  int open(const std::string& path, int flags, unsigned permissions) override {
    const int file = FileSystem::open(path, flags, permissions);
    if (path == "/proc/meminfo") memory_ = file;
    return file;
  }
  int64_t read(int file, uint64_t offset, std::span<std::byte> into) override {
    if (file != memory_) return FileSystem::read(file, offset, into);
    memory_ = -1;
    constexpr std::string_view kText = "MemTotal:       1000 kB\nMemAvailable:      8 kB\n";
    std::memcpy(into.data(), kText.data(), kText.size());
    return static_cast<int64_t>(kText.size());
  }
  int memory_ = -1;
};

TEST_F(BadModel, more_memory_than_there_is_is_said_before_it_is_taken) {
  GptConfig config = small_gpt();
  config.vocab_size = 5000;
  write<Gpt>(config);
  FullMemory files;
  try {
    load_model(files, folder_.path());
    FAIL() << "loaded";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::out_of_memory);
    expect_has(error.what(), "needs 0.5 MiB, 0.0 MiB free");
  }
}

TEST_F(BadModel, a_configuration_beyond_any_machine_is_refused_at_once) {
  write<Gpt>(small_gpt());
  const std::string long_sequences =
      R"({"model_type":"headlight-seq2seq","vocab_size":17,"d_model":10000,"encoder_layers":1,)"
      R"("decoder_layers":1,"encoder_ffn_dim":1,"decoder_ffn_dim":1,"encoder_attention_heads":1,)"
      R"("decoder_attention_heads":1,"max_position_embeddings":10000000})";
  const std::string large =
      R"({"model_type":"gpt2","vocab_size":10000000,"n_positions":10000000,"n_layer":1000,)"
      R"("n_head":1000,"n_embd":1000000})";
  for (const std::string& config : {large, long_sequences}) {
    folder_.put("config.json", config);
    try {
      load_model(base::real_files(), folder_.path());
      FAIL() << "loaded";
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::out_of_memory);
      expect_has(error.what(), "GiB free");
    }
  }
}

}  // namespace
}  // namespace headlight::models
