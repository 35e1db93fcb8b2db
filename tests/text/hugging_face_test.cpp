// What is written here, read by Hugging Face's `tokenizers`, where the environment variable
// HEADLIGHT_PYTHON names a Python that has it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "tests/places.h"
#include "tests/text/support.h"

namespace headlight::text {
namespace {

constexpr int kNotInstalled = 77;

const std::vector<std::string> kTexts = {
    "",
    " ",
    "Hello, world!",
    "the cat  sat\ton the\n\nmat",
    "It's 3.14, isn't it? We'll see: 50% of $20.",
    "Işık İstanbul'da söndü; ığüşöç IĞÜŞÖÇ",
    "Azərbaycan dili gözəldir.",
    "오늘은 날씨가 좋습니다. 한글",
    "\u1112\u1161\u11ab\u1100\u1173\u11af",
    "生活的真谛是 こんにちは",
    "مرحبا بالعالم שלום",
    "naïve café e\u0301 ﬁ ½ Ⅷ ²",
    "😊 👨\u200d👩\u200d👧 👍🏽",
    "a\u00a0b\u2003c\u2028d\u3000e",
    "<start> the cat <end>",
    "<pad><unk>the <unk> cat<pad>",
    "trailing space ",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "\r\nline\r\n",
    "under_score-and-dash/slash\\back",
};

std::string text_of_texts() {
  std::string all;
  for (const std::string& text : kTexts) all += text + "\n";
  return all;
}

// `encode` of Hugging Face's always finds special tokens.
void add_cases(io::Json::Array& cases, const Tokenizer& tokenizer, const std::string& folder,
               bool framed) {
  std::filesystem::create_directories(folder);
  tokenizer.save(base::real_files(), folder);
  for (const std::string& text : kTexts) {
    const Ids ids = tokenizer.encode(text, {.special = true, .framed = framed});
    cases.emplace_back(io::Json::Object{{"tokenizer", folder + "/tokenizer.json"},
                                        {"text", text},
                                        {"framed", framed},
                                        {"ids", io::Json::Array(ids.begin(), ids.end())},
                                        {"decoded", tokenizer.decode(ids)}});
  }
}

// The exit status, or -1.
int run_check(const std::string& python, const std::string& cases, const std::string& log) {
  const std::string script = tests::source_folder() + "/tests/text/hf_tokenizers_check.py";
  const std::string command =
      "'" + python + "' '" + script + "' '" + cases + "' >'" + log + "' 2>&1";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(HuggingFace, reads_what_is_written_here_and_gives_the_same_ids) {
  const char* python = std::getenv("HEADLIGHT_PYTHON");
  if (!python) GTEST_SKIP() << "HEADLIGHT_PYTHON names no Python with `tokenizers`";
  const std::string text = text_of_texts();
  const test::TemporaryFolder folder;
  io::Json::Array cases;
  std::vector<std::string> special = sequence_tokens();
  add_cases(cases, make_char(text, special), folder / "char", false);
  add_cases(cases, make_word(text), folder / "word", false);
  add_cases(cases, make_bpe(text + text, 700, special), folder / "bpe", false);
  add_cases(cases, make_bpe("", 256), folder / "bytes", false);
  add_cases(cases, make_word_pieces(), folder / "pieces", true);
  if (const std::string gpt2 = shared_data("gpt2-tokenizer"); !gpt2.empty()) {
    add_cases(cases, load_tokenizer(base::real_files(), gpt2), folder / "gpt2", false);
  }
  if (const std::string bert = shared_data("bert-tokenizer"); !bert.empty()) {
    add_cases(cases, load_tokenizer(base::real_files(), bert), folder / "bert", true);
  }
  const std::string path = folder.put("cases.json", io::json_text(cases));
  const int status = run_check(python, path, folder / "log");
  if (status == kNotInstalled) GTEST_SKIP() << python << " has no `tokenizers`";
  EXPECT_EQ(status, 0) << folder.get("log");
}

}  // namespace
}  // namespace headlight::text
