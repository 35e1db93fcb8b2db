// What models, tokenizers and file names hold does not steer the terminal it is shown on.
#include <gtest/gtest.h>

#include <regex>

#include "tests/cli/arrays.h"
#include "tests/cli/pseudo_terminal.h"
#include "tests/cli/train_runs.h"
#include "tests/infer/support.h"

namespace headlight::test {
namespace {

// A window's title, a cleared screen, a colour by a control beyond ASCII, a bell, a backspace, a
// return, a deletion, a turned direction, and what may pass: a tab and a line break.
constexpr std::string_view kNasty =
    "\x1b]0;owned\x07 \x1b[2J\u009b31m\b\r\x7f \u202e \u2066 \u2028 x\ty\nz \x1b[31m";
// The same as a terminal is to be shown it.
constexpr std::string_view kShown =
    R"(\x1b]0;owned\x07 \x1b[2J\u009b31m\x08\x0d\u007f \u202e \u2066 \u2028 x)"
    "\ty\n"
    R"(z \x1b[31m)";

// The first place where a terminal would be steered; nothing where there is none.
std::string control_in(const std::string& shown) {
  for (size_t at = 0; at < shown.size();) {
    const size_t length = std::max<size_t>(io::code_point_length(shown, at), 1);
    const char32_t point = io::code_point_length(shown, at) > 1
                               ? text::code_point_at(shown, at).value
                               : static_cast<unsigned char>(shown[at]);
    const bool may_pass = point == U'\n' || point == U'\t';
    const bool is_control = point < U' ' || (point >= 0x7f && point < 0xa0) ||
                            (point >= 0x2028 && point <= 0x202e) ||
                            (point >= 0x2066 && point <= 0x2069);
    if (is_control && !may_pass) return "byte " + std::to_string(at) + " of " + shown;
    at += length;
  }
  return "";
}

class ControlSequences : public testing::Test {
 protected:
  ControlSequences() {
    save_gpt();
    save_translator();
    folder_.put("ids.json", "[0, 1]");
  }

  // Each letter is a token, so that every sequence is split over several.
  void save_gpt() {
    const std::string_view texts[] = {kNasty};
    const text::Tokenizer letters = text::char_tokenizer(texts, {"<end>", "<start>"});
    std::vector<int64_t> ids = letters.encode(std::string(kNasty));
    ids.push_back(*letters.special().eos);
    ids_ = ids;
    save("gpt", infer::scripted_gpt(ids, letters.size()), letters);
  }
  // Whatever it writes is a control.
  void save_translator() {
    const std::string_view texts[] = {"\x1b\x07\u009b\x7f\u202e"};
    const text::Tokenizer letters = text::char_tokenizer(texts, text::sequence_tokens());
    models::Seq2SeqConfig config = models::small_seq2seq();
    config.vocab_size = letters.size();
    config.max_position_embeddings = 24;
    config.special_ids = {.padding = 0, .begin = 1, .end = 2, .decoder_start = 1};
    models::Seq2Seq model(config);
    models::fill(model, 12);
    save("translator", model, letters);
  }
  void save(const std::string& name, const models::Model& model, const text::Tokenizer& tokenizer) {
    base::make_directories(base::real_files(), folder_ / name);
    models::save_model(base::real_files(), folder_ / name, model);
    tokenizer.save(base::real_files(), folder_ / name);
  }
  std::string id_list() const {
    std::string list;
    for (const int64_t id : ids_) list.append(list.empty() ? "" : ",").append(std::to_string(id));
    return list;
  }

  TemporaryFolder folder_;
  std::vector<int64_t> ids_;
};

TEST_F(ControlSequences, are_shown_when_a_model_writes_them) {
  const Words words = {"generate", folder_ / "gpt", "--prompt", "x"};
  for (const Words& more : {Words{}, {"--beam", "2"}, {"--no-cache"}}) {
    const TerminalRun run = run_at_terminal(words + more);
    EXPECT_EQ(run.code, 0);
    EXPECT_NE(run.shown.find(kShown), std::string::npos) << run.shown;
    EXPECT_EQ(control_in(run.shown), "");
  }
  EXPECT_EQ(run_program(words).output, std::string(kNasty) + "\n");
}

TEST_F(ControlSequences, are_shown_in_translations) {
  for (const Words& more : {Words{}, {"--beam", "2"}}) {
    const Words words = Words{"translate", folder_ / "translator", "--text", "\x1b\x07"} + more;
    const std::string plain = run_program(words).output;
    EXPECT_NE(control_in(plain), "") << "the model writes some";
    const TerminalRun run = run_at_terminal(words);
    EXPECT_EQ(run.code, 0);
    EXPECT_EQ(control_in(run.shown), "");
    EXPECT_EQ(run.shown, text::printable_lines(plain));
  }
}

TEST_F(ControlSequences, are_shown_when_ids_are_decoded) {
  const Words words = {"tokenize", folder_ / "gpt", "--decode", id_list()};
  EXPECT_TRUE(run_program(words).output.starts_with(kNasty));
  const TerminalRun run = run_at_terminal(words);
  EXPECT_EQ(run.code, 0);
  EXPECT_TRUE(run.shown.starts_with(kShown)) << run.shown;
  EXPECT_EQ(control_in(run.shown), "");
}

// A document stays the same document.
TEST_F(ControlSequences, are_escaped_in_json) {
  for (const Words& words : {Words{"tokenize", folder_ / "gpt", "--decode", id_list(), "--json"},
                             {"tokenize", folder_ / "gpt", "--text", std::string(kNasty), "--json"},
                             {"generate", folder_ / "gpt", "--prompt", "x", "--json"},
                             {"translate", folder_ / "translator", "--text", "\x1b", "--json"}}) {
    SCOPED_TRACE(words[0]);
    const TerminalRun run = run_at_terminal(words);
    EXPECT_EQ(run.code, 0);
    EXPECT_EQ(control_in(run.shown), "");
    EXPECT_EQ(io::parse_json(run.shown, "shown"), io::parse_json(run_program(words).output, "run"));
  }
}

TEST_F(ControlSequences, are_shown_wherever_tokens_and_names_are) {
  std::string config = folder_.get("gpt/config.json");
  config.insert(1, R"("key\u001b[2J\u009b":"value\u001b[2J\u009b\u007f",)");
  folder_.put("gpt/config.json", config);
  const std::string strange = folder_ / "\x1b[2J\u009b\u202e";
  std::filesystem::copy(folder_ / "gpt", strange);
  for (const Words& words :
       {Words{"tokenize", strange, "--text", std::string(kNasty)},
        {"info", strange},
        {"explain", strange, "--text", "x\x1b\x07", "--only", "1-3"},
        {"explain", strange, "--text", std::string(kNasty), "--format", "json", "--only", "1"},
        {"forward", strange, "--ids", folder_ / "ids.json"},
        {"forward", strange, "--ids", strange + "/none.npy"},
        {"generate", strange, "--prompt", "x", "--heads-off", "\x1b[2J\u009b"},
        {"generate", folder_ / "none\x1b[2J\u009b\xff\u202e", "--prompt", "x"},
        {"generate", strange, "--prompt", "\x1b[2J unknown \u009c"},
        {"\x1b[2J\u009b"},
        {"info", "--\x1b[2J\u009b"},
        {"lesson", "\x1b[2J\u009b\x9b"}}) {
    SCOPED_TRACE(words[0] + " " + text::printable(words.back()));
    // Quiet: what takes longer than a second shows its progress.
    const TerminalRun run = run_at_terminal(words, {"NO_COLOR=1", "HEADLIGHT_QUIET=1"});
    EXPECT_EQ(control_in(run.shown), "");
    EXPECT_NE(run.shown, "");
  }
}

TEST_F(ControlSequences, leave_the_program_its_colours) {
  const TerminalRun run =
      run_at_terminal({"explain", folder_ / "gpt", "--text", "x\x1b\x07"}, {"TERM=xterm"});
  EXPECT_EQ(run.code, 0);
  const std::regex color("\x1b\\[[0-9;]*m");
  EXPECT_TRUE(std::regex_search(run.shown, color));
  EXPECT_EQ(control_in(std::regex_replace(run.shown, color, "")), "");
}

TEST_F(ControlSequences, are_shown_where_training_says_what_it_does) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "\x1b[2J\u009b\x7f\x07";
  const TerminalRun run = run_at_terminal(
      {"train", "--task", "lm", "--data", folder_.put("\x1b[2J.txt", text), "--block_size", "8",
       "--n_layer", "1", "--n_head", "1", "--n_embd", "8", "--max_iters", "4", "--eval_interval",
       "2", "--out", folder_ / "run\x1b[2J"});
  EXPECT_EQ(run.code, 0) << run.shown;
  // The program's own: back to the line's beginning, up by lines, and clear.
  const std::regex own("\r|\x1b\\[[0-9]*[KAJm]");
  EXPECT_EQ(run.shown.find("\x1b[2J"), std::string::npos) << run.shown;
  EXPECT_EQ(control_in(std::regex_replace(run.shown, own, "")), "");
}

TEST_F(ControlSequences, are_shown_in_the_names_of_files_that_were_written) {
  const std::string query = write_numbers(folder_ / "x.npy", {3, 4});
  const TerminalRun run =
      run_at_terminal({"attend", "--query", query, "--out", folder_ / "\x1b[2J\u009b.npy"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(control_in(run.shown), "");
}

}  // namespace
}  // namespace headlight::test
