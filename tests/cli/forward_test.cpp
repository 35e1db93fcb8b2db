// `headlight forward` and `headlight info` on folders as users have them: the reference numbers of
// shared/golden, a published model, and what goes wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "headlight/models/models.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"
#include "tests/places.h"

namespace headlight::test {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr const char* kGptConfig =
    R"({"model_type": "gpt2", "vocab_size": 17, "n_positions": 12, "n_embd": 24, "n_layer": 2,
        "n_head": 4})";
constexpr const char* kSeq2SeqConfig =
    R"({"model_type": "headlight-seq2seq", "d_model": 24, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 48, "vocab_size": 17, "max_position_embeddings": 16,
        "activation_function": "relu", "normalize_before": false, "final_layer_norm": false,
        "scale_embedding": true, "tie_word_embeddings": true, "layer_norm_eps": 1e-5,
        "positions": "sinusoidal", "position_order": "interleaved", "position_start": 0,
        "position_divisor": "half", "pad_token_id": 0})";

struct Golden {
  const char* name;
  const char* config;
  std::vector<const char*> inputs;  // option and tensor, in turn
};

std::string golden_path(const std::string& name) {
  return tests::shared_folder() + "/golden/" + name + ".safetensors";
}

void write_folder(const TemporaryFolder& folder, const std::string& config, const Tensors& golden) {
  std::vector<io::NamedTensor> parameters;
  for (const auto& [name, array] : golden) {
    if (name.starts_with("param.")) parameters.push_back({name.substr(6), array});
  }
  io::write_safetensors(base::real_files(), folder / "model.safetensors", parameters);
  folder.put("config.json", config);
}

class GoldenForward : public testing::TestWithParam<Golden> {};

TEST_P(GoldenForward, matches_logits_loss_and_every_gradient) {
  const std::string path = golden_path(GetParam().name);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const TemporaryFolder folder;
  const Tensors expected = read_tensors(path);
  write_folder(folder, GetParam().config, expected);
  std::vector<std::string> words = {"forward",
                                    folder.path(),
                                    "--json",
                                    "--logits",
                                    folder / "out.npy",
                                    "--grads",
                                    folder / "grads.safetensors",
                                    "--targets",
                                    path + ":in.targets"};
  for (size_t i = 0; i < GetParam().inputs.size(); i += 2) {
    words.insert(words.end(), {GetParam().inputs[i], path + ":" + GetParam().inputs[i + 1]});
  }
  const ProgramRun run = run_program(words);
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.errors, "");

  const Tensor& logits = expected.at("out.logits");
  EXPECT_LE(distance(read_floats(folder / "out.npy"), logits), kOutputTolerance * largest(logits));
  const io::Json document = io::parse_json(run.output, "output");
  EXPECT_NEAR(document.find("loss")->number().value(), *expected.at("out.loss").data<float>(),
              1e-5);

  Tensors gradients = read_tensors(folder / "grads.safetensors");
  double most = 0;
  for (const auto& [name, array] : expected) {
    if (name.starts_with("grad.")) most = std::max(most, largest(array));
  }
  for (const auto& [name, array] : expected) {
    if (!name.starts_with("grad.")) continue;
    const auto found = gradients.extract(name.substr(5));
    ASSERT_FALSE(found.empty()) << name;
    EXPECT_LE(distance(found.mapped(), array), kGradientTolerance * most) << name;
  }
  EXPECT_TRUE(gradients.empty()) << gradients.begin()->first;
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenForward,
                         testing::Values(Golden{"model-gpt2", kGptConfig, {"--ids", "in.ids"}},
                                         Golden{
                                             "model-seq2seq",
                                             kSeq2SeqConfig,
                                             {"--ids", "in.decoder_ids", "--source-ids",
                                              "in.source_ids", "--source-lens", "in.source_lens"}}),
                         [](const auto& info) { return std::string(info.param.name).substr(6); });

class PublishedModel : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(model_)) GTEST_SKIP() << model_ << " is not there";
  }
  ProgramRun forward(std::vector<std::string> words) {
    words.insert(words.begin(), {"forward", model_, "--ids", model_ + "/partials.safetensors:idx"});
    return run_program(words);
  }

  const std::string model_ = tests::shared_folder() + "/data/gpt-nano-sort";
  const TemporaryFolder folder_;
};

TEST_F(PublishedModel, traces_every_intermediate_under_its_public_name) {
  const ProgramRun run = forward({"--trace", folder_ / "t.safetensors"});
  ASSERT_EQ(run.code, 0) << run.errors;
  const Tensors trace = read_tensors(folder_ / "t.safetensors");
  const Tensors partials = read_tensors(model_ + "/partials.safetensors");
  const std::pair<const char*, const char*> names[] = {{"decoder.embedding", "tok_emb"},
                                                       {"decoder.sum", "x"},
                                                       {"decoder.0.norm_1.output", "ln1"},
                                                       {"decoder.0.self.query", "q"},
                                                       {"decoder.0.self.key", "k"},
                                                       {"decoder.0.self.value", "v"},
                                                       {"decoder.0.self.weights", "attSm"},
                                                       {"decoder.0.self.concatenated", "y"},
                                                       {"decoder.0.self.output", "yProj"},
                                                       {"decoder.0.ffn.hidden", "fc"},
                                                       {"decoder.0.ffn.activated", "gelu"},
                                                       {"decoder.0.ffn.output", "mlp"},
                                                       {"decoder.0.residual_out", "block0"},
                                                       {"decoder.2.residual_out", "block2"},
                                                       {"decoder.output", "ln_f"},
                                                       {"logits", "lm_head"},
                                                       {"probabilities", "probs"}};
  for (const auto& [name, partial] : names) {
    ASSERT_TRUE(trace.contains(name)) << name;
    EXPECT_LE(distance(trace.at(name), partials.at(partial)), 1e-5) << name;
  }
  for (const char* name : {"decoder.positions", "decoder.2.self.row_max", "decoder.1.self.row_sum",
                           "decoder.1.self.weighted_values", "decoder.0.norm_2.deviation"}) {
    EXPECT_TRUE(trace.contains(name)) << name;
  }
}

TEST_F(PublishedModel, traces_only_what_is_named) {
  const ProgramRun run = forward({"--trace", folder_ / "t.safetensors", "--only",
                                  "decoder.0.self.head.2.weights,decoder.1.ffn.hidden"});
  ASSERT_EQ(run.code, 0) << run.errors;
  const Tensors trace = read_tensors(folder_ / "t.safetensors");
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace.at("decoder.0.self.head.2.weights").shape(), (tensor::Shape{3, 11, 11}));
  expect_one_line(
      forward({"--trace", folder_ / "t.safetensors", "--only", "decoder.0.self.wieghts"}), 3,
      "the nearest is decoder.0.self.weights");
}

TEST_F(PublishedModel, traces_cells_by_their_index) {
  const ProgramRun run = forward({"--trace", folder_ / "t.safetensors", "--only",
                                  "decoder.0.self.head.2.weights[3, "
                                  "1],decoder.0.self.weights,decoder.0.self.weights[2,1,3,1]"});
  ASSERT_EQ(run.code, 0) << run.errors;
  const Tensors trace = read_tensors(folder_ / "t.safetensors");
  ASSERT_EQ(trace.size(), 3u);
  const Tensor& whole = trace.at("decoder.0.self.weights");
  const auto weight = [&](int64_t sequence, int64_t head) {
    return whole.data<float>()[((sequence * 3 + head) * 11 + 3) * 11 + 1];
  };
  const Tensor& of_all = trace.at("decoder.0.self.head.2.weights[3, 1]");
  ASSERT_EQ(of_all.shape(), (tensor::Shape{3}));
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(of_all.data<float>()[i], weight(i, 2));
  const Tensor& one = trace.at("decoder.0.self.weights[2,1,3,1]");
  ASSERT_EQ(one.shape(), tensor::Shape{});
  EXPECT_EQ(one.data<float>()[0], weight(2, 1));
  const auto only = [&](const char* name) {
    return forward({"--trace", folder_ / "u.safetensors", "--only", name});
  };
  expect_one_line(only("logits[2,11,0]"), 3, "index 11 is not within 0 and 10");
  expect_one_line(only("logits[0,0,0,0]"), 3, "4 numbers for a tensor of shape [3, 11, 3]");
  expect_one_line(only("logits[]"), 2, "must be a whole number");
  expect_one_line(only("logits[1"), 2, "must end with a bracket");
  expect_one_line(only("logits[-1]"), 2, "must be a whole number");
  expect_one_line(only("[1]"), 3, "there is no such tensor");
}

TEST_F(PublishedModel, leaves_heads_out) {
  const ProgramRun run =
      forward({"--trace", folder_ / "t.safetensors", "--heads-off",
               "decoder.0.self.1,decoder.2.self.0", "--logits", folder_ / "l.npy"});
  ASSERT_EQ(run.code, 0) << run.errors;
  const Tensors trace = read_tensors(folder_ / "t.safetensors");
  const auto head = [&](const char* place, int64_t number) {
    return trace.at(place).slice(2, 16 * number, 16).contiguous();
  };
  EXPECT_EQ(largest(head("decoder.0.self.concatenated", 1)), 0);
  EXPECT_GT(largest(head("decoder.0.self.concatenated", 0)), 0);
  EXPECT_EQ(largest(head("decoder.2.self.concatenated", 0)), 0);
  EXPECT_GT(largest(head("decoder.1.self.concatenated", 0)), 0);
  const Tensors partials = read_tensors(model_ + "/partials.safetensors");
  EXPECT_GT(distance(read_floats(folder_ / "l.npy"), partials.at("lm_head")), 0.1);
  expect_one_line(forward({"--heads-off", "decoder.0.self.3"}), 3, "no head 3 among 3");
  expect_one_line(forward({"--heads-off", "decoder.3.self.0"}), 3, "no such attention");
  expect_one_line(forward({"--heads-off", "decoder.0.self"}), 2, "is not a head's name");
}

TEST_F(PublishedModel, prints_logits_when_nothing_else_is_asked_for) {
  const ProgramRun text = forward({});
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.output.find("logits"), std::string::npos);
  const ProgramRun json = forward({"--json"});
  const io::Json document = io::parse_json(json.output, "output");
  EXPECT_EQ(document.find("logits")->array()->size(), 3u);
}

TEST_F(PublishedModel, is_described_by_info) {
  const ProgramRun text = run_program({"info", model_ + "/"});
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.output.find("parameters  85728"), std::string::npos) << text.output;
  EXPECT_NE(text.output.find("decoder.self: layers 3, heads per layer 3"), std::string::npos);
  const io::Json document =
      io::parse_json(run_program({"info", model_, "--json"}).output, "output");
  EXPECT_EQ(document.find("parameters")->integer(), 85728);
  EXPECT_EQ(*document.find("model_type")->text(), "gpt2");
  EXPECT_EQ(document.find("context_length")->integer(), 11);
  EXPECT_TRUE(document.find("tokenizer")->is_null());
  EXPECT_EQ(document.find("attentions")->array()->size(), 3u);
  expect_one_line(run_program({"info", folder_ / "none"}), 3, "there is no such file or folder");
}

// Words of a command line after `forward`; GPT and SEQ are folders, files lie beside them.
struct Refused {
  const char* words;
  int code;
  const char* part;
};

const Refused kRefused[] = {
    {"", 2, "MODEL: is missing"},
    {"GPT", 2, "--ids: is missing"},
    {"GPT SEQ --ids ids.npy", 2, "unexpected argument"},
    {"GPT --ids ids.txt", 2, "the ending must be .npy"},
    {"GPT --ids ids.npy --grads g.safetensors", 2, "--grads: needs --targets"},
    {"GPT --ids ids.npy --targets ids.npy --grads g.npy", 2, "the ending must be .safetensors"},
    {"GPT --ids ids.npy --only logits", 2, "--only: needs --trace"},
    {"GPT --ids ids.npy --source-lens lens.npy", 2, "--source-lens: needs --source-ids"},
    {"GPT --ids ids.npy --trace t.safetensors --grads t.safetensors --targets ids.npy", 2,
     "is the file of --trace"},
    {"GPT --ids ids.npy --logits ids.npy", 2, "is the file of --ids"},
    {"GPT --ids ids.npy --heads-off 3", 2, "is not a head's name"},
    {"GPT --ids ids.npy --heads-off decoder.0.self.-1", 2, "is not a head's name"},
    {"GPT --ids ids.npy --targest ids.npy", 2, "the nearest is --targets"},
    {"GPT --ids ids.npy --logits no/such/l.npy", 1, "there is no directory"},
    {"none --ids ids.npy", 3, "there is no such file or folder"},
    {"GPT --ids missing.npy", 3, "missing.npy"},
    {"GPT --ids half.json", 3, "1.5"},
    {"GPT --ids cube.json", 3, "shape is [1, 1, 1], (T,) or (B,T) is needed"},
    {"GPT --ids empty.json", 3, "empty.json"},
    {"GPT --ids high.json", 3, "id 17 at position 2 is outside the table of 17 rows"},
    {"GPT --ids low.json", 3, "id -1 at position 1"},
    {"GPT --ids long.json", 3, "has 13 ids, the model has positions for 12"},
    {"GPT --ids ids.npy --targets short.json", 3, "shape is [1, 2], the ids are [2, 3]"},
    {"GPT --ids short.json --targets high2.json", 3, "target 17 at position 1"},
    {"GPT --ids short.json --targets none.json", 3, "all 2 are -1, none counts for the loss"},
    {"GPT --ids ids.npy --source-ids ids.npy", 3, "takes none"},
    {"SEQ --ids ids.npy", 3, "--source-ids: is missing"},
    {"SEQ --ids ids.npy --source-ids short.json", 3, "2 sequences for 1 sources"},
    {"SEQ --ids ids.npy --source-ids ids.npy --source-lens long.json", 3,
     "shape is [13], there are 2 sources"},
    {"SEQ --ids ids.npy --source-ids ids.npy --source-lens far.json", 3, "length 4 of sequence 1"},
};

TEST(Forward, refuses_with_one_line_and_the_right_code) {
  for (const char* name : {"model-gpt2", "model-seq2seq"}) {
    if (!std::filesystem::exists(golden_path(name))) GTEST_SKIP() << name << " is not there";
  }
  const TemporaryFolder files, gpt, seq2seq;
  write_folder(gpt, kGptConfig, read_tensors(golden_path("model-gpt2")));
  write_folder(seq2seq, kSeq2SeqConfig, read_tensors(golden_path("model-seq2seq")));
  io::write_array(base::real_files(), files / "ids.npy",
                  Tensor::of({2, 3}, std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  files.put("half.json", "[1, 1.5]");
  files.put("cube.json", "[[[1]]]");
  files.put("empty.json", "[]");
  files.put("high.json", "[1, 2, 17]");
  files.put("high2.json", "[1, 17]");
  files.put("low.json", "[1, -1]");
  files.put("long.json", "[1,2,3,4,5,6,7,8,9,10,11,12,13]");
  files.put("short.json", "[1, 2]");
  files.put("none.json", "[-1, -1]");
  files.put("far.json", "[3, 4]");
  for (const Refused& refused : kRefused) {
    SCOPED_TRACE(refused.words);
    std::vector<std::string> words = {"forward"};
    std::istringstream stream(refused.words);
    for (std::string word; stream >> word;) {
      const bool is_file = word.ends_with("npy") || word.ends_with("json") ||
                           word.ends_with("txt") || word.ends_with("safetensors");
      words.push_back(word == "GPT"   ? gpt.path()
                      : word == "SEQ" ? seq2seq.path()
                      : is_file       ? files / word
                                      : word);
    }
    expect_one_line(run_program(words), refused.code, refused.part);
  }
}

TEST(Forward, of_a_bert_without_a_head_traces_its_hidden_states) {
  const TemporaryFolder folder;
  models::Bert model({.vocab_size = 11,
                      .hidden_size = 8,
                      .num_hidden_layers = 1,
                      .num_attention_heads = 2,
                      .intermediate_size = 12,
                      .max_position_embeddings = 6,
                      .masked_words = false});
  model.draw(1);
  models::save_model(base::real_files(), folder.path(), model);
  folder.put("ids.json", "[[1, 2, 3]]");
  const std::vector<std::string> words = {"forward", folder.path(), "--ids", folder / "ids.json"};
  std::vector<std::string> tracing = words;
  tracing.insert(tracing.end(), {"--trace", folder / "t.safetensors"});
  ASSERT_EQ(run_program(tracing).code, 0);
  const Tensors trace = read_tensors(folder / "t.safetensors");
  EXPECT_EQ(trace.at("encoder.output").shape(), (tensor::Shape{1, 3, 8}));
  EXPECT_EQ(trace.at("encoder.0.self.weights").shape(), (tensor::Shape{1, 2, 3, 3}));
  EXPECT_FALSE(trace.contains("logits"));
  expect_one_line(run_program(words), 3, "the model has no head that predicts words");
}

TEST(Forward, of_a_single_sequence_keeps_its_rank) {
  if (!std::filesystem::exists(golden_path("model-gpt2"))) GTEST_SKIP() << "no golden model";
  const TemporaryFolder folder;
  write_folder(folder, kGptConfig, read_tensors(golden_path("model-gpt2")));
  folder.put("ids.json", "[1, 2, 3]");
  const ProgramRun run = run_program(
      {"forward", folder.path(), "--ids", folder / "ids.json", "--logits", folder / "l.npy"});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(read_floats(folder / "l.npy").shape(), (tensor::Shape{3, 17}));
}

}  // namespace
}  // namespace headlight::test
