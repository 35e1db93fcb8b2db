// Configurations and tensors that do not make a model: one line each, with the file, the key and
// the numbers, before anything is computed.
#include <fcntl.h>

#include <cstring>

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
    {"model_type", R"("llama")", R"(is "llama", supported: gpt2, bert, headlight-seq2seq)"},
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
    {"activation_function", R"("silu")", R"(is "silu", supported: relu, gelu, gelu_new)"},
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
    {"activation_function", R"("gelu_fast")", "supported: relu, gelu, gelu_new"},
};

const BadValue kBadBert[] = {
    {"hidden_size", "0", "(hidden_size): is 0"},
    {"num_attention_heads", "9", "(num_attention_heads): 9 heads do not divide the width 24"},
    {"intermediate_size", R"("big")", R"(is "big")"},
    {"max_position_embeddings", "2147483648", "is 2147483648"},
    {"type_vocab_size", "3",
     "token_type_embeddings.weight is float32 [2, 24] and should be [3, 24]"},
    {"hidden_act", R"("silu")", "supported: relu, gelu, gelu_new"},
    {"position_embedding_type", R"("relative_key")", R"(only "absolute" is supported)"},
    {"is_decoder", "true", "only false is supported"},
};

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
             "there is no such folder");
  expect_has(error_of([&] { load_model(base::real_files(), folder_ / "config.json"); }),
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
    constexpr std::string_view kText = "MemTotal:       1000 kB\nMemAvailable:     64 kB\n";
    std::memcpy(into.data(), kText.data(), kText.size());
    return static_cast<int64_t>(kText.size());
  }
  int memory_ = -1;
};

TEST_F(BadModel, more_memory_than_there_is_is_said_before_it_is_taken) {
  write<Gpt>(small_gpt());
  FullMemory files;
  try {
    load_model(files, folder_.path());
    FAIL() << "loaded";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::out_of_memory);
    expect_has(error.what(), "needs 0.1 MiB, 0.0 MiB free");
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
