// What `headlight attend` promises beyond numbers: shapes, defaults, ways to say the same thing,
// formats, traces.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/base/temporary_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"

namespace headlight::test {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

class Attend : public testing::Test {
 protected:
  // Runs, and expects success without a word.
  void run(std::vector<std::string> words, const Surroundings& around = {}) {
    words.insert(words.begin(), "attend");
    const ProgramRun result = run_program(words, around);
    ASSERT_EQ(result.code, 0) << result.errors;
    EXPECT_EQ(result.output + result.errors, "");
  }
  // The bytes of the output.
  std::string output_of(std::vector<std::string> words, const Surroundings& around = {}) {
    words.insert(words.end(), {"--out", folder_ / "out.npy"});
    run(words, around);
    return folder_.get("out.npy");
  }
  std::string numbers(const std::string& name, const Shape& shape) {
    return write_numbers(folder_ / name, shape);
  }
  Tensor written() { return read_floats(folder_ / "out.npy"); }

  TemporaryFolder folder_;
};

TEST_F(Attend, prints_small_results_as_aligned_matrices) {
  const std::string query = folder_.put("x.json", "[[1, 0], [0, -10]]");
  const ProgramRun result = run_program({"attend", "--query", query, "--scale", "1"});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_EQ(result.output,
            "output [2, 2]\n"
            "    0.7311   -2.6894\n"
            "    0.0000  -10.0000\n");
  EXPECT_EQ(result.errors, "");
}

TEST_F(Attend, names_each_matrix_of_a_batch) {
  const std::string output =
      run_program({"attend", "--query", numbers("x.npy", {2, 3, 1, 2})}).output;
  EXPECT_TRUE(output.starts_with("output [2, 3, 1, 2]\n[0, 0]\n")) << output;
  EXPECT_NE(output.find("\n[1, 2]\n"), std::string::npos) << output;
}

TEST_F(Attend, abbreviates_large_results) {
  const std::string output = run_program({"attend", "--query", numbers("x.npy", {400, 64})}).output;
  EXPECT_LT(output.size(), 4000u);
  EXPECT_NE(output.find("abbreviated"), std::string::npos) << output;
  EXPECT_NE(output.find("..."), std::string::npos) << output;
}

TEST_F(Attend, keeps_the_rank_of_the_query) {
  for (const Shape& shape : {Shape{3, 8}, Shape{2, 3, 8}, Shape{2, 4, 3, 8}}) {
    output_of({"--query", numbers("x.npy", shape)});
    EXPECT_EQ(written().shape(), shape);
  }
}

TEST_F(Attend, takes_arrays_without_rows) {
  output_of({"--query", numbers("x.npy", {0, 8})});
  EXPECT_EQ(written().shape(), (Shape{0, 8}));
  output_of({"--query", numbers("x.npy", {3, 8}), "--key", numbers("none.npy", {0, 8})});
  EXPECT_EQ(largest(written()), 0);
}

TEST_F(Attend, with_json_prints_one_document) {
  const std::string query = folder_.put("x.csv", "1,0\n0,nan\n");
  const ProgramRun result =
      run_program({"attend", "--query", query, "--json", "--valid-lens", "1"});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_EQ(result.output, "{\"shape\":[2,2],\"output\":[[1.0,0.0],[null,null]]}\n");
}

TEST_F(Attend, reads_and_writes_every_format) {
  const std::string query = numbers("x.npy", {5, 6});
  output_of({"--query", query});
  const Tensor expected = written();
  const Tensor array = read_floats(query);
  for (const char* name : {"x.npy", "x.json", "x.csv", "x.safetensors", "x.safetensors:mine"}) {
    io::write_array(base::real_files(), folder_ / name, array);
    run({"--query", folder_ / name, "--out", folder_ / (std::string("out-") + name)});
    EXPECT_EQ(distance(read_floats(folder_ / (std::string("out-") + name)), expected), 0) << name;
  }
}

TEST_F(Attend, reads_options_however_they_are_written) {
  const std::string query = numbers("x.npy", {2, 3, 8});
  const std::string expected =
      output_of({"--query", query, "--heads", "4", "--kv-heads", "4", "--valid-lens", "3,2"});
  EXPECT_EQ(output_of({"--query=" + query, "--heads=4", "--kv_heads=4", "--valid_lens=3,2"}),
            expected);
  EXPECT_EQ(output_of({"--query", query, "--heads", "4"}, {.set = {"HEADLIGHT_VALID_LENS=3,2"}}),
            expected);
  EXPECT_EQ(output_of({"--query", query, "--heads", "4", "--valid-lens", "3,2"},
                      {.set = {"HEADLIGHT_HEADS=2", "HEADLIGHT_VALID_LENS=1,1"}}),
            expected)
      << "flags beat the environment";
  EXPECT_NE(output_of({"--query", query}, {.set = {"HEADLIGHT_HEADS=2"}}), expected);
}

TEST_F(Attend, takes_offsets_as_a_number_a_list_or_a_file) {
  const std::vector<std::string> start = {"--query",  numbers("q.npy", {2, 3, 4}),
                                          "--key",    numbers("k.npy", {2, 7, 4}),
                                          "--causal", "--past"};
  const auto with = [&](const std::string& past) {
    std::vector<std::string> words = start;
    words.push_back(past);
    return output_of(words);
  };
  const std::string expected = with("4");
  EXPECT_EQ(with("4,4"), expected);
  EXPECT_EQ(with(folder_.put("past.json", "[4, 4]")), expected);
  EXPECT_NE(with("4,3"), expected);
  with("-3");
  EXPECT_EQ(largest(written()), 0) << "nobody sees anything";
}

TEST_F(Attend, says_one_mask_in_several_ways) {
  const std::string query = numbers("x.npy", {2, 3, 4});
  const std::string expected = output_of({"--query", query, "--causal"});
  const auto same = [&](const std::string& option, const std::string& file) {
    EXPECT_EQ(output_of({"--query", query, option, file}), expected) << option << " " << file;
  };
  const std::string keep = "[[1,0,0],[1,1,0],[1,1,1]]";
  same("--keep-mask", folder_.put("keep2.json", keep));
  same("--keep-mask", folder_.put("keep3.json", "[" + keep + "]"));
  same("--keep-mask", folder_.put("keep4.json", "[[" + keep + "],[" + keep + "]]"));
  same("--forbid-mask",
       folder_.put("forbid.json", "[[false,true,true],[false,false,true],[false,false,false]]"));
  same("--bias", folder_.put("bias.csv", "0,-inf,-inf\n0,0,-inf\n0,0,0\n"));
  same("--valid-lens", folder_.put("lens.csv", "1,2,3\n1,2,3\n"));
}

TEST_F(Attend, combines_masks) {
  const std::string query = numbers("x.npy", {1, 4, 4});
  run({"--query", query, "--causal", "--window", "2", "--valid-lens", "3", "--forbid-mask",
       folder_.put("forbid.json", "[[0],[1],[0],[0]]"), "--trace", folder_ / "t.safetensors",
       "--out", folder_ / "out.npy"});
  const Tensor weights = read_tensors(folder_ / "t.safetensors").at("weights");
  const std::vector<int> seen = {1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0};
  for (size_t i = 0; i < seen.size(); ++i)
    EXPECT_EQ(weights.data<float>()[i] > 0, seen[i] == 1) << i;
  EXPECT_EQ(weights.data<float>()[0], 1);
}

TEST_F(Attend, folds_the_gradient_of_what_was_left_out_into_what_stood_for_it) {
  const std::string query = numbers("x.npy", {3, 4});
  const auto gradients = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--query", query, "--out", folder_ / "out.npy", "--grad-out", query,
                               "--grads", folder_ / "g.safetensors"});
    run(words);
    return read_tensors(folder_ / "g.safetensors");
  };
  const Tensors alone = gradients({});
  const Tensors with_key = gradients({"--key", query});
  const Tensors with_all = gradients({"--key", query, "--value", query});
  EXPECT_EQ(alone.size(), 1u);
  EXPECT_EQ(with_key.size(), 2u);
  EXPECT_EQ(with_all.size(), 3u);
  const auto sum = [](Tensor to, const Tensor& from) {
    for (int64_t i = 0; i < to.elements(); ++i)
      to.mutable_data<float>()[i] += from.data<float>()[i];
    return to;
  };
  const Tensor key = sum(with_all.at("key"), with_all.at("value"));
  EXPECT_LE(distance(with_key.at("key"), key), 1e-6);
  EXPECT_LE(distance(alone.at("query"), sum(key, with_all.at("query"))), 1e-6);
  EXPECT_EQ(alone.at("query").shape(), (Shape{3, 4}));
}

TEST_F(Attend, traces_steps_that_lead_to_the_output) {
  run({"--query", numbers("q.npy", {2, 3, 8}), "--key", numbers("k.npy", {2, 5, 4}), "--heads", "2",
       "--kv-heads", "1", "--head-gates", folder_.put("gates.json", "[0.5, 0]"), "--trace",
       folder_ / "t.safetensors", "--out", folder_ / "out.npy"});
  const Tensors trace = read_tensors(folder_ / "t.safetensors");
  EXPECT_EQ(trace.size(), 13u) << "no cap, no capped_scores";
  EXPECT_EQ(trace.at("weighted_values").shape(), (Shape{2, 2, 3, 5, 4}));
  EXPECT_EQ(trace.at("concatenated").shape(), (Shape{2, 3, 8}));
  EXPECT_EQ(distance(trace.at("output"), written()), 0);
  const float* parts = trace.at("weighted_values").data<float>();
  const float* whole = trace.at("head_output").data<float>();
  for (int64_t row = 0; row < 12; ++row) {
    for (int64_t e = 0; e < 4; ++e) {
      float sum = 0;
      for (int64_t j = 0; j < 5; ++j) sum += parts[(row * 5 + j) * 4 + e];
      EXPECT_NEAR(sum, whole[row * 4 + e], 1e-6);
    }
  }
  EXPECT_FLOAT_EQ(written().data<float>()[0], 0.5F * whole[0]);
  EXPECT_EQ(written().data<float>()[4], 0) << "the second head is gated off";
}

TEST_F(Attend, traces_weighted_values_below_64_megabytes_only) {
  for (const int64_t rows : {249, 250}) {  // 250 * 250 * 256 numbers of 4 bytes are 64 MB
    run({"--query", numbers("x.npy", {rows, 256}), "--trace", folder_ / "t.safetensors", "--out",
         folder_ / "out.npy"});
    EXPECT_EQ(read_tensors(folder_ / "t.safetensors").contains("weighted_values"), rows == 249);
  }
}

TEST_F(Attend, refuses_a_trace_beyond_the_memory_before_it_begins) {
  const std::string query = numbers("q.npy", {1'000'000, 2});
  const ProgramRun result = run_program(
      {"attend", "--query", query, "--heads", "2", "--trace", folder_ / "t.safetensors"});
  expect_one_line(result, 4, "t.safetensors): needs 29802.3 GiB, ");
}

TEST_F(Attend, gives_the_same_bits_on_any_number_of_threads) {
  const std::vector<std::string> words = {"--query", numbers("x.npy", {3, 70, 32}), "--heads", "4",
                                          "--threads"};
  std::string expected;
  for (const char* threads : {"1", "2", "5"}) {
    std::vector<std::string> all = words;
    all.push_back(threads);
    const std::string bits = output_of(all);
    EXPECT_EQ(expected.empty() ? bits : expected, bits) << threads;
    expected = bits;
  }
}

TEST_F(Attend, agrees_with_itself_on_every_instruction_set) {
  const std::string query = numbers("x.npy", {2, 37, 24});
  output_of({"--query", query, "--heads", "3", "--simd", "scalar"});
  const Tensor expected = written();
  for (const char* name : {"sse4", "avx2", "avx512"}) {
    output_of({"--query", query, "--heads", "3"}, {.set = {"HEADLIGHT_SIMD=" + std::string(name)}});
    EXPECT_LE(distance(written(), expected), 1e-6) << name;
  }
}

TEST_F(Attend, follows_a_lesson) {
  folder_.put("x.json", "[[1,0,1,0],[0,2,0,2],[1,1,1,1]]");
  io::write_safetensors(
      base::real_files(), folder_ / "w.safetensors",
      {{"W_q.weight", Tensor::of({3, 4}, std::vector<float>{1, 1, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1})},
       {"W_k.weight", Tensor::of({3, 4}, std::vector<float>{0, 1, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0})},
       {"W_v.weight", Tensor::of({3, 4}, std::vector<float>{0, 0, 1, 1, 2, 3, 0, 1, 0, 0, 3, 0})}});
  output_of(
      {"--query", folder_ / "x.json", "--weights", folder_ / "w.safetensors", "--scale", "1"});
  const Tensor output = written();
  const float* row = output.data<float>();
  EXPECT_NEAR(row[0], 1.9366, 1e-4);
  EXPECT_NEAR(row[1], 6.6831, 1e-4);
  EXPECT_NEAR(row[2], 1.5951, 1e-4);
}

}  // namespace
}  // namespace headlight::test
