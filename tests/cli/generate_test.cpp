// `headlight generate`, `translate` and `embed` as users call them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "headlight/io/io.h"
#include "tests/cli/model_folders.h"
#include "tests/cli/program.h"
#include "tests/places.h"

namespace headlight::test {
namespace {

const std::string kScript = ModelFolders::kScript;

std::vector<std::string> with(std::vector<std::string> words, std::vector<std::string> more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string output_of(const std::vector<std::string>& words, const Surroundings& around = {}) {
  const ProgramRun run = run_program(words, around);
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.errors, "");
  return run.output;
}

io::Json json_of(const std::vector<std::string>& words, const Surroundings& around = {}) {
  return io::parse_json(output_of(with(words, {"--json"}), around), "output");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class GenerateCommand : public testing::Test {
 protected:
  std::string generated(const std::vector<std::string>& more, const Surroundings& around = {}) {
    return output_of(with({"generate", model_folders().gpt()}, more), around);
  }
  TemporaryFolder folder_;
};

TEST_F(GenerateCommand, prints_the_continuation_alone) {
  EXPECT_EQ(generated({"--prompt", "a"}), kScript + "\n");
  EXPECT_EQ(generated({"--prompt", "a", "--max-new-tokens", "4"}), "ağaç\n");
  EXPECT_EQ(generated({"--prompt", "a", "--max_new_tokens=0"}), "\n");
}

TEST_F(GenerateCommand, puts_before_a_prompt_what_its_tokenizer_puts_before_a_text) {
  const std::string folder = folder_ / "framed";
  std::filesystem::copy(model_folders().gpt(), folder);
  std::string tokenizer = folder_.get("framed/tokenizer.json");
  const std::string none = R"("post_processor":null)";
  ASSERT_NE(tokenizer.find(none), std::string::npos);
  tokenizer.replace(
      tokenizer.find(none), none.size(),
      R"("post_processor":{"type":"BertProcessing","sep":["<end>",0],"cls":["<start>",1]})");
  folder_.put("framed/tokenizer.json", tokenizer);
  const auto prompt = [&](const std::vector<std::string>& more) {
    return *json_of(with({"generate", folder, "--max-new-tokens", "1"}, more)).find("prompt_ids");
  };
  const io::Json plain = prompt({"--prompt", "a"});
  ASSERT_EQ(plain.array()->size(), 2U);
  EXPECT_EQ((*plain.array())[0], io::Json(1));
  EXPECT_EQ(prompt({"--prompt", "<start>a", "--special"}), plain);
  EXPECT_EQ(prompt({"--prompt-ids", "2"}).array()->size(), 1U);
}

TEST_F(GenerateCommand, takes_the_prompt_from_a_file_from_ids_or_from_standard_input) {
  const std::string expected = generated({"--prompt", "ağ"});
  EXPECT_EQ(expected, kScript.substr(1) + "\n");
  EXPECT_EQ(generated({"--prompt-file", folder_.put("p.txt", "ağ")}), expected);
  EXPECT_EQ(generated({"--prompt-file", folder_.put("q.txt", "ağ\r\n")}), expected);
  EXPECT_EQ(generated({}, {.input_path = folder_.put("r.txt", "ağ\n")}), expected);
  EXPECT_EQ(generated({"--prompt-ids", "3,4"}), expected);
  EXPECT_EQ(generated({"--encoding", "cp1254"}, {.input_path = folder_.put("s.txt", "a\xf0")}),
            expected);
}

TEST_F(GenerateCommand, without_a_prompt_starts_as_the_tokenizer_says) {
  EXPECT_EQ(generated({}, {.input_path = "/dev/null"}), kScript + "\n");
  EXPECT_EQ(generated({}, {.close_input = true}), kScript + "\n");
}

TEST_F(GenerateCommand, ends_before_a_stop_text) {
  EXPECT_EQ(generated({"--prompt", "a", "--stop", " yol"}), "ağaç: 한국\n");
  EXPECT_EQ(generated({"--prompt", "a", "--stop", "국 y", "--beam", "2"}), "ağaç: 한\n");
  EXPECT_EQ(generated({"--prompt", "a", "--stop", "zz"}), kScript + "\n");
}

TEST_F(GenerateCommand, gives_all_there_is_to_know_as_json) {
  const io::Json json = json_of({"generate", model_folders().gpt(), "--prompt", "a"});
  EXPECT_EQ(*json.find("text")->text(), kScript);
  EXPECT_EQ(*json.find("stopped")->text(), "end");
  EXPECT_EQ(json.find("prompt_ids")->array()->size(), 1U);
  const size_t count = json.find("ids")->array()->size();
  EXPECT_EQ(count, 13U);
  double sum = 0;
  for (const io::Json& number : *json.find("log_probabilities")->array()) sum += *number.number();
  EXPECT_EQ(json.find("log_probabilities")->array()->size(), count + 1);  // the end's too
  EXPECT_NEAR(*json.find("log_probability")->number(), sum, 1e-9);
}

TEST_F(GenerateCommand, searches_with_beams) {
  const std::vector<std::string> words = {"generate", model_folders().gpt(), "--prompt", "a"};
  EXPECT_EQ(output_of(with(words, {"--beam", "3"})), kScript + "\n");
  const io::Json json = json_of(with(words, {"--beam", "3", "--length-penalty", "0"}));
  const io::Json::Array& hypotheses = *json.find("hypotheses")->array();
  ASSERT_EQ(hypotheses.size(), 3U);
  EXPECT_EQ(*json.find("text")->text(), kScript);
  EXPECT_EQ(*hypotheses[0].find("score")->number(), *json.find("score")->number());
  EXPECT_EQ(*hypotheses[0].find("score")->number(),
            *hypotheses[0].find("log_probability")->number());
  EXPECT_GT(*hypotheses[0].find("score")->number(), *hypotheses[1].find("score")->number());
}

// The model has a context of 14 and writes its script by the number of ids it has read.
TEST_F(GenerateCommand, goes_past_the_context_and_says_so_once) {
  const std::vector<std::string> words = {"generate", model_folders().bare_gpt(), "--prompt-ids",
                                          "3",        "--max-new-tokens",         "40"};
  const ProgramRun run = run_program(words);
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(std::ranges::count(run.output, ','), 39) << run.output;
  EXPECT_EQ(run.errors,
            "The context of 14 tokens is full; generation continues from the last 7. To end there "
            "instead: --context stop\n");
  EXPECT_EQ(run_program(with(words, {"--no-cache"})).output, run.output);
  EXPECT_EQ(run_program(with(words, {"--context", "slide"})).output, run.output);
  const ProgramRun quiet = run_program(with(words, {"--quiet"}));
  EXPECT_EQ(quiet.output, run.output);
  EXPECT_EQ(quiet.errors, "");
  const ProgramRun as_json = run_program(with(words, {"--json"}));
  EXPECT_EQ(as_json.errors, run.errors);
  const io::Json json = io::parse_json(as_json.output, "output");
  EXPECT_EQ(*json.find("stopped")->text(), "limit");
  EXPECT_EQ(*json.find("context_slides")->integer(), 4);
  EXPECT_EQ(json.find("ids")->array()->size(), 40U);
}

TEST_F(GenerateCommand, stops_at_the_context_when_told_to) {
  const std::vector<std::string> words = {"generate", model_folders().bare_gpt(), "--prompt-ids",
                                          "3",        "--max-new-tokens",         "40"};
  const io::Json stopped = json_of(with(words, {"--context", "stop"}));
  EXPECT_EQ(*stopped.find("stopped")->text(), "context");
  EXPECT_EQ(stopped.find("ids")->array()->size(), 14U);
  EXPECT_EQ(stopped.find("context_slides"), nullptr);
  const io::Json beam = json_of(with(words, {"--beam", "2"}));
  EXPECT_EQ(*beam.find("stopped")->text(), "context");
  EXPECT_EQ(json_of(with(words, {"--beam", "2", "--context", "stop"})), beam);
  expect_one_line(run_program(with(words, {"--beam", "2", "--context", "slide"})), 2,
                  "slide has no meaning with --beam");
  expect_one_line(run_program(with(words, {"--context", "slid"})), 2,
                  "must be one of slide, stop; the nearest is slide");
}

TEST_F(GenerateCommand, without_a_tokenizer_prints_ids) {
  const std::vector<std::string> words = {"generate", model_folders().bare_gpt(), "--prompt-ids",
                                          "3"};
  const std::string ids = output_of(with(words, {"--max-new-tokens", "3"}));
  EXPECT_TRUE(ids.ends_with('\n'));
  EXPECT_EQ(std::ranges::count(ids, ','), 2);
  EXPECT_EQ(output_of(with(words, {"--max-new-tokens", "3", "--beam", "2"})), ids);
  EXPECT_EQ(json_of(with(words, {"--max-new-tokens", "3"})).find("text"), nullptr);
}

TEST_F(GenerateCommand, samples_the_same_for_the_same_seed_with_and_without_the_cache) {
  const std::vector<std::string> hot = {"--prompt", "a", "--temperature", "9", "--quiet"};
  const std::string seven = generated(with(hot, {"--seed", "7"}));
  EXPECT_EQ(generated(with(hot, {"--seed", "7", "--no-cache", "--threads", "1"})), seven);
  EXPECT_NE(generated(with(hot, {"--seed", "8"})), seven);
  EXPECT_EQ(generated({"--prompt", "a", "--top-k", "1"}), kScript + "\n");
  EXPECT_EQ(generated(with(hot, {"--top-p", "0.001"})), kScript + "\n");
  EXPECT_EQ(generated(with(hot, {"--min-p", "1"})), kScript + "\n");
}

TEST_F(GenerateCommand, can_leave_out_heads) {
  // A head that adds nothing changes nothing.
  EXPECT_EQ(generated({"--prompt", "a", "--heads-off", "decoder.0.self.0"}), kScript + "\n");
  const std::string sorter = tests::shared_folder() + "/data/gpt-nano-sort";
  if (access(sorter.c_str(), R_OK) != 0) GTEST_SKIP() << sorter << " is not there";
  const std::vector<std::string> words = {"generate",    sorter,      "--prompt-ids",
                                          "2,1,0,1,2,0", "--context", "stop"};
  const std::vector<std::string> off = {"--heads-off", "decoder.0.self.0,decoder.1.self.2"};
  const io::Json whole = json_of(words);
  const io::Json part = json_of(with(words, off));
  EXPECT_NE(whole, part);
  EXPECT_EQ(part, json_of(with(with(words, off), {"--no-cache"})));
}

// Reads until `expected` has come or the other end closes.
std::string read_at_least(int file, size_t expected) {
  std::string text;
  char buffer[256];
  while (text.size() < expected) {
    const ssize_t count = read(file, buffer, sizeof buffer);
    if (count <= 0) break;
    text.append(buffer, static_cast<size_t>(count));
  }
  return text;
}

// Such a socket keeps writes apart: each is read as it was written.
TEST_F(GenerateCommand, streams_whole_code_points) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  Program program({"generate", model_folders().gpt(), "--prompt", "a"}, {.output_file = ends[1]});
  close(ends[1]);
  std::vector<std::string> pieces;
  char buffer[256];
  for (ssize_t count = 0; (count = read(ends[0], buffer, sizeof buffer)) > 0;) {
    pieces.emplace_back(buffer, static_cast<size_t>(count));
  }
  close(ends[0]);
  EXPECT_EQ(program.finish().code, 0);
  EXPECT_EQ(pieces, (std::vector<std::string>{"a", "ğ", "a", "ç", ":", " ", "한", "국", " ", "y",
                                              "o", "l", ".", "\n"}));
}

TEST_F(GenerateCommand, says_that_its_output_is_full) {
  expect_one_line(run_program({"generate", model_folders().gpt(), "--prompt", "a"},
                              {.output_path = "/dev/full"}),
                  4, "standard output: No space left");
}

class TranslateCommand : public testing::Test {
 protected:
  const std::vector<std::string> kWords = {"translate", model_folders().translator()};
  TemporaryFolder folder_;
};

TEST_F(TranslateCommand, gives_a_line_for_each_line) {
  const std::string path = folder_.put("in.txt", "abc\n\nhij a\r\nb");
  const std::vector<std::string> lines = lines_of(output_of(kWords, {.input_path = path}));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[1], "");
  for (const auto& [source, line] :
       {std::pair<const char*, size_t>{"abc", 0}, {"hij a", 2}, {"b", 3}}) {
    EXPECT_EQ(output_of(with(kWords, {"--text", source})), lines[line] + "\n");
  }
  EXPECT_EQ(output_of(kWords, {.input_path = "/dev/null"}), "");
}

TEST_F(TranslateCommand, gives_scores_as_json) {
  const io::Json greedy = json_of(with(kWords, {"--text", "abc"}));
  const io::Json one = json_of(with(kWords, {"--text", "abc", "--beam", "1"}));
  EXPECT_EQ(*greedy.find("source")->text(), "abc");
  EXPECT_EQ(*greedy.find("ids"), *one.find("ids"));
  EXPECT_EQ(*greedy.find("log_probability"), *one.find("log_probability"));
  EXPECT_EQ(greedy.find("score"), nullptr);
  const io::Json four =
      json_of(with(kWords, {"--text", "abc", "--beam", "4", "--length-penalty", "0.6"}));
  EXPECT_EQ(four.find("hypotheses")->array()->size(), 4U);
  const std::string path = folder_.put("in.txt", "abc\n\nb\n");
  const auto lines = lines_of(output_of(with(kWords, {"--json"}), {.input_path = path}));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(io::parse_json(lines[0], "line"), greedy);
  EXPECT_EQ(*io::parse_json(lines[1], "line").find("text")->text(), "");
}

TEST_F(TranslateCommand, answers_the_lines_before_one_that_is_wrong_and_names_it) {
  const std::vector<std::string> words = {"translate", model_folders().strict_translator()};
  const std::string good = output_of(words, {.input_path = folder_.put("good.txt", "abc\n\nb\n")});
  struct Wrong {
    std::string line, part;
  };
  for (const Wrong& wrong : std::vector<Wrong>{
           {"aQ", R"(translate (standard input, line 4): text ("Q"): is not in the vocabulary)"},
           {std::string(25, 'a'), "translate (standard input, line 4): has 25 tokens"},
           {"a\xe7 se\xe7 \xfe", "(standard input, line 4): not UTF-8 at byte 1; it looks like"}}) {
    SCOPED_TRACE(wrong.part);
    const std::string path = folder_.put("in.txt", "abc\n\nb\n" + wrong.line + "\nabc\n");
    const ProgramRun run = run_program(words, {.input_path = path});
    EXPECT_EQ(run.code, 3);
    EXPECT_EQ(run.output, good);
    EXPECT_NE(run.errors.find(wrong.part), std::string::npos) << run.errors;
    EXPECT_EQ(std::ranges::count(run.errors, '\n'), 1) << run.errors;
  }
}

TEST_F(TranslateCommand, keeps_to_a_limit) {
  const io::Json json = json_of(with(kWords, {"--text", "abc", "--max-new-tokens", "1"}));
  EXPECT_LE(json.find("ids")->array()->size(), 1U);
}

TEST_F(TranslateCommand, answers_each_line_as_it_comes) {
  int input[2];
  int output[2];
  ASSERT_EQ(pipe2(input, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(output, O_CLOEXEC), 0);
  Program program(kWords, {.input_file = input[0], .output_file = output[1]});
  close(input[0]);
  close(output[1]);
  for (const std::string line : {"abc", "hij a"}) {
    const std::string expected = output_of(with(kWords, {"--text", line}));
    // Half a line is no line yet.
    ASSERT_EQ(write(input[1], line.data(), 2), 2);
    usleep(20000);
    const std::string rest = line.substr(2) + "\n";
    ASSERT_EQ(write(input[1], rest.data(), rest.size()), static_cast<ssize_t>(rest.size()));
    EXPECT_EQ(read_at_least(output[0], expected.size()), expected);
  }
  close(input[1]);
  EXPECT_EQ(program.finish().code, 0);
  close(output[0]);
}

TEST(EmbedCommand, answers_the_lines_before_one_that_is_wrong) {
  const TemporaryFolder folder;
  const std::vector<std::string> words = {"embed", model_folders().encoder()};
  const std::string good = output_of(words, {.input_path = folder.put("good.txt", "a house\n")});
  const std::string path = folder.put("in.txt", "a house\na a a a a a a a a a a\na\n");
  const ProgramRun run = run_program(words, {.input_path = path});
  EXPECT_EQ(run.code, 3);
  EXPECT_EQ(run.output, good);
  EXPECT_NE(run.errors.find("embed (standard input, line 2): has 13 tokens"), std::string::npos)
      << run.errors;
}

TEST(EmbedCommand, follows_the_settings_of_sentence_transformers) {
  const TemporaryFolder folder;
  const std::string model = folder / "model";
  std::filesystem::copy(model_folders().encoder(), model);
  const auto vector = [&](const std::string& text) {
    return output_of({"embed", model, "--text", text});
  };
  const std::string mean = vector("a house");
  EXPECT_EQ(run_program({"embed", model, "--text", "a a a a a a a a a a a"}).code, 3);
  std::filesystem::create_directories(model + "/1_Pooling");
  folder.put("model/1_Pooling/config.json", R"({"pooling_mode_cls_token":true})");
  EXPECT_NE(vector("a house"), mean);
  folder.put("model/1_Pooling/config.json", R"({"pooling_mode_mean_tokens":true})");
  EXPECT_EQ(vector("a house"), mean);
  // [CLS] a house [SEP], whatever follows.
  folder.put("model/sentence_bert_config.json", R"({"max_seq_length":4,"do_lower_case":true})");
  EXPECT_EQ(vector("a house . small a a a a a a a a"), mean);
  EXPECT_EQ(vector("A House"), mean);
  folder.put("model/1_Pooling/config.json", R"({"pooling_mode_max_tokens":true})");
  expect_one_line(run_program({"embed", model, "--text", "a"}), 3, "pooling_mode): is max_tokens");
}

TEST(EmbedCommand, gives_vectors_of_length_one) {
  const TemporaryFolder folder;
  const std::vector<std::string> words = {"embed", model_folders().encoder()};
  const std::string path = folder.put("in.txt", "a small house.\na house\n");
  const auto lines = lines_of(output_of(words, {.input_path = path}));
  ASSERT_EQ(lines.size(), 2U);
  for (const std::string& line : lines) {
    std::istringstream stream(line);
    double squares = 0;
    int count = 0;
    for (double number; stream >> number; ++count) squares += number * number;
    EXPECT_EQ(count, 24);
    EXPECT_NEAR(squares, 1, 1e-5);
  }
  EXPECT_EQ(output_of(with(words, {"--text", "a house"})), lines[1] + "\n");
  const io::Json json = json_of(with(words, {"--text", "A HOUSE"}));
  EXPECT_EQ(*json.find("text")->text(), "A HOUSE");
  const io::Json::Array& numbers = *json.find("vector")->array();
  ASSERT_EQ(numbers.size(), 24U);
  EXPECT_EQ(io::number_text(static_cast<float>(*numbers[0].number())),
            lines[1].substr(0, lines[1].find(' ')));
}

}  // namespace
}  // namespace headlight::test
