// `headlight chat`: a turn for each line, the model's template, what is refused, and a person at a
// terminal.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "headlight/io/io.h"
#include "headlight/text/text.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/program.h"
#include "tests/cli/terminal.h"
#include "tests/places.h"

namespace headlight::test {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kTemplate =
    "{% for m in messages %}{{ '\\n' if not loop.first }}{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ word }}{% endif %}";

class ChatCommand : public testing::Test {
 protected:
  Words command(const Words& more = {}) const {
    Words words = {"chat", "stories", "--template", template_, "--max-new-tokens", "8"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  ProgramRun run(const std::string& input, const Words& more = {}) const {
    return run_program(command(more), {.input_path = folder_.put("input", input)});
  }

  std::vector<io::Json> events(const std::string& input, const Words& more = {}) const {
    Words words = more;
    words.push_back("--json");
    const ProgramRun result = run(input, words);
    EXPECT_EQ(result.code, 0) << result.errors;
    std::vector<io::Json> lines;
    std::istringstream stream(result.output);
    for (std::string line; std::getline(stream, line);) {
      lines.push_back(io::parse_json(line, "output"));
    }
    return lines;
  }

  static std::string text_of(const io::Json& event) { return *event.find("text")->text(); }
  static int64_t number_of(const io::Json& event, const char* name) {
    return *event.find(name)->integer();
  }

  const TemporaryFolder folder_;
  const std::string template_ = folder_.put("turns.jinja", kTemplate);
};

TEST_F(ChatCommand, answers_each_line_and_remembers_what_was_said) {
  const std::vector<io::Json> both = events("Once upon a time\nTom had a ball\n");
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(*both[0].find("event")->text(), "answer");
  EXPECT_EQ(number_of(both[0], "turn"), 1);
  EXPECT_EQ(number_of(both[0], "reused_tokens"), 0);
  EXPECT_EQ(number_of(both[1], "turn"), 2);
  EXPECT_GE(number_of(both[1], "reused_tokens"), number_of(both[0], "prompt_tokens"));
  EXPECT_GT(number_of(both[1], "prompt_tokens"), number_of(both[0], "prompt_tokens"));
  // What the template writes is what `generate` would go on from.
  const ProgramRun same =
      run_program({"generate", "stories", "--max-new-tokens", "8", "--json", "--prompt",
                   "Once upon a time\n" + text_of(both[0]) + "\nTom had a ball"});
  const io::Json generated = io::parse_json(same.output, "output");
  EXPECT_EQ(*generated.find("ids"), *both[1].find("ids"));
  EXPECT_EQ(*generated.find("log_probability"), *both[1].find("log_probability"));
}

TEST_F(ChatCommand, prints_answers_alone_where_lines_are_piped) {
  const std::vector<io::Json> both = events("Once\nupon");
  const ProgramRun result = run("Once\r\n\n  \nupon");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(result.output, text_of(both[0]) + "\n" + text_of(both[1]) + "\n");
  EXPECT_EQ(run("").output, "");
}

TEST_F(ChatCommand, gives_the_same_answers_for_the_same_seed) {
  const Words sampled = {"--temperature", "1.5", "--seed", "7"};
  const std::string input = "Once\nOnce\n";
  const ProgramRun first = run(input, sampled);
  EXPECT_EQ(first.output, run(input, sampled).output);
  EXPECT_NE(first.output, run(input, {"--temperature", "1.5", "--seed", "8"}).output);
}

TEST_F(ChatCommand, takes_commands_among_the_lines) {
  const std::vector<io::Json> events_of =
      events("Once\n/reset\nOnce\n/system Tom\nOnce\n/system\nOnce\n/other\n/quit\nOnce\n");
  ASSERT_EQ(events_of.size(), 5u);
  EXPECT_EQ(text_of(events_of[1]), text_of(events_of[0]));
  EXPECT_GT(number_of(events_of[2], "prompt_tokens"), number_of(events_of[0], "prompt_tokens"));
  EXPECT_EQ(text_of(events_of[3]), text_of(events_of[0]));
  EXPECT_GT(number_of(events_of[4], "prompt_tokens"), number_of(events_of[3], "prompt_tokens"));
  EXPECT_EQ(text_of(events("Once\n", {"--system", "Tom"})[0]), text_of(events_of[2]));
}

TEST_F(ChatCommand, hands_further_names_to_the_template) {
  const auto ids = [&](const std::string& names) {
    return number_of(events("Once\n", {"--template-set", names})[0], "prompt_tokens");
  };
  EXPECT_GT(ids("word=and then,other=1"), ids("word=\"\""));
  expect_one_line(run("Once\n", {"--template-set", "word"}), 2,
                  "--template-set (\"word\"): is not NAME=VALUE, as enable_thinking=false");
}

TEST_F(ChatCommand, leaves_out_the_oldest_where_the_context_is_full) {
  std::string input;
  for (int i = 0; i < 40; ++i) input += "Tom had a red ball and Lily had a blue ball.\n";
  const ProgramRun result = run(input, {"--json"});
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.errors.find("the oldest messages are forgotten"), std::string::npos);
  EXPECT_NE(result.output.find("\"left_out\":"), std::string::npos);
  const ProgramRun stopped = run(input, {"--context", "stop"});
  EXPECT_EQ(stopped.code, 3);
  EXPECT_NE(stopped.errors.find("--context slide leaves out the oldest messages"),
            std::string::npos);
}

TEST_F(ChatCommand, says_what_is_wrong_with_models_templates_and_lines) {
  const auto chat = [&](const Words& words, const std::string& input) {
    return run_program(words, {.input_path = folder_.put("input", input)});
  };
  expect_one_line(chat({"chat", "stories"}, "Once\n"), 3,
                  "has no chat template: neither chat_template.jinja nor \"chat_template\" in "
                  "tokenizer_config.json or a GGUF file; --template FILE gives one");
  expect_one_line(chat({"chat", "numbers"}, "one\n"), 3, "answers");
  const std::string bad = folder_.put("bad.jinja", "\n{% if %}");
  expect_one_line(chat({"chat", "stories", "--template", bad}, "Once\n"), 3,
                  "chat template (" + bad + ", line 2): unexpected %}");
  const std::string strict = folder_.put("strict.jinja", "{{ raise_exception('No!') }}");
  expect_one_line(chat({"chat", "stories", "--template", strict}, "Once\n"), 3,
                  "chat template (" + strict + ", line 1): says: No!");
  expect_one_line(run("\xff\n"), 3, "standard input, line 1");
  std::string much;
  for (int i = 0; i < 1000; ++i) much += "Tom had a ball. ";
  expect_one_line(run("Once\n", {"--system", much}), 3, "shorten the system message");
  expect_one_line(run(much + "\n", {"--system", "Tom"}), 3, "shorten the message");
  expect_one_line(run("Once\n", {"--stop", ""}), 2, "an empty stop text");
}

TEST_F(ChatCommand, keeps_what_is_typed_text) {
  folder_.put("special.jinja", "{{ messages[0].content }}");
  const Words special = {"chat",   "stories",          "--template", folder_ / "special.jinja",
                         "--json", "--max-new-tokens", "1"};
  const auto prompt_tokens = [&](Words words) {
    const ProgramRun result =
        run_program(words, {.input_path = folder_.put("input", "<|endoftext|>\n")});
    EXPECT_EQ(result.code, 0) << result.errors;
    return number_of(io::parse_json(result.output, "output"), "prompt_tokens");
  };
  Words with_special = special;
  with_special.push_back("--special");
  EXPECT_GT(prompt_tokens(special), 1);
  EXPECT_LE(prompt_tokens(with_special), prompt_tokens(special));
}

TEST_F(ChatCommand, talks_to_a_person_at_a_terminal) {
  Terminal terminal(command());
  ASSERT_TRUE(terminal.wait_for("/help lists the commands"));
  terminal.type("/help\n");
  ASSERT_TRUE(terminal.wait_for("/reset forgets the conversation"));
  terminal.type("Once\n");
  ASSERT_TRUE(terminal.wait_for("reached the limit"));
  terminal.type("/reset\n");
  ASSERT_TRUE(terminal.wait_for("The conversation begins anew."));
  terminal.type("\x04");
  EXPECT_EQ(terminal.finish(), 0);
}

// The kernel keeps 4095 bytes of a typed line and says nothing of the rest.
TEST_F(ChatCommand, sends_no_message_that_the_terminal_has_cut) {
  Terminal terminal(command());
  ASSERT_TRUE(terminal.wait_for("/help lists the commands"));
  for (int i = 0; i < 50; ++i) {
    terminal.type(std::string(100, 'a'));
    terminal.watch(std::chrono::milliseconds(20));  // what is echoed must be read
  }
  terminal.type("\n");
  ASSERT_TRUE(terminal.wait_for("was not sent: a terminal cuts lines"));
  terminal.type("Once\n");
  ASSERT_TRUE(terminal.wait_for("reached the limit"));
  terminal.type("\x04");
  EXPECT_EQ(terminal.finish(), 0);
}

TEST_F(ChatCommand, ends_the_row_of_its_prompt_at_an_interrupt) {
  Terminal terminal(command());
  ASSERT_TRUE(terminal.wait_for(">"));
  terminal.type("\x03");
  EXPECT_EQ(terminal.finish(), 130);
  EXPECT_TRUE(terminal.bytes().ends_with("\n")) << terminal.bytes();
}

TEST_F(ChatCommand, reads_lines_of_other_encodings) {
  const std::vector<io::Json> utf8 = events("Tom and Lily’s café\nOnce\n");
  const std::vector<io::Json> turkish =
      events("Tom and Lily\x92s caf\xe9\nOnce\n", {"--encoding", "cp1254"});
  std::string wide;
  for (const char c : std::string_view("Tom\nOnce\n")) wide.append({c, '\0'});
  const std::vector<io::Json> utf16 = events(wide, {"--encoding", "utf-16le"});
  ASSERT_EQ(turkish.size(), 2u);
  EXPECT_EQ(text_of(turkish[1]), text_of(utf8[1]));
  EXPECT_EQ(number_of(turkish[0], "prompt_tokens"), number_of(utf8[0], "prompt_tokens"));
  ASSERT_EQ(utf16.size(), 2u);
  EXPECT_EQ(text_of(utf16[1]), text_of(events("Tom\nOnce\n")[1]));
  expect_one_line(run("Once\n", {"--encoding", "klingon"}), 2, "is unknown; utf-8, utf-16");
}

// A model of random numbers that never ends by itself.
std::string endless_model(const TemporaryFolder& folder) {
  const std::string golden = tests::source_folder() + "/tests/golden/models/llama/";
  for (const char* name : {"config.json", "model.safetensors"}) {
    std::filesystem::copy_file(golden + name, folder / name);
  }
  const std::string_view letters = "abcdefgh";
  text::char_tokenizer(std::span(&letters, 1), {}).save(base::real_files(), folder.path());
  folder.put("chat_template.jinja", "{{ messages[-1].content }}");
  return folder.path();
}

TEST_F(ChatCommand, is_named_by_info_for_models_with_a_template) {
  const TemporaryFolder model;
  const ProgramRun with = run_program({"info", endless_model(model)});
  EXPECT_NE(with.output.find("hold a conversation (chat)"), std::string::npos) << with.output;
  const ProgramRun without = run_program({"info", "stories"});
  EXPECT_EQ(without.output.find("(chat)"), std::string::npos) << without.output;
}

TEST_F(ChatCommand, ends_an_answer_at_the_first_interrupt_and_the_program_at_the_next) {
  const TemporaryFolder model;
  Terminal terminal({"chat", endless_model(model), "--max-new-tokens", "100000000"});
  ASSERT_TRUE(terminal.wait_for("Ctrl-D ends"));
  terminal.type("abc\n");
  terminal.watch(std::chrono::milliseconds(500));
  terminal.type("\x03");
  ASSERT_TRUE(terminal.wait_for("generation continues from the last"));
  terminal.type("/help\n");
  ASSERT_TRUE(terminal.wait_for("/reset forgets the conversation"));
  terminal.type("\x03");
  EXPECT_EQ(terminal.finish(), 130);
}

}  // namespace
}  // namespace headlight::test
