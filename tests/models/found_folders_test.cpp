// Folders as people have them: what is told of those that are no model, settings beside the
// configuration, and that nothing large is read before names and sizes are right.
#include <bit>
#include <cerrno>
#include <filesystem>

#include "tests/models/support.h"

namespace headlight::models {
namespace {

class FoundFolder : public ModelTest {
 protected:
  FoundFolder() : model_(small_gpt()) {
    fill(model_, 1);
    save_model(base::real_files(), folder_.path(), model_);
  }
  std::string error() {
    return error_of([this] { load_model(base::real_files(), folder_.path()); });
  }
  void remove(const char* name) { std::filesystem::remove(folder_ / name); }
  // The configuration with another member, or another value of it.
  void set(const char* key, const std::string& value) {
    io::Json config = model_.config();
    std::erase_if(*config.object(), [&](const auto& member) { return member.first == key; });
    config.object()->emplace_back(key, io::parse_json(value, "test"));
    folder_.put("config.json", io::json_text(config));
  }

  TemporaryFolder folder_;
  Gpt model_;
};

TEST_F(FoundFolder, without_a_configuration_is_told_to_be_no_model) {
  remove("config.json");
  expect_has(error(), "is no model folder: it has no config.json; a model is a folder with");
  remove("model.safetensors");
  expect_has(error(), "it has no config.json, it is empty");
  folder_.put("llama.Q4_K_M.gguf", "GGUF");
  expect_has(error(), "its weights are in llama.Q4_K_M.gguf; name that file, ");
  folder_.put("adapter_config.json", R"({"base_model_name_or_path":"org/base"})");
  expect_has(error(), R"(holds an adapter of "org/base", not a whole model; merge it)");
}

TEST_F(FoundFolder, above_a_model_names_the_one_below) {
  std::filesystem::create_directories(folder_ / "snapshots/abc");
  std::filesystem::rename(folder_ / "config.json", folder_ / "snapshots/abc/config.json");
  expect_has(error(), "it has no config.json; " + folder_ / "snapshots/abc" + " has one");
}

TEST_F(FoundFolder, with_weights_of_another_format_is_told_the_way_out) {
  remove("model.safetensors");
  expect_has(error(), "has a config.json and no weights: model.safetensors is missing");
  const std::pair<const char*, const char*> cases[] = {
      {"tf_model.h5", "from_tf=True"},
      {"flax_model.msgpack", "from_flax=True"},
      {"model.onnx", "ONNX"},
      {"consolidated.00.pth", "Meta's own format"},
      {"model-Q8.gguf", "its weights are in model-Q8.gguf; name that file, "},
      {"weights.pt", "its weights are in weights.pt; name that file, "},
      {"epoch3.ckpt", "if PyTorch wrote it, call it pytorch_model.bin"},
      {"model.fp16.safetensors", "its weights are in model.fp16.safetensors; call them"},
  };
  for (const auto& [name, part] : cases) {
    folder_.put(name, "x");
    const std::string message = error();
    expect_has(message, part);
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_TRUE(message.starts_with("model (" + folder_.path() + "): ")) << message;
    remove(name);
  }
  folder_.put("training_args.bin", "x");
  expect_has(error(), "no weights: model.safetensors is missing");
  folder_.put("notes.txt", "x");
  expect_has(error_of([&] { load_model(base::real_files(), folder_ / "notes.txt"); }),
             "is not a folder; a model is a folder with a config.json and its weights in "
             "model.safetensors or pytorch_model.bin, a .gguf file, or a .bin or .pt file");
  for (const char* part : {"config.json", "tokenizer.json", "part.safetensors"}) {
    if (part != std::string("config.json")) folder_.put(part, "x");
    expect_has(error_of([&] { load_model(base::real_files(), folder_ / part); }),
               "is one file of a model; name its folder, " + folder_.path());
  }
  folder_.put("model.gguf", "x");
  expect_has(error_of([&] { load_model(base::real_files(), folder_ / "model.gguf"); }),
             "1 bytes, the header needs 24");
}

TEST_F(FoundFolder, with_an_adapter_beside_the_model_is_refused) {
  folder_.put("adapter_config.json", R"({"peft_type":"LORA"})");
  expect_has(error(), "holds an adapter beside the model, which is not applied");
}

TEST_F(FoundFolder, with_two_spellings_of_a_setting_takes_either_and_refuses_both) {
  set("num_attention_heads", "4");
  load_model(base::real_files(), folder_.path());
  set("num_attention_heads", "2");
  expect_has(error(), "(n_head): is 4, and num_attention_heads, another name of it, is 2");
  io::Json config = model_.config();
  for (auto& [key, value] : *config.object()) {
    if (key == "n_head") key = "num_attention_heads";
    if (key == "n_embd") key = "hidden_size";
    if (key == "n_layer") key = "num_hidden_layers";
    if (key == "n_positions") key = "max_position_embeddings";
  }
  folder_.put("config.json", io::json_text(config));
  EXPECT_EQ(load_model(base::real_files(), folder_.path())->config(), model_.config());
}

TEST_F(FoundFolder, with_settings_that_change_numbers_is_refused_by_name) {
  const std::pair<const char*, const char*> cases[] = {
      {"quantization_config", R"({"load_in_8bit":true})"},
      {"pruned_heads", R"({"0":[1]})"},
      {"is_encoder_decoder", "true"},
      {"scale_attn_by_inverse_layer_idx", "true"},
      {"scale_attn_weights", "false"},
      {"add_cross_attention", "true"},
      {"layer_norm_eps", "0.5"},
      {"hidden_act", R"("relu")"},
  };
  for (const auto& [key, value] : cases) {
    set(key, value);
    expect_has(error(), key);
  }
  // What changes nothing.
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, const char*>>{{"quantization_config", "null"},
                                                        {"pruned_heads", "{}"},
                                                        {"reorder_and_upcast_attn", "true"},
                                                        {"is_encoder_decoder", "false"},
                                                        {"use_cache", "false"},
                                                        {"torch_dtype", R"("float16")"}}) {
    set(key, value);
    EXPECT_EQ(error(), "") << key;
  }
}

TEST_F(FoundFolder, with_code_of_its_own_is_told_that_it_is_not_run) {
  set("auto_map", R"({"AutoModel":"modeling.Other"})");
  std::vector<std::string> notes;
  load_model(base::real_files(), folder_.path(), known_architectures(), &notes);
  ASSERT_EQ(notes.size(), 1);
  expect_has(notes[0], "names code of its own (auto_map), which is not run");
}

TEST_F(FoundFolder, with_several_ends_has_them_all) {
  set("eos_token_id", "[3, 5, 99]");
  EXPECT_EQ(load_model(base::real_files(), folder_.path())->special_ids().end, 3);
  EXPECT_EQ(load_model(base::real_files(), folder_.path())->special_ids().other_ends,
            (std::vector<int64_t>{5}));
  // Those of the settings for generating weigh more.
  folder_.put("generation_config.json", R"({"eos_token_id":[7,8],"pad_token_id":2})");
  const auto model = load_model(base::real_files(), folder_.path());
  EXPECT_EQ(model->special_ids().end, 7);
  EXPECT_EQ(model->special_ids().padding, 2);
  save_model(base::real_files(), folder_.path(), *model);
  remove("generation_config.json");
  EXPECT_EQ(load_model(base::real_files(), folder_.path())->special_ids().other_ends,
            (std::vector<int64_t>{8}));
}

TEST_F(FoundFolder, with_settings_for_generating_that_nothing_follows_says_so) {
  const auto check = [&] {
    return error_of([&] { check_generation_settings(base::real_files(), folder_.path()); });
  };
  EXPECT_EQ(check(), "");
  folder_.put("generation_config.json",
              R"({"do_sample":true,"temperature":0.7,"eos_token_id":2,"no_repeat_ngram_size":0,)"
              R"("suppress_tokens":[1],"bad_words_ids":[[4],[5]],"forced_eos_token_id":2,)"
              R"("num_beams":4,"renormalize_logits":true})");  // as OPUS-MT's has it
  EXPECT_EQ(check(), "");
  for (const char* setting :
       {R"({"suppress_tokens":7})", R"({"bad_words_ids":[[1],[2,3]]})",
        R"({"forced_bos_token_id":0})", R"({"eos_token_id":2,"forced_eos_token_id":3})",
        R"({"forced_eos_token_id":3})", R"({"no_repeat_ngram_size":3})", R"({"min_length":5})",
        R"({"stop_strings":["a"]})", R"({"guidance_scale":1.5})", R"({"repetition_penalty":1.1})",
        R"({"encoder_repetition_penalty":1.2})"}) {
    folder_.put("generation_config.json", setting);
    expect_has(check(), "which is not followed here");
  }
  folder_.put("generation_config.json",
              R"({"repetition_penalty":1.5,"guidance_scale":1.0,"stop_strings":[]})");
  EXPECT_EQ(read_generation_settings(base::real_files(), folder_.path()).repetition_penalty, 1.5F);
  // Without that file config.json counts.
  remove("generation_config.json");
  set("no_repeat_ngram_size", "3");
  expect_has(check(), "config.json (no_repeat_ngram_size): is 3: which is not followed here");
}

TEST_F(FoundFolder, with_banned_ids_has_them) {
  const auto banned = [&] {
    return load_model(base::real_files(), folder_.path())->special_ids().banned;
  };
  io::Json config = model_.config();
  std::erase_if(*config.object(), [](const auto& one) { return one.first == "eos_token_id"; });
  for (const auto& [key, value] : {std::pair{"bad_words_ids", "[[4], [3], [5, 6], [99]]"},
                                   {"eos_token_id", "3"},
                                   {"suppress_tokens", "[7, 4]"}}) {
    config.object()->emplace_back(key, io::parse_json(value, "test"));
  }
  folder_.put("config.json", io::json_text(config));
  EXPECT_EQ(banned(), (std::vector<int64_t>{4, 7}));
  // They are written with the model, and those of the settings for generating count instead.
  save_model(base::real_files(), folder_.path(), *load_model(base::real_files(), folder_.path()));
  EXPECT_EQ(banned(), (std::vector<int64_t>{4, 7}));
  folder_.put("generation_config.json", R"({"bad_words_ids":[[5]]})");
  EXPECT_EQ(banned(), std::vector<int64_t>{5});
}

TEST_F(ModelTest, stored_positions_of_marian_must_be_sinusoids) {
  const MarianConfig config{.vocab_size = 17,
                            .d_model = 8,
                            .encoder_layers = 1,
                            .decoder_layers = 1,
                            .encoder_attention_heads = 2,
                            .decoder_attention_heads = 2,
                            .encoder_ffn_dim = 4,
                            .decoder_ffn_dim = 4,
                            .max_position_embeddings = 6};
  EncoderDecoderModel model(design_of(config));
  fill(model, 1);
  const TemporaryFolder folder;
  save_model(base::real_files(), folder.path(), model);
  const auto error_with = [&](const Tensor& positions) {
    std::vector<io::NamedTensor> tensors = {{"model.decoder.embed_positions.weight", positions}};
    for (const auto& [name, tensor] : model.state()) tensors.push_back({name, tensor});
    io::write_safetensors(base::real_files(), folder / "model.safetensors", tensors, {});
    return error_of([&] { load_model(base::real_files(), folder.path()); });
  };
  Tensor positions = Tensor::zeros(DType::f32, {6, 8});
  kernels::sinusoids({.halves = true}, positions.mutable_matrix());
  EXPECT_EQ(error_with(positions), "");
  Tensor rounded = Tensor::uninitialized(DType::bf16, {6, 8});
  for (int i = 0; i < 48; ++i) {
    rounded.mutable_data<uint16_t>()[i] =
        static_cast<uint16_t>(std::bit_cast<uint32_t>(positions.data<float>()[i]) >> 16);
  }
  EXPECT_EQ(error_with(rounded), "");
  positions.mutable_data<float>()[20] += 0.02F;
  expect_has(error_with(positions), "embed_positions.weight holds other numbers than sinusoids");
  expect_has(error_with(Tensor::zeros(DType::f32, {7, 8})), "is [7, 8], positions are [6, 8]");
}

// Counts the bytes that are read of weights.
struct CountingFiles : base::FileSystem {
  int open(const std::string& path, int flags, unsigned permissions) override {
    const int file = FileSystem::open(path, flags, permissions);
    if (path.ends_with(".safetensors")) weights_ = file;
    return file;
  }
  int64_t read(int file, uint64_t offset, std::span<std::byte> into) override {
    const int64_t count = FileSystem::read(file, offset, into);
    if (file == weights_ && count > 0) bytes += count;
    return count;
  }
  int weights_ = -1;
  int64_t bytes = 0;
};

// A machine with so much memory left.
struct LittleMemory : base::FileSystem {
  explicit LittleMemory(std::string path) : meminfo(std::move(path)) {}
  int open(const std::string& path, int flags, unsigned permissions) override {
    if (path.starts_with("/sys/fs/cgroup")) return -ENOENT;
    return FileSystem::open(path == "/proc/meminfo" ? meminfo : path, flags, permissions);
  }
  std::string meminfo;
};

TEST_F(FoundFolder, needs_room_for_the_weights_once_a_tied_table_too) {
  Gpt wide({.block_size = 8, .vocab_size = 30'000, .n_layer = 1, .n_head = 2, .n_embd = 16});
  fill(wide, 2);
  save_model(base::real_files(), folder_.path(), wide);
  int64_t kib = 0;
  for (const nn::ParameterHandle& parameter : wide.parameters()) {
    kib += parameter->shape().elements() * 4;
  }
  kib /= 1024;
  const auto loaded_with = [&](int64_t free) {
    LittleMemory files(folder_.put("meminfo", "MemAvailable: " + std::to_string(free) + " kB\n"));
    try {
      load_model(files, folder_.path());
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::out_of_memory);
      return false;
    }
    return true;
  };
  EXPECT_TRUE(loaded_with(kib + 100));
  EXPECT_FALSE(loaded_with(kib - 100));
}

TEST_F(FoundFolder, that_does_not_fit_is_refused_from_headers_alone) {
  nn::StateDict state = model_.state();
  state["lm_head.weight"] = state.at("transformer.wte.weight");
  state["extra"] = Tensor::zeros(DType::f32, {1000, 1000});
  std::vector<io::NamedTensor> list;
  for (const auto& [name, tensor] : state) list.push_back({name, tensor});
  io::write_safetensors(base::real_files(), folder_ / "model.safetensors", list);
  CountingFiles files;
  expect_has(error_of([&] { load_model(files, folder_.path()); }), "1 unexpected: extra");
  EXPECT_LT(files.bytes, 10'000);
}

}  // namespace
}  // namespace headlight::models
