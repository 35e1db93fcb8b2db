// Files that are large, or hold more than is asked for: refused by name and early, before the
// memory for them is taken.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>

#include "headlight/base/base.h"
#include "headlight/models/models.h"
#include "headlight/text/text.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/model_folders.h"
#include "tests/cli/program.h"
#include "tests/io/bad_files.h"
#include "tests/models/state_checkpoint.h"

namespace headlight::test {
namespace {

using io::safetensors_bytes;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

constexpr int64_t kMegabyte = 1'000'000;
constexpr int64_t kSmall = 300 * kMegabyte;  // what any run may take, with a sanitizer too
constexpr uint64_t kLarge = 3'000'000'000;   // bytes of weights, of which none takes disk
constexpr uint64_t kHuge = uint64_t{1} << 40;

// What Linux counts for a program from its start on: the memory of who started it, at its most.
int64_t own_peak() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{1024} * usage.ru_maxrss;
}

class Loading : public testing::Test {
 protected:
  // A file of this header, and after it so many bytes that are not on the disk.
  std::string sparse(const std::string& name, const std::string& start, uint64_t bytes) {
    const std::string path = folder_.put(name, start);
    std::filesystem::resize_file(path, start.size() + bytes);
    return path;
  }
  static std::string entry(const std::string& name, const std::string& shape, uint64_t begin,
                           uint64_t end, const std::string& dtype = "F32") {
    return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape +
           R"(,"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(end) + "]}";
  }
  static std::string npy_start(const std::string& descr, const std::string& shape) {
    std::string header =
        "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
    std::string start("\x93NUMPY\x01\x00", 8);
    start += static_cast<char>(header.size());
    start += '\0';
    return start + header;
  }
  std::string module(const std::vector<io::NamedTensor>& more = {}) {
    std::vector<io::NamedTensor> tensors = more;
    for (const char* name : {"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}) {
      tensors.push_back({name, Tensor::zeros(DType::f32, {4, 4})});
    }
    const std::string path = folder_ / "module.safetensors";
    io::write_safetensors(base::real_files(), path, tensors);
    return path;
  }
  ProgramRun attend(std::vector<std::string> more) {
    more.insert(more.begin(), {"attend", "--query", write_numbers(folder_ / "x.npy", {3, 4})});
    return run_program(more);
  }

  TemporaryFolder folder_;
};

TEST_F(Loading, a_model_of_other_names_is_refused_before_its_weights_are_read) {
  std::filesystem::create_directories(folder_ / "model");
  folder_.put("model/config.json",
              R"({"model_type":"gpt2","vocab_size":17,"n_positions":8,"n_layer":1,"n_head":2,)"
              R"("n_embd":8})");
  const std::string rows = std::to_string(kLarge / 32);
  sparse("model/model.safetensors",
         safetensors_bytes("{" + entry("lm_head.weight", "[" + rows + ",8]", 0, kLarge) + "," +
                           entry("wte.weight", "[" + rows + ",8]", kLarge, 2 * kLarge) + "}"),
         2 * kLarge);
  const ProgramRun run = run_program({"info", folder_ / "model"});
  expect_one_line(run, 3, "missing: wpe.weight");
  EXPECT_NE(run.errors.find("wte.weight is float32 [" + rows + ", 8]"), std::string::npos);
  EXPECT_LT(run.peak_bytes, kSmall + own_peak());
}

TEST_F(Loading, a_model_beyond_memory_is_refused_before_its_weights_are_read) {
  std::filesystem::create_directories(folder_ / "model");
  folder_.put("model/config.json",
              R"({"model_type":"gpt2","vocab_size":10000000,"n_positions":8,"n_layer":1,)"
              R"("n_head":2,"n_embd":1000000})");
  sparse(
      "model/model.safetensors",
      safetensors_bytes("{" + entry("wte.weight", "[10000000,100000]", 0, 4'000'000'000'000) + "}"),
      4'000'000'000'000);
  const ProgramRun run = run_program({"info", folder_ / "model"});
  expect_one_line(run, 4, "GiB free");
  EXPECT_LT(run.peak_bytes, kSmall + own_peak());
}

// Only without a sanitizer, which keeps what was freed.
using HeldWeights = Loading;

// A Llama with a large table, of zeros that are not on the disk.
TEST_F(HeldWeights, of_a_model_that_answers_are_in_memory_once) {
  constexpr uint64_t kWords = 100'000, kWidth = 512, kHidden = 1536, kLayers = 4;
  std::filesystem::create_directories(folder_ / "model");
  folder_.put("model/config.json",
              R"({"model_type":"llama","vocab_size":100000,"hidden_size":512,)"
              R"("intermediate_size":1536,"num_hidden_layers":4,"num_attention_heads":8,)"
              R"("max_position_embeddings":64,"tie_word_embeddings":true,"rms_norm_eps":1e-5})");
  std::string header = "{";
  uint64_t end = 0;
  const auto add = [&](const std::string& name, uint64_t rows, uint64_t columns) {
    const std::string shape = columns == 0 ? "" : "," + std::to_string(columns);
    const uint64_t bytes = 4 * rows * std::max<uint64_t>(columns, 1);
    header +=
        (end == 0 ? "" : ",") + entry("model." + name + ".weight",
                                      "[" + std::to_string(rows) + shape + "]", end, end + bytes);
    end += bytes;
  };
  add("embed_tokens", kWords, kWidth);
  for (uint64_t i = 0; i < kLayers; ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    for (const char* one : {"q", "k", "v", "o"})
      add(layer + "self_attn." + one + "_proj", kWidth, kWidth);
    for (const char* one : {"gate", "up"}) add(layer + "mlp." + one + "_proj", kHidden, kWidth);
    add(layer + "mlp.down_proj", kWidth, kHidden);
    for (const char* one : {"input", "post_attention"}) add(layer + one + "_layernorm", kWidth, 0);
  }
  add("norm", kWidth, 0);
  sparse("model/model.safetensors", safetensors_bytes(header + "}"), end);
  const ProgramRun run = run_program(
      {"generate", folder_ / "model", "--prompt-ids", "1,2,3", "--max-new-tokens", "1", "--json"});
  EXPECT_EQ(run.code, 0) << run.errors;
  constexpr double kMost = 1.3;
  EXPECT_LT(static_cast<double>(run.peak_bytes), kMost * static_cast<double>(end));
}

TEST_F(Loading, arrays_beyond_memory_are_refused_before_they_are_read) {
  const std::string rows = std::to_string(kHuge / 4 / 1024);
  const std::string large = sparse("q.npy", npy_start("<f4", "(" + rows + ", 1024)"), kHuge);
  ProgramRun run = run_program({"attend", "--query", large});
  expect_one_line(run, 4, "array [" + rows + ", 1024] (" + large + "): needs");
  EXPECT_LT(run.peak_bytes, kSmall + own_peak());
  run = attend({"--bias", large});
  expect_one_line(run, 4, "array [" + rows + ", 1024]");
  EXPECT_LT(run.peak_bytes, kSmall + own_peak());
}

TEST_F(Loading, weights_of_attention_beyond_memory_are_refused_before_they_are_read) {
  const std::string side = std::to_string(uint64_t{1} << 19);
  const std::string shape = "[" + side + "," + side + "]";
  const std::string path =
      sparse("large.safetensors",
             safetensors_bytes("{" + entry("W_q.weight", shape, 0, kHuge) + "," +
                               entry("W_k.weight", shape, kHuge, 2 * kHuge) + "," +
                               entry("W_v.weight", shape, 2 * kHuge, 3 * kHuge) + "}"),
             3 * kHuge);
  const ProgramRun run = attend({"--weights", path});
  expect_one_line(run, 4, "--weights (" + path + "): needs");
  EXPECT_LT(run.peak_bytes, kSmall + own_peak());
}

TEST_F(Loading, results_beyond_memory_are_refused_before_they_are_computed) {
  // 1.5 million queries of 1 number, and a module that makes 2 million outputs of each.
  const std::string query = sparse("q.npy", npy_start("<f4", "(1500000, 1)"), 6'000'000);
  const uint64_t wide = 8'000'000;
  const std::string path =
      sparse("wide.safetensors",
             safetensors_bytes("{" + entry("W_q.weight", "[1,1]", 0, 4) + "," +
                               entry("W_k.weight", "[1,1]", 4, 8) + "," +
                               entry("W_v.weight", "[2000000,1]", 8, 8 + wide) + "}"),
             8 + wide);
  const ProgramRun run = run_program({"attend", "--query", query, "--weights", path});
  expect_one_line(run, 4, "attend (" + query + "): needs");
  EXPECT_LT(run.peak_bytes, 2 * kSmall + own_peak());
}

TEST_F(Loading, a_pass_beyond_memory_is_refused_before_it_is_computed) {
  models::Gpt gpt({.block_size = 8, .vocab_size = 200'000, .n_layer = 1, .n_head = 2, .n_embd = 8});
  gpt.draw(1);
  std::filesystem::create_directories(folder_ / "wide");
  models::save_model(base::real_files(), folder_ / "wide", gpt);
  const std::string ids = sparse("ids.npy", npy_start("<i8", "(125000, 8)"), 8'000'000);
  const auto start = std::chrono::steady_clock::now();
  const ProgramRun run =
      run_program({"forward", folder_ / "wide", "--ids", ids, "--logits", folder_ / "logits.npy"});
  expect_one_line(run, 4, "forward (" + ids + "): needs 745");  // GiB
  EXPECT_LT(run.peak_bytes, kSmall + own_peak());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  // What is longer than the context is told so, however large.
  const std::string wide = sparse("wide.npy", npy_start("<i8", "(1, 1000000)"), 8'000'000);
  expect_one_line(run_program({"forward", folder_ / "wide", "--ids", wide}), 3, "1000000");
}

TEST_F(Loading, an_array_of_rank_3_is_not_computed_for_a_csv_file) {
  const std::string query = write_numbers(folder_ / "q3.npy", {2, 3, 4});
  const ProgramRun run = run_program({"attend", "--query", query, "--out", folder_ / "o.csv"});
  expect_one_line(
      run, 3,
      "array (" + folder_ / "o.csv" +
          "): a .csv file has rows and columns, rank 2, and the array has rank 3; .npy, "
          ".safetensors and .json hold any");
  EXPECT_EQ(attend({"--out", folder_ / "o.csv"}).code, 0);
  const std::string ids = folder_.put("ids.json", "[[1, 2], [3, 4]]");
  expect_one_line(run_program({"forward", model_folders().bare_gpt(), "--ids", ids, "--logits",
                               folder_ / "l.csv"}),
                  3, "the array has rank 3");
  const std::string one = folder_.put("one.json", "[1, 2]");
  EXPECT_EQ(run_program({"forward", model_folders().bare_gpt(), "--ids", one, "--logits",
                         folder_ / "l.csv"})
                .code,
            0);
}

TEST_F(Loading, tensors_that_are_no_part_of_the_module_are_refused_by_name) {
  const Tensor norm = Tensor::zeros(DType::f32, {4});
  expect_one_line(attend({"--weights", module({{"q_norm.weight", norm}})}), 3,
                  "1 unexpected: q_norm.weight");
  // Masks are ignored, and all that is outside of a prefix.
  EXPECT_EQ(attend({"--weights", module({{"mask", Tensor::zeros(DType::boolean, {4, 4})}})}).code,
            0);
  std::vector<io::NamedTensor> tensors;
  for (const char* name : {"W_q.weight", "W_k.weight", "W_v.weight"}) {
    tensors.push_back({std::string("h.0.") + name, Tensor::zeros(DType::f32, {4, 4})});
  }
  tensors.push_back({"h.1.q_norm.weight", norm});
  const std::string path = folder_ / "many.safetensors";
  io::write_safetensors(base::real_files(), path, tensors);
  EXPECT_EQ(attend({"--weights", path + ":h.0"}).code, 0);
  tensors.push_back({"h.0.q_norm.weight", norm});
  io::write_safetensors(base::real_files(), path, tensors);
  expect_one_line(attend({"--weights", path + ":h.0"}), 3, "1 unexpected: h.0.q_norm.weight");
}

TEST_F(Loading, both_forms_of_a_projection_at_once_are_refused_by_name) {
  std::vector<io::NamedTensor> tensors = {{"in_proj_weight", Tensor::zeros(DType::f32, {12, 4})},
                                          {"q_proj_weight", Tensor::zeros(DType::f32, {4, 4})}};
  const std::string path = folder_ / "torch.safetensors";
  io::write_safetensors(base::real_files(), path, tensors);
  expect_one_line(attend({"--weights", path}), 3, "1 unexpected: q_proj_weight");
}

TEST_F(Loading, unknown_parameters_of_additive_scoring_are_refused_by_name) {
  const std::string path = folder_ / "additive.safetensors";
  io::write_safetensors(base::real_files(), path,
                        {{"W_q.weight", Tensor::zeros(DType::f32, {5, 4})},
                         {"W_k.weight", Tensor::zeros(DType::f32, {5, 4})},
                         {"w_v.weight", Tensor::zeros(DType::f32, {1, 5})},
                         {"W_q.bias", Tensor::zeros(DType::f32, {5})}});
  expect_one_line(attend({"--weights", path, "--scoring", "additive"}), 3,
                  "1 unexpected: W_q.bias");
}

TEST_F(Loading, a_bias_of_true_and_false_is_refused) {
  const std::string path = folder_ / "mask.npy";
  io::write_array(base::real_files(), path, Tensor::zeros(DType::boolean, {3, 3}));
  expect_one_line(attend({"--bias", path}), 3,
                  "--bias (" + path + "): holds true and false, numbers to add are needed");
  EXPECT_EQ(attend({"--keep-mask", path}).code, 0);
}

TEST_F(Loading, numbers_beyond_float32_are_refused_in_every_format) {
  std::string numbers(16, '\0');
  const double beyond = -1e39;
  std::memcpy(numbers.data() + 8, &beyond, 8);
  const std::string npy = folder_.put("wide.npy", npy_start("<f8", "(1, 2)") + numbers);
  expect_one_line(run_program({"attend", "--query", npy}), 3,
                  "element 1 is -1e+39, beyond float32");
  expect_one_line(run_program({"attend", "--query", folder_.put("x.json", "[[1, 1e300]]")}), 3,
                  "1e300 is beyond float32");
  expect_one_line(run_program({"attend", "--query", folder_.put("x.csv", "1,-4e38\n")}), 3,
                  "\"-4e38\" is beyond float32");
  EXPECT_EQ(run_program({"attend", "--query", folder_.put("y.csv", "1,3.4e38\n")}).code, 0);
}

TEST_F(Loading, tokens_of_a_long_text_as_json_take_a_few_bytes_for_each_of_its_bytes) {
  constexpr size_t kBytes = 20 * kMegabyte;
  const std::string line = "abc de fghij abcdefghij, and so on\n";
  std::string text;
  while (text.size() < kBytes) text += line;
  const std::string letters = "abcdefghij, nso\n";
  const std::string_view texts[] = {letters};
  std::filesystem::create_directories(folder_ / "char");
  headlight::text::char_tokenizer(texts).save(base::real_files(), folder_ / "char");
  const std::string out = folder_.put("out.json", "");
  const ProgramRun run = run_program({"tokenize", folder_ / "char", "--json"},
                                     {.input_path = folder_.put("text", text), .output_path = out});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_LT(run.peak_bytes, static_cast<int64_t>(10 * kBytes) + own_peak());
  const std::string written = folder_.get("out.json");
  EXPECT_TRUE(written.starts_with("{\"ids\":[")) << written.substr(0, 100);
  EXPECT_TRUE(written.ends_with("\"n\",\"\\n\"]}\n")) << written.substr(written.size() - 100);
}

TEST_F(Loading, an_output_layer_that_is_not_tied_is_noted) {
  const std::string table = "bert.embeddings.word_embeddings.weight";
  std::filesystem::copy(model_folders().encoder(), folder_ / "bert");
  Tensors tensors = read_tensors(folder_ / "bert/model.safetensors");
  tensors["cls.predictions.decoder.weight"] = Tensor::zeros(DType::f32, tensors.at(table).shape());
  std::vector<io::NamedTensor> list;
  for (const auto& [name, tensor] : tensors) list.push_back({name, tensor});
  io::write_safetensors(base::real_files(), folder_ / "bert/model.safetensors", list);
  const ProgramRun run = run_program({"info", folder_ / "bert"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_NE(run.output.find("tie_word_embeddings: false"), std::string::npos) << run.output;
  EXPECT_NE(run.errors.find("note: " + folder_ / "bert" +
                            ": cls.predictions.decoder.weight has other numbers than " + table),
            std::string::npos)
      << run.errors;
  EXPECT_EQ(run_program({"info", folder_ / "bert", "--quiet"}).errors, "");
}

TEST_F(Loading, a_run_whose_settings_were_damaged_is_bad_input) {
  const std::string text = folder_.put("text.txt", std::string(2000, 'a') + std::string(2000, 'b'));
  const ProgramRun first = run_program({"train", "--task", "lm", "--preset", "tiny", "--max-iters",
                                        "1", "--data", text, "--out", folder_ / "run"});
  ASSERT_EQ(first.code, 0) << first.errors;
  const std::string settings = folder_.get("run/run.json");
  const auto resumed = [&](const std::string& from, const std::string& to) {
    std::string changed = settings;
    const size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    folder_.put("run/run.json", changed.replace(at, from.size(), to));
    return run_program({"train", "--out", folder_ / "run", "--resume"});
  };
  expect_one_line(resumed(R"("data":")" + text + "\"", R"("data":"")"), 3, "--data: is missing");
  expect_one_line(resumed(R"("task":"lm")", R"("task":"")"), 3, "run.json (task): is empty");
  expect_one_line(resumed(R"("encoding":"")", R"("encoding":"none")"), 3, "is unknown");
  expect_one_line(resumed(R"("n_head":2)", R"("n_head":"x")"), 3, "n_head");
  expect_one_line(resumed(settings, "{"), 3, "run.json");
  // What is typed is wrong usage as before.
  folder_.put("run/run.json", settings);
  expect_one_line(run_program({"train", "--out", folder_ / "run", "--resume", "--max-iters", "x"}),
                  2, "");
}

TEST_F(Loading, a_checkpoint_of_pytorch_is_a_model_as_any_other) {
  std::filesystem::copy(model_folders().gpt(), folder_ / "gpt");
  const std::string weights = folder_ / "gpt/model.safetensors";
  const nn::StateDict state = models::read_state(io::open_safetensors(base::real_files(), weights));
  const std::vector<std::string> rest = {"--prompt", "a", "--max-new-tokens", "5"};
  const auto generated = [&](const std::string& place) {
    std::vector<std::string> arguments = {"generate", place};
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    return run_program(arguments);
  };
  const ProgramRun expected = generated(folder_ / "gpt");
  std::filesystem::remove(weights);
  folder_.put("gpt/ckpt.pt", models::state_bytes(state, "model"));
  EXPECT_EQ(generated(folder_ / "gpt/ckpt.pt").output, expected.output);
  EXPECT_EQ(run_program({"tokenize", folder_ / "gpt/ckpt.pt", "--text", "yol"}).code, 0);
  folder_.put("gpt/pytorch_model.bin", models::state_bytes(state));
  const ProgramRun got = generated(folder_ / "gpt");
  EXPECT_EQ(got.output, expected.output);
  EXPECT_EQ(got.errors, expected.errors);
}

TEST_F(Loading, a_checkpoint_with_more_than_tensors_is_refused_by_name_and_runs_nothing) {
  std::filesystem::copy(model_folders().bare_gpt(), folder_ / "gpt");
  std::filesystem::remove(folder_ / "gpt/model.safetensors");
  const std::string touched = folder_ / "touched";
  folder_.put("gpt/pytorch_model.bin",
              io::checkpoint_bytes(io::pickled::global("posix", "system") + "(" +
                                   io::pickled::text("touch " + touched) + "tR"));
  expect_one_line(run_program({"info", folder_ / "gpt"}), 3, R"(it names "posix.system")");
  EXPECT_FALSE(std::filesystem::exists(touched));
}

}  // namespace
}  // namespace headlight::test
