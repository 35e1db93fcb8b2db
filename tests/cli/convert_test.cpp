// `convert`: what other programs wrote, and what comes along, as a Hugging Face folder; `info` on
// files.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "headlight/io/io.h"
#include "headlight/models/models.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/model_folders.h"
#include "tests/cli/program.h"
#include "tests/io/gguf_bytes.h"
#include "tests/models/state_checkpoint.h"
#include "tests/places.h"

namespace headlight::test {
namespace {

using tensor::DType;
using tensor::Tensor;

nn::StateDict state_of(const std::string& folder) {
  return models::read_state(
      io::open_safetensors(base::real_files(), folder + "/model.safetensors"));
}

// The numbers of both as float32, to the bit.
void expect_same_state(const nn::StateDict& got, const nn::StateDict& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    const Tensor a = tensor::to_float32(got.at(name));
    const Tensor b = tensor::to_float32(tensor);
    EXPECT_EQ(a.shape(), b.shape()) << name;
    EXPECT_EQ(std::memcmp(a.raw(), b.raw(), b.bytes()), 0) << name;
  }
}

class Convert : public testing::Test {
 protected:
  Convert() { std::filesystem::copy(model_folders().gpt(), folder_ / "gpt"); }

  std::string text(const std::string& place) {
    return run_program({"generate", place, "--prompt", "a"}).output;
  }

  TemporaryFolder folder_;
};

TEST_F(Convert, of_a_checkpoint_gives_a_folder_that_writes_the_same_text) {
  const std::string expected = text(folder_ / "gpt");
  const nn::StateDict state = state_of(folder_ / "gpt");
  std::filesystem::remove(folder_ / "gpt/model.safetensors");
  folder_.put("gpt/ckpt.pt", models::state_bytes(state, "model"));
  const ProgramRun run = run_program({"convert", folder_ / "gpt/ckpt.pt", "--to", folder_ / "new"});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_NE(run.output.find(folder_ / "new"), std::string::npos) << run.output;
  expect_same_state(state_of(folder_ / "new"), state);
  EXPECT_EQ(text(folder_ / "new"), expected);
  EXPECT_EQ(folder_.get("new/tokenizer.json"), folder_.get("gpt/tokenizer.json"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new/ckpt.pt"));
}

TEST_F(Convert, of_shards_in_bfloat16_keeps_what_they_are) {
  // Numbers that are bfloat16s, in two files.
  std::vector<io::NamedTensor> parts[2];
  std::string map;
  nn::StateDict all;
  for (const auto& [name, tensor] : state_of(folder_ / "gpt")) {
    Tensor narrow = Tensor::uninitialized(DType::bf16, tensor.shape());
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      narrow.mutable_data<uint16_t>()[i] = static_cast<uint16_t>(0x3F00 + i % 200);
    }
    const std::string shard = std::to_string(all.size() % 2);
    parts[all.size() % 2].push_back({name, narrow});
    map += (map.empty() ? "\"" : ",\"") + name + R"(":"model-)" + shard + ".safetensors\"";
    all[name] = narrow;
  }
  std::filesystem::remove(folder_ / "gpt/model.safetensors");
  for (const size_t shard : {0, 1}) {
    io::write_safetensors(base::real_files(),
                          folder_ / ("gpt/model-" + std::to_string(shard) + ".safetensors"),
                          parts[shard]);
  }
  folder_.put("gpt/model.safetensors.index.json", R"({"weight_map":{)" + map + "}}");
  const ProgramRun run =
      run_program({"convert", folder_ / "gpt", "--to", folder_ / "new", "--json"});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(*io::parse_json(run.output, "convert").find("dtype")->text(), "bfloat16") << run.output;
  const nn::StateDict got = state_of(folder_ / "new");
  expect_same_state(got, all);
  for (const auto& [name, tensor] : got) EXPECT_EQ(tensor.dtype(), DType::bf16) << name;
}

TEST_F(Convert, of_a_model_that_comes_along_takes_it_out) {
  const ProgramRun run = run_program({"convert", "thrones", "--to", folder_ / "thrones"});
  ASSERT_EQ(run.code, 0) << run.errors;
  const std::vector<std::string> words = {"--text", "When the sun rises over the sea"};
  EXPECT_EQ(run_program({"translate", folder_ / "thrones", words[0], words[1]}).output,
            run_program({"translate", "thrones", words[0], words[1]}).output);
}

TEST_F(Convert, writes_a_translator_as_marian_where_its_switches_allow) {
  ASSERT_EQ(run_program({"convert", "thrones", "--to", folder_ / "marian", "--as", "marian"}).code,
            0);
  EXPECT_NE(folder_.get("marian/config.json").find(R"("model_type":"marian")"), std::string::npos)
      << folder_.get("marian/config.json");
  const std::vector<std::string> words = {"--text", "When the sun rises over the sea"};
  EXPECT_EQ(run_program({"translate", folder_ / "marian", words[0], words[1]}).output,
            run_program({"translate", "thrones", words[0], words[1]}).output);
  expect_one_line(run_program({"convert", "numbers", "--to", folder_ / "n", "--as", "marian"}), 3,
                  "normalize_before is true, Marian's norms stand behind");
  expect_one_line(run_program({"convert", "numbers", "--to", folder_ / "n", "--as", "t5"}), 3,
                  "cannot be written as \"t5\", only as headlight-seq2seq or marian");
}

TEST_F(Convert, copies_how_sentences_become_vectors) {
  std::filesystem::copy(model_folders().encoder(), folder_ / "encoder");
  folder_.put("encoder/modules.json",
              R"([{"path":"","type":"sentence_transformers.models.Transformer"},)"
              R"({"path":"pool","type":"sentence_transformers.models.Pooling"}])");
  std::filesystem::create_directory(folder_ / "encoder/pool");
  folder_.put("encoder/pool/config.json", R"({"pooling_mode_cls_token":true})");
  const ProgramRun run =
      run_program({"convert", folder_ / "encoder", "--to", folder_ / "new", "--as", "bert"});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(folder_.get("new/pool/config.json"), folder_.get("encoder/pool/config.json"));
  folder_.put("encoder/modules.json", R"([{"path":"../pool","type":"x.Pooling"}])");
  expect_one_line(run_program({"convert", folder_ / "encoder", "--to", folder_ / "other"}), 3,
                  "is no plain folder name");
}

TEST_F(Convert, refuses_what_it_cannot_write) {
  expect_one_line(run_program({"convert", folder_ / "gpt"}), 2, "--to");
  expect_one_line(run_program({"convert", folder_ / "gpt", "--to", folder_ / "gpt"}), 3,
                  "is there already");
  expect_one_line(
      run_program({"convert", folder_ / "gpt", "--to", folder_ / "new", "--as", "marian"}), 3,
      R"(is a gpt2 and cannot be written as "marian")");
  expect_one_line(
      run_program({"convert", folder_ / "gpt", "--to", folder_ / "new", "--as", "marien"}), 2,
      "the nearest is marian");
  expect_one_line(run_program({"convert", folder_ / "none", "--to", folder_ / "new"}), 3,
                  "there is no such file or folder");
  folder_.put("gpt/model.safetensors", "x");
  expect_one_line(run_program({"convert", folder_ / "gpt", "--to", folder_ / "new"}), 3,
                  "safetensors");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
}

TEST(InfoOnFiles, tells_what_a_gguf_file_holds) {
  const std::string path = tests::source_folder() + "/tests/golden/files/types.gguf";
  const ProgramRun run = run_program({"info", path});
  ASSERT_EQ(run.code, 0) << run.errors;
  for (const char* part : {"GGUF 3", "llama", "Q4_K (1 tensor)", "context", "64", "memory"}) {
    EXPECT_NE(run.output.find(part), std::string::npos) << run.output;
  }
  const ProgramRun json = run_program({"info", path, "--json"});
  const io::Json document = io::parse_json(json.output, "info");
  EXPECT_EQ(*document.find("model_type")->text(), "llama");
  EXPECT_EQ(*document.find("context_length")->integer(), 64);
  EXPECT_EQ(*document.find("settings")->find("test.text")->text(), "söz");
  EXPECT_EQ(document.find("types")->array()->size(), 12U);
  EXPECT_TRUE(document.find("tokenizer")->is_null());
}

TEST(InfoOnFiles, shortens_long_settings_and_counts_arrays) {
  const TemporaryFolder folder;
  io::GgufParts parts;
  std::string tokens;
  for (int i = 0; i < 100; ++i) tokens += io::gguf_string("token" + std::to_string(i));
  parts.settings = {
      io::gguf_setting("tokenizer.ggml.model", io::kText, io::gguf_string("gpt2")),
      io::gguf_setting("tokenizer.ggml.pre", io::kText, io::gguf_string("smollm")),
      io::gguf_setting("tokenizer.ggml.tokens", io::kArray, io::gguf_array(io::kText, 100, tokens)),
      io::gguf_setting("template", io::kText, io::gguf_string(std::string(59, 'x') + "ğğğğ")),
      io::gguf_setting("split.count", io::kUint32, io::u32(3)),
      io::gguf_setting("split.no", io::kUint32, io::u32(0)),
  };
  const std::string path = folder.put("model.gguf", parts.bytes());
  const std::string text = run_program({"info", path}).output;
  for (const char* part : {"gpt2, smollm", "tokenizer.ggml.tokens: 100 elements", "xxx…"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  const io::Json document = io::parse_json(run_program({"info", path, "--json"}).output, "info");
  EXPECT_EQ(*document.find("vocab_size")->integer(), 100);
  EXPECT_EQ(*document.find("parts")->integer(), 3);
  EXPECT_NE(document.find("refused")->text()->find("it is part 1 of 3, so that its name must"),
            std::string::npos);
  expect_one_line(run_program({"generate", path, "--prompt", "a"}), 3,
                  "it is part 1 of 3, so that its name must end with -00001-of-00003.gguf");
  folder.put("model.gguf", "GGUF");
  expect_one_line(run_program({"info", path}), 3, "4 bytes, the header needs 24");
}

TEST(InfoOnFiles, tells_what_a_model_can_do_and_what_it_takes) {
  const io::Json document =
      io::parse_json(run_program({"info", model_folders().gpt(), "--json"}).output, "info");
  EXPECT_EQ(io::json_text(*document.find("can")), R"(["continues_prompt"])");
  EXPECT_GE(*document.find("memory_bytes")->integer(), 4 * *document.find("parameters")->integer());
  const std::string text = run_program({"info", model_folders().encoder()}).output;
  EXPECT_NE(text.find("sentence vectors (embed)"), std::string::npos) << text;
}

}  // namespace
}  // namespace headlight::test
