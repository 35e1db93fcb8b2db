// Conversations in the templates of families of models, beside what transformers renders: templates
// in the style of each family from tests/golden/templates with known results; the same with 50
// random conversations each where HEADLIGHT_PYTHON names a Python that has transformers; and all
// published templates in the folder that HEADLIGHT_TEMPLATES names, or else of those that
// tools/fetch-models has fetched.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "tests/fetched.h"
#include "tests/places.h"
#include "tests/text/support.h"

namespace headlight::text {
namespace {

constexpr int kNoTransformers = 77;

std::tm known_day() {
  std::tm day{};
  day.tm_year = 126;
  day.tm_mon = 6;
  day.tm_mday = 4;
  day.tm_hour = 15;
  day.tm_min = 6;
  day.tm_sec = 7;
  day.tm_wday = 6;
  day.tm_yday = 184;
  return day;
}

std::string golden_folder() { return tests::source_folder() + "/tests/golden/templates"; }

std::vector<std::string> templates_in(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".jinja") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string read_template(const std::string& path) {
  return base::read_all(*base::open_input(base::real_files(), path), 1'000'000);
}

struct Count {
  int same = 0;
  int refused = 0;  // by both
};

class ChatTemplateFamilies : public testing::Test {
 protected:
  // One conversation of a file that chat_templates.py has written: whether it is the same here.
  static bool is_same(const ChatTemplate& chat, const Tokenizer* tokenizer, const io::Json& known,
                      Count& count) {
    ChatOptions options{.asks_for_answer = *known.find("asks")->boolean(), .now = known_day()};
    options.variables = *known.find("variables")->object();
    const io::Json* text = known.find("text");
    MarkedText rendered;
    try {
      rendered = chat.render(*known.find("messages")->array(), options);
    } catch (const base::Error& error) {
      EXPECT_FALSE(text) << error.what();
      ++count.refused;
      return !text;
    }
    EXPECT_TRUE(text) << "transformers says: " << *known.find("error")->text();
    if (!text) return false;
    EXPECT_EQ(rendered.bytes, *text->text());
    if (rendered.bytes != *text->text()) return false;
    ++count.same;
    if (!tokenizer) return true;
    std::vector<int64_t> ids;
    for (const io::Json& id : *known.find("ids")->array()) ids.push_back(*id.integer());
    EXPECT_EQ(tokenizer->encode(rendered), ids) << rendered.bytes;
    return tokenizer->encode(rendered) == ids;
  }

  Count compare_file(const std::string& path, const std::string& results) {
    const std::string name = std::filesystem::path(path).stem().string();
    SCOPED_TRACE(name);
    Count count;
    const io::Json cases = io::read_json(base::real_files(), results + "/" + name + ".json");
    std::optional<ChatTemplate> chat;
    try {
      chat.emplace(read_template(path), path,
                   std::map<std::string, std::string>{{"bos_token", "<s>"}, {"eos_token", "</s>"}});
    } catch (const base::Error& error) {
      for (const io::Json& known : *cases.array()) EXPECT_TRUE(known.find("error")) << error.what();
      count.refused = static_cast<int>(cases.array()->size());
      return count;
    }
    std::optional<Tokenizer> tokenizer;
    if (has_tokenizer(base::real_files(), results + "/" + name)) {
      tokenizer = load_tokenizer(base::real_files(), results + "/" + name);
    }
    for (const io::Json& known : *cases.array()) {
      if (!is_same(*chat, tokenizer ? &*tokenizer : nullptr, known, count)) break;
    }
    return count;
  }

  // False: there is no Python that can.
  bool render(const std::string& count, const std::vector<std::string>& templates) {
    const char* python = std::getenv("HEADLIGHT_PYTHON");
    if (!python) return false;
    std::string command = "'" + std::string(python) + "' '" + tests::source_folder() +
                          "/tests/text/chat_templates.py' '" + folder_.path() + "' " + count;
    for (const std::string& path : templates) command += " '" + path + "'";
    const int status = std::system((command + " > '" + (folder_ / "said") + "' 2>&1").c_str());
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == kNoTransformers) return false;
    EXPECT_EQ(code, 0) << folder_.get("said");
    return code == 0;
  }

  const test::TemporaryFolder folder_;
};

TEST_F(ChatTemplateFamilies, give_the_texts_that_are_known) {
  const std::vector<std::string> paths = templates_in(golden_folder());
  EXPECT_GE(paths.size(), 7u);
  for (const std::string& path : paths) {
    const Count count = compare_file(path, golden_folder());
    EXPECT_GE(count.same, 10) << path;
  }
}

TEST_F(ChatTemplateFamilies, give_the_texts_and_ids_of_transformers) {
  const std::vector<std::string> paths = templates_in(golden_folder());
  if (!render("50", paths)) {
    GTEST_SKIP() << "HEADLIGHT_PYTHON does not name a Python that has transformers";
  }
  for (const std::string& path : paths) {
    const Count count = compare_file(path, folder_.path());
    EXPECT_EQ(count.same + count.refused, 50) << path;
    EXPECT_GE(count.same, 30) << path;
  }
}

TEST_F(ChatTemplateFamilies, of_published_models_give_the_texts_and_ids_of_transformers) {
  const char* named = std::getenv("HEADLIGHT_TEMPLATES");
  const std::string folder = named ? named : tests::fetched("llama.cpp/models/templates");
  SKIP_UNLESS_FETCHED(folder);
  const std::vector<std::string> paths = templates_in(folder);
  ASSERT_FALSE(paths.empty()) << folder;
  if (!render("50", paths)) {
    GTEST_SKIP() << "HEADLIGHT_PYTHON does not name a Python that has transformers";
  }
  Count all;
  for (const std::string& path : paths) {
    const Count count = compare_file(path, folder_.path());
    EXPECT_EQ(count.same + count.refused, 50) << path;
    all.same += count.same;
    all.refused += count.refused;
  }
  std::printf("%d templates: %d conversations with the same text, %d refused by both\n",
              static_cast<int>(paths.size()), all.same, all.refused);
}

}  // namespace
}  // namespace headlight::text
