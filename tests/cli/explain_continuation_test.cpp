// `headlight explain` beyond what it is given: what the model writes by itself, and ids without a
// tokenizer.
#include <gtest/gtest.h>

#include "headlight/io/io.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/browser.h"
#include "tests/cli/model_folders.h"
#include "tests/cli/program.h"

namespace headlight::test {
namespace {

using io::Json;
using Words = std::vector<std::string>;

class ExplainContinuation : public testing::Test {
 protected:
  static ProgramRun explain(Words words) {
    words.insert(words.begin(), "explain");
    return run_program(words);
  }
  static Json json(Words words) {
    words.push_back("--json");
    const ProgramRun run = explain(std::move(words));
    EXPECT_EQ(run.code, 0) << run.errors;
    return io::parse_json(run.output, "explain");
  }
  static Json page_run(Words words) {
    words.insert(words.end(), {"--format", "html"});
    const ProgramRun run = explain(std::move(words));
    EXPECT_EQ(run.code, 0) << run.errors;
    constexpr std::string_view kBegin = "<script type=\"application/json\" id=\"data\">";
    const size_t begin = run.output.find(kBegin) + kBegin.size();
    const size_t end = run.output.find("</script>", begin);
    if (end == std::string::npos) return {};
    return io::parse_json(run.output.substr(begin, end - begin), "page")
        .find("runs")
        ->array()
        ->back();
  }
  static std::string joined(const Json& words) {
    std::string text;
    for (const Json& word : *words.array()) text += *word.text();
    return text;
  }
  static std::vector<int64_t> ids_of(const Json& document, const char* name) {
    for (const Json& tensor : *document.find("trace")->find("tensors")->array()) {
      if (*tensor.find("name")->text() != name) continue;
      std::vector<int64_t> ids;
      for (const Json& id : *tensor.find("values")->array()->front().array()) {
        ids.push_back(*id.integer());
      }
      return ids;
    }
    return {};
  }
  static void expect_refused(const Words& words, int code, std::string_view part) {
    const ProgramRun run = explain(words);
    EXPECT_EQ(run.code, code) << run.errors;
    EXPECT_NE(run.errors.find(part), std::string::npos) << run.errors;
  }
};

TEST_F(ExplainContinuation, of_a_decoder_is_walked_token_by_token) {
  const std::string gpt = model_folders().gpt();
  const Json one = json({gpt, "--text", "o"});
  EXPECT_EQ(joined(*one.find("trace")->find("tokens")), "o");
  const Json six = json({gpt, "--text", "o", "--continue", "6"});
  EXPECT_EQ(joined(*six.find("trace")->find("tokens")), "oağaç: ");
  EXPECT_EQ(*six.find("says")->text(), "ağaç: ");
  EXPECT_TRUE(six.find("loss")->is_null());  // nothing is known to be right
  // No further than the model goes and reads.
  const std::string script = ModelFolders::kScript;
  const Json all = json({gpt, "--text", "o", "--continue", "999"});
  EXPECT_EQ(("o" + script).find(joined(*all.find("trace")->find("tokens"))), 0U);
  EXPECT_GT(joined(*all.find("trace")->find("tokens")).size(), script.size() / 2);
}

TEST_F(ExplainContinuation, is_on_a_page_without_being_asked_for) {
  const Json gpt = page_run({model_folders().gpt(), "--text", "o"});
  EXPECT_EQ(joined(*gpt.find("tokens")), "oağaç: 한국");
  EXPECT_EQ(gpt.find("written")->integer(), 8);
  EXPECT_EQ(gpt.find("likeliest")->array()->size(), 9U);
  for (size_t row = 0; row + 1 < 9; ++row) {
    // What is likeliest after each token is the token that follows.
    const Json& best = gpt.find("likeliest")->array()->at(row).array()->front();
    EXPECT_GT(*best.array()->at(1).number(), 0.1);
  }
  EXPECT_EQ(page_run({model_folders().gpt(), "--text", "o", "--continue", "0"})
                .find("tokens")
                ->array()
                ->size(),
            1U);
  const Json known = page_run({model_folders().gpt(), "--text", "o", "--target", "ağ"});
  EXPECT_EQ(joined(*known.find("tokens")), "oağ");
  EXPECT_EQ(known.find("written")->integer(), 0);
  const Json numbers = page_run({"numbers", "--text", "forty-two"});
  EXPECT_GT(numbers.find("tokens")->array()->size(), 2U);
  EXPECT_EQ(static_cast<int64_t>(numbers.find("tokens")->array()->size()),
            *numbers.find("written")->integer() + 1);
  EXPECT_NE(numbers.find("continuation")->text()->find("42"), std::string::npos)
      << *numbers.find("continuation")->text();
  // An encoder writes nothing.
  const Json encoder = page_run({model_folders().encoder(), "--ids", "1,2"});
  EXPECT_EQ(encoder.find("written")->integer(), 0);
}

TEST_F(ExplainContinuation, of_the_worked_model_is_what_it_says_before_and_after_training) {
  const ProgramRun run = explain({"--text", "you win", "--train", "--format", "html"});
  ASSERT_EQ(run.code, 0) << run.errors;
  const Json after = page_run({"--text", "you win", "--train"});
  EXPECT_GT(*after.find("written")->integer(), 0);
  std::string words;
  for (const Json& token : *after.find("tokens")->array()) {
    words += (words.empty() ? "" : " ") + *token.text();
  }
  EXPECT_EQ(words, "<start> " + *after.find("continuation")->text());
}

TEST_F(ExplainContinuation, of_ids_needs_no_tokenizer) {
  const Json bare = json({model_folders().bare_gpt(), "--ids", "3,1", "--continue", "2"});
  EXPECT_EQ(bare.find("trace")->find("tokens")->array()->size(), 4U);
  EXPECT_EQ(joined(*bare.find("trace")->find("tokens")).substr(0, 2), "31");
  EXPECT_EQ(*bare.find("text")->text(), "3 1");
  // The same numbers as of the text.
  const Json text = json({model_folders().gpt(), "--text", "o", "--target", "ağ"});
  const std::vector<int64_t> ids = ids_of(text, "decoder.ids");
  ASSERT_EQ(ids.size(), 3U);
  const Json same = json({model_folders().bare_gpt(), "--ids", std::to_string(ids[0]),
                          "--target-ids", std::to_string(ids[1]) + "," + std::to_string(ids[2])});
  EXPECT_EQ(*same.find("loss")->number(), *text.find("loss")->number());
  EXPECT_EQ(ids_of(same, "decoder.ids"), ids);
  // With a tokenizer there are words for them.
  const Json named = json({model_folders().gpt(), "--ids", std::to_string(ids[1])});
  EXPECT_EQ(joined(*named.find("trace")->find("tokens")), "a");
  EXPECT_EQ(explain({model_folders().bare_gpt(), "--ids", "3,1", "--backward"}).code, 0);
  EXPECT_EQ(explain({model_folders().bare_gpt(), "--ids", "3,1", "--only", "2,3"}).code, 0);
  const Json page = page_run({model_folders().bare_gpt(), "--ids", "3,1"});
  EXPECT_GT(*page.find("written")->integer(), 0);
}

TEST_F(ExplainContinuation, refuses_what_does_not_go_together) {
  const std::string bare = model_folders().bare_gpt();
  expect_refused({bare, "--text", "o"}, 3, "--ids 1,2,3 needs none");
  expect_refused({bare, "--ids", "1,99999"}, 3, "id 99999");
  expect_refused({bare, "--ids", "1,,2"}, 2, "--ids");
  expect_refused({bare, "--ids", "1", "--text", "o"}, 2, "--ids");
  expect_refused({bare, "--ids", "1", "--target", "x"}, 2, "--target");
  expect_refused({bare, "--text", "o", "--target-ids", "1"}, 2, "--ids");
  expect_refused({bare, "--ids", "1", "--target-ids", "2", "--continue", "3"}, 2, "--continue");
  expect_refused({bare}, 2, "--ids");
}

TEST_F(ExplainContinuation, can_be_walked_in_a_browser) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const TemporaryFolder folder;
  constexpr const char* kScript = R"(
    const wrong = [];
    for (let row = 0; row < run().tokens.length; ++row) {
      document.querySelector(`.hero [data-position="${row}"]`).click();
      const shown = document.querySelector(".hero .rows.one .row");
      const best = shown.querySelector(".bar .label").textContent;
      const next = run().tokens[row + 1];
      if (next !== undefined && row >= run().tokens.length - run().written - 1 && best !== next) wrong.push(`${row}: ${best} is not ${next}`);
      const bar = shown.querySelector(".bar");
      bar.click();
      if (!drawer.textContent.includes(`probabilities[${row},`)) wrong.push(`${row}: ${drawer.textContent}`);
    }
    const own = document.querySelectorAll(".hero .word.own").length;
    report(`positions: ${run().tokens.length}, own: ${own}, wrong: ${wrong.length} ${wrong.join("; ")}`);
  )";
  const ProgramRun gpt = explain({model_folders().gpt(), "--text", "o", "--format", "html"});
  EXPECT_EQ(told_in_browser(folder, gpt.output, kScript), "positions: 9, own: 8, wrong: 0 ");
  const ProgramRun bare = explain({model_folders().bare_gpt(), "--ids", "3,1", "--format", "html"});
  const std::string told = told_in_browser(folder, bare.output, kScript);
  EXPECT_NE(told.find("wrong: 0"), std::string::npos) << told;
}

}  // namespace
}  // namespace headlight::test
