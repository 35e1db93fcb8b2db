// The program without arguments: the first minute.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/base/temporary_folder.h"
#include "tests/cli/program.h"

namespace headlight::test {
namespace {

class FirstMinute : public testing::Test {
 protected:
  ProgramRun run(const std::vector<std::string>& words = {},
                 std::vector<std::string> set = {}) const {
    set.push_back("XDG_CACHE_HOME=" + folder_ / "cache");
    return run_program(words, {.set = set, .close_input = true});
  }
  TemporaryFolder folder_;
};

TEST_F(FirstMinute, goes_from_nonsense_to_the_right_words) {
  const ProgramRun shown = run();
  EXPECT_EQ(shown.code, 0) << shown.errors;
  EXPECT_EQ(shown.errors, "");
  const size_t before = shown.output.find("Before training it continues with: ");
  const size_t after = shown.output.find("After training it continues with: you win or you die\n");
  EXPECT_NE(before, std::string::npos) << shown.output;
  EXPECT_NE(after, std::string::npos) << shown.output;
  EXPECT_LT(before, after);
  EXPECT_EQ(shown.output.substr(before, 60).find("you win or you die"), std::string::npos);
  EXPECT_NE(shown.output.find("decoder.0.cross.1", after), std::string::npos) << shown.output;
}

TEST_F(FirstMinute, writes_the_walk_as_a_page_and_says_where) {
  const ProgramRun shown = run();
  const std::string place = folder_ / "cache/headlight/walk.html";
  EXPECT_NE(shown.output.find(place), std::string::npos) << shown.output;
  const std::string page = folder_.get("cache/headlight/walk.html");
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_NE(page.find("you win or you die"), std::string::npos);
}

TEST_F(FirstMinute, speaks_four_languages) {
  for (const auto& [language, words] : std::vector<std::pair<std::string, std::string>>{
           {"tr", "Transformer"}, {"az", "Transformer"}, {"ko", "트랜스포머"}}) {
    const ProgramRun shown = run({}, {"HEADLIGHT_LANG=" + language});
    EXPECT_EQ(shown.code, 0) << shown.errors;
    const std::string first_line = shown.output.substr(0, shown.output.find('\n'));
    EXPECT_TRUE(run({"--lang", language}).output.starts_with(first_line)) << first_line;
    EXPECT_NE(shown.output.find(words), std::string::npos) << shown.output;
    for (const char* english : {"Training", "Loss", "Step", "Head", "Share", "Go on"}) {
      EXPECT_EQ(shown.output.find(english), std::string::npos) << english << " in " << language;
    }
    EXPECT_NE(folder_.get("cache/headlight/walk.html").find("\"language\":\"" + language + "\""),
              std::string::npos);
  }
}

TEST_F(FirstMinute, speaks_the_language_of_the_locale) {
  const auto first_line = [&](const std::vector<std::string>& words,
                              const std::vector<std::string>& set) {
    const std::string output = run(words, set).output;
    return output.substr(0, output.find('\n'));
  };
  const std::string turkish = first_line({"--lang", "tr"}, {});
  EXPECT_EQ(first_line({}, {"LANG=tr_TR.UTF-8"}), turkish);
  EXPECT_EQ(first_line({}, {"LC_ALL=C", "LANG=tr_TR.UTF-8"}), first_line({}, {}));
  EXPECT_EQ(first_line({}, {"HEADLIGHT_LANG=tr", "LC_ALL=ko_KR.UTF-8"}), turkish);
}

// No home and no cache: as some services and containers run programs.
TEST_F(FirstMinute, without_a_home_writes_to_a_fresh_folder) {
  const auto page_of = [&] {
    const ProgramRun shown =
        run_program({}, {.set = {"TMPDIR=" + folder_.path()}, .unset = {"HOME", "XDG_CACHE_HOME"}});
    EXPECT_EQ(shown.code, 0) << shown.errors;
    const size_t begin = shown.output.find(folder_ / "headlight-");
    const size_t end = shown.output.find("/walk.html", begin);
    if (end == std::string::npos) return std::string();
    return shown.output.substr(begin, end - begin) + "/walk.html";
  };
  const std::string first = page_of();
  const std::string second = page_of();
  EXPECT_NE(first, second);
  for (const std::string& page : {first, second}) {
    ASSERT_TRUE(page.starts_with(folder_.path())) << page;
    EXPECT_TRUE(folder_.get(page.substr(folder_.path().size() + 1)).starts_with("<!doctype html>"));
  }
  EXPECT_FALSE(std::filesystem::exists("walk.html"));
  const ProgramRun none =
      run_program({}, {.set = {"TMPDIR=" + folder_ / "none"}, .unset = {"HOME", "XDG_CACHE_HOME"}});
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.errors.find("HOME or XDG_CACHE_HOME would name another place"), std::string::npos)
      << none.errors;
}

TEST_F(FirstMinute, with_a_home_that_cannot_be_written_to_writes_to_a_fresh_folder) {
  for (const std::string& home : {std::string("/proc/none"), folder_.put("file", "")}) {
    const ProgramRun shown = run_program(
        {}, {.set = {"HOME=" + home, "TMPDIR=" + folder_.path()}, .unset = {"XDG_CACHE_HOME"}});
    EXPECT_EQ(shown.code, 0) << shown.errors;
    EXPECT_NE(shown.output.find(folder_ / "headlight-"), std::string::npos);
  }
}

TEST_F(FirstMinute, without_a_place_for_the_page_is_one_line) {
  const std::string file = folder_.put("file", "");
  const ProgramRun shown = run_program({}, {.set = {"XDG_CACHE_HOME=" + file}});
  EXPECT_EQ(shown.code, 1);
  EXPECT_TRUE(shown.errors.starts_with("headlight: ")) << shown.errors;
  EXPECT_EQ(std::ranges::count(shown.errors, '\n'), 1) << shown.errors;
}

}  // namespace
}  // namespace headlight::test
