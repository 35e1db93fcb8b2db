// WrongRun calls of train: one line, and 2 when the command line alone is wrong, 3 when a file or
// what it holds is, 4 when there is not enough memory. All are known before any long work.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/train_runs.h"

namespace headlight::test {
namespace {

struct WrongRun {
  Words words;  // after `headlight train --out NEW`
  std::string part;
};

class WrongTraining : public testing::Test {
 protected:
  void expect_wrong(const std::vector<WrongRun>& cases, int code) {
    for (const WrongRun& wrong : cases) {
      std::string line = "headlight train";
      for (const std::string& word : wrong.words) line += " " + word;
      SCOPED_TRACE(line);
      expect_one_line(run_program(Words{"train", "--out", folder_ / "new"} + wrong.words), code,
                      wrong.part);
      EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
    }
  }
  std::string config(const std::string& text) {
    return folder_.put("config-" + std::to_string(count_++) + ".toml", text);
  }
  std::string data(const std::string& text) {
    return folder_.put("data-" + std::to_string(count_++), text);
  }

  TemporaryFolder folder_;
  int count_ = 0;
};

TEST_F(WrongTraining, has_a_key_that_is_out_of_range) {
  std::vector<WrongRun> cases;
  for (const std::string key :
       {"n_layer", "n_encoder_layer", "n_decoder_layer", "n_head", "n_embd", "d_ff", "block_size",
        "batch_size", "batch_tokens", "gradient_accumulation_steps", "max_iters", "eval_interval",
        "log_interval", "lr_decay_iters"}) {
    std::string option = "--" + key;
    std::ranges::replace(option, '_', '-');
    cases.push_back({{"--task", "copy", "--" + key, "0"}, option + " (\"0\"): must be"});
    cases.push_back({{"--task", "copy", "--" + key, "1e3"}, option});
  }
  for (const std::string key :
       {"dropout", "learning_rate", "min_lr", "weight_decay", "beta1", "beta2", "grad_clip",
        "label_smoothing", "warmup_iters", "patience"}) {
    std::string option = "--" + key;
    std::ranges::replace(option, '_', '-');
    for (const std::string value : {"-1", "nan", "1e10", "x"})
      cases.push_back({{"--task", "copy", "--" + key + "=" + value}, option});
  }
  expect_wrong(cases, 2);
}

TEST_F(WrongTraining, is_known_from_the_command_line) {
  const std::string text = data("some text");
  expect_wrong(
      {{{}, "--task: is missing"},
       {{"--task", "cpy"}, "the nearest is copy"},
       {{"--task", "copy", "--preset", "tini"}, "the nearest is tiny"},
       {{"--task", "copy", "--n_leyer", "2"}, "the nearest is --n-layer"},
       {{"--task", "copy", "--norm", "middle"}, "must be one of pre, post"},
       {{"--task", "copy", "--activation", "swish"}, "relu"},
       {{"--task", "copy", "--optimizer", "adamax"}, "the nearest is adam"},
       {{"--task", "copy", "--schedule", "cosin"}, "the nearest is cosine"},
       {{"--task", "copy", "--positions", "rotary"}, "sinusoidal"},
       {{"--task", "copy", "--tie_embeddings", "maybe"}, "must be true or false"},
       {{"--task", "copy", "--learning_rate", "0"}, "must be more than 0"},
       {{"--task", "copy", "--learning_rate", "1e-3", "--min_lr", "1e-2"},
        "--min-lr: is 0.01, more than learning_rate 0.001"},
       {{"--task", "copy", "--preset", "gpt2"}, "preset gpt2 tokenizer: task copy makes its own"},
       {{"--task", "copy", "--data", text}, "makes its own data"},
       {{"--task", "copy", "--tokenizer", "char"}, "makes its own data and tokens"},
       {{"--task", "numbers", "--valid", text}, "makes its own data"},
       {{"--task", "copy", "--batch_tokens", "9"}, "counts sequences"},
       {{"--task", "copy", "--bias", "false"}, "a headlight-seq2seq model always has true"},
       {{"--task", "lm"}, "--data: is missing"},
       {{"--task", "translate"}, "--data: is missing"},
       {{"--task", "lm", "--data", text, "--n_encoder_layer", "2"}, "n_layer"},
       {{"--task", "lm", "--data", text, "--norm", "post"}, "a gpt2 model always has pre"},
       {{"--task", "lm", "--data", text, "--positions", "sinusoidal"}, "always has learned"},
       {{"--task", "lm", "--data", text, "--arch", "lama"}, "--arch: is \"lama\", task lm trains"},
       {{"--task", "lm", "--data", text, "--arch", "lama"}, "the nearest is llama"},
       {{"--task", "lm", "--data", text, "--arch", "bert"}, "task lm trains gpt2, llama"},
       {{"--task", "copy", "--arch", "llama"}, "task copy trains headlight-seq2seq, marian"},
       {{"--task", "lm", "--data", text, "--arch", "llama", "--positions", "learned"},
        "--positions: a llama model has no such choice"},
       {{"--task", "lm", "--data", text, "--arch", "mistral", "--bias", "true"},
        "--bias: a mistral model always has false"},
       {{"--task", "lm", "--data", text, "--arch", "llama", "--sliding_window", "8"},
        "--sliding-window: a llama model has no such choice"},
       {{"--task", "lm", "--data", text, "--rope_theta", "1e5"},
        "--rope-theta: a gpt2 model has no such choice"},
       {{"--task", "lm", "--data", text, "--n_kv_head", "2"}, "a gpt2 model has no such choice"},
       {{"--task", "lm", "--data", text, "--init", "m", "--arch", "llama"}, "of --init"},
       {{"--task", "lm", "--data", text, "--batch_tokens", "5"}, "batch_size"},
       {{"--task", "lm", "--data", text, "--source", text, "--target", text}, "--source"},
       {{"--task", "translate", "--source", text}, "go together"},
       {{"--task", "translate", "--target", text}, "go together"},
       {{"--task", "translate", "--data", text, "--source", text, "--target", text}, "instead of"},
       {{"--task", "translate", "--data", text, "--batch_size", "4", "--batch_tokens", "64"},
        "--batch-tokens: has no meaning with --batch-size"},
       {{"--task", "lm", "--data", text, "--tokenizer", "bpe:10"}, "from 260 to 1,048,576"},
       {{"--task", "lm", "--data", text, "--tokenizer", "bpe:"}, "bpe:N"},
       {{"--task", "lm", "--data", text, "--tokenizer", "bpe:many"}, "bpe:N"},
       {{"--task", "lm", "--data", text, "--encoding", "klingon"}, "klingon"},
       {{"--task", "lm", "--data", text, "--init", "m", "--n_layer", "2"}, "of --init"},
       {{"--task", "lm", "--data", text, "--init", "m", "--tokenizer", "char"}, "of --init"},
       {{"--task", "copy", "--seed", "-1"}, "--seed"},
       {{"--task", "copy", "--threads", "0"}, "--threads"},
       {{"--task", "copy", "--resume=yes"}, "takes no value"},
       {{"--task", "copy", "extra"}, "unexpected argument"}},
      2);
  expect_one_line(run_program({"train", "--task", "copy"}), 2, "--out: is missing");
}

TEST_F(WrongTraining, has_data_that_do_not_fit) {
  const std::string text = data(std::string(500, 'a') + std::string(500, 'b'));
  const std::string folder = folder_.path();
  const Words lm = {"--task", "lm", "--data"}, translate = {"--task", "translate", "--data"};
  std::string many;
  for (int i = 0; i < 30; ++i) many += "a b c d\te f g h\n";
  const std::string good = data(many);
  expect_wrong(
      {{lm + Words{folder_ / "none"}, "No such file"},
       {lm + Words{folder}, "it is a directory"},
       {lm + Words{"/dev/null"}, "it is a device"},
       {lm + Words{data("")}, "is empty"},
       {lm + Words{data(std::string(45, 'a')), "--block_size", "256"},
        "has 40 tokens, block_size 256 needs 257"},
       {lm + Words{text, "--valid", data("")}, "has 0 tokens, validation needs 2"},
       {lm + Words{text, "--valid", folder_ / "none"}, "No such file"},
       {lm + Words{data("gel\xfe"
                        "dik \xe7ok g\xfczel \xfd\xf0\n")},
        "cp1254"},
       {lm + Words{data("ends with half a letter \xc3")}, "UTF-8"},
       {lm + Words{text, "--tokenizer", "chra"}, "the nearest is char"},
       {lm + Words{text, "--tokenizer", "gpt2"}, "give the folder"},
       {lm + Words{text, "--tokenizer", folder}, "tokenizer"},
       {lm + Words{text, "--n_embd", "24", "--n_head", "5"}, "not a multiple of n_head 5"},
       {lm + Words{text, "--init", folder_ / "none"}, "models that come with the program are"},
       {translate + Words{data("one column\n")}, ":1): "},
       {translate + Words{data(many + "one column\n")}, ":31): "},
       {translate + Words{data(many + "left\t \n")}, ":31): "},
       {translate + Words{data("")}, "data-"},
       {translate + Words{data("a\tb\n")}, "20"},
       {translate + Words{data(many), "--valid", data("x\n")}, ":1): "},
       {translate + Words{good, "--block_size", "3", "--tokenizer", "word"},
        "block_size (3): the longest sequence has 5 tokens; block_size 5 would do"},
       {{"--task", "translate", "--source", data("a\nb\n"), "--target", data("a\n")}, "lines"},
       {{"--task", "copy", "--block_size", "5"}, "block_size (5): the longest sequence has 11"},
       {{"--task", "copy", "--n_embd", "10", "--n_head", "4"}, "not a multiple of n_head 4"},
       {{"--task", "copy", "--n_embd", "7", "--n_head", "7"},
        "n_embd): is 7, sinusoidal positions need an even width"}},
      3);
}

TEST_F(WrongTraining, begins_with_a_model_that_does_not_fit) {
  const std::string text = data(std::string(300, 'a') + std::string(300, 'b'));
  const std::string copy = folder_ / "copy", lm = folder_ / "lm";
  ASSERT_EQ(run_program(small_copy(copy, 1)).code, 0);
  ASSERT_EQ(run_program({"train", "--task", "lm", "--data", text, "--preset", "tiny", "--max_iters",
                         "1", "--out", lm})
                .code,
            0);
  expect_wrong({{{"--task", "lm", "--data", text, "--init", copy},
                 "is of type headlight-seq2seq, task lm trains gpt2"},
                {{"--task", "copy", "--init", lm}, "is of type gpt2, task copy"},
                {{"--task", "reverse", "--init", copy}, "has 11 ids, the tokenizer 53 tokens"},
                {{"--task", "lm", "--data", text, "--init", lm, "--block_size", "64"},
                 "the model of --init reads 32 tokens"}},
               3);
  expect_wrong({{{"--task", "copy", "--init", copy, "--block_size", "64"}, "of --init"}}, 2);
}

TEST_F(WrongTraining, has_a_configuration_file_with_a_mistake) {
  const auto with = [this](const std::string& text) {
    return Words{"--config", config("task = \"copy\"\n" + text)};
  };
  expect_wrong({{{"--config", folder_ / "none"}, "No such file"},
                {{"--config", folder_.path()}, "it is a directory"},
                {with("n_layer 2"), "line 2): is not of the form key = value"},
                {with("[model]"), "line 2): is a section"},
                {with("n_leyer = 2"), "line 2 (\"n-leyer\"): is no key; the nearest is n_layer"},
                {with("n_layer = 2\nn-layer = 3"), "line 3): n-layer is given twice"},
                {with("n_layer ="), "line 2): has no value"},
                {with("n_layer = two"), "line 2"},
                {with("\n\nn_layer = 0"), "line 4"},
                {with("n_layer = \"2"), "line 2): has a quote that does not end"},
                {with("n_layer = [2]"), "line 2): \"[2]\" is not a number"},
                {with("n_layer = '2' 3"), "line 2"},
                {with("preset = huge"), "line 2"},
                {with("seed = -4"), "line 2"},
                {with("bias = perhaps"), "line 2"},
                {with("data = x"), "makes its own data"},
                {with("n_embd = 24\nn_head = 5"), "not a multiple of n_head 5"},
                {with("batch_tokens = 7"), "counts sequences"},
                {with("\xff\xfe\xfd"), "UTF-8"}},
               3);
  const std::string text = data("some text");
  expect_wrong(
      {{{"--config", config("task = lm\ndata = '" + text + "'\ntokenizer = bpe:3")}, "line 3"}}, 3);
}

TEST_F(WrongTraining, would_overwrite_or_cannot_write) {
  const auto out = [](const std::string& path) {
    return Words{"train", "--task", "copy", "--out", path};
  };
  const std::string file = data("x");
  expect_one_line(run_program(out(folder_.path())), 3, "is there already; give another name");
  expect_one_line(run_program(out(file)), 3, "is there already; give another name");
  ASSERT_EQ(run_program(small_copy(folder_ / "run", 1)).code, 0);
  expect_one_line(run_program(out(folder_ / "run")), 3,
                  "is there already; --resume goes on with its run, another name starts a new one");
  expect_one_line(run_program(out(folder_.path()) + Words{"--resume"}), 3,
                  "it is not the folder of a run");
  expect_one_line(run_program(out(file + "/run")), 1, "Not a directory");
  expect_one_line(run_program(out("/proc/run")), 1, "cannot write");
  EXPECT_EQ(folder_.get("data-0"), "x");
}

TEST_F(WrongTraining, needs_more_memory_than_there_is) {
  const std::string text = data(std::string(100000, 'a') + std::string(100000, 'b'));
  expect_wrong(
      {{{"--task", "copy", "--n_embd", "65536", "--n_head", "1", "--n_layer", "1000"}, " free"},
       {{"--task", "copy", "--n_embd", "1048576", "--n_head", "1"}, " free"},
       {{"--task", "copy", "--block_size", "1048576", "--n_embd", "65536"}, " free"},
       {{"--task", "copy", "--batch_size", "1048576", "--n_embd", "1024"}, " free"},
       {{"--task", "lm", "--data", text, "--n_layer", "1000", "--n_embd", "8192"}, " free"},
       {{"--task", "lm", "--data", text, "--batch_size", "1000000"}, " free"},
       {{"--task", "lm", "--data", text, "--block_size", "150000", "--batch_size", "1000"},
        " free"}},
      4);
}

// Who is told of the folder and gives another name should not have to come back for the number.
TEST_F(WrongTraining, is_told_before_the_folder_that_is_there_already) {
  std::filesystem::create_directories(folder_ / "old");
  const Words train = {"train", "--task", "copy", "--out", folder_ / "old"};
  expect_one_line(run_program(train + Words{"--max-iters", "1e3"}), 2,
                  "must be a whole number, at least 1; here it is written 1000");
  expect_one_line(run_program(train), 3, "is there already");
}

}  // namespace
}  // namespace headlight::test
