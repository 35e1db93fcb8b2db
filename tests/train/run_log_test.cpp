// The record of a run and the picture of its curves.
#include "headlight/train/run_log.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "headlight/train/curves.h"
#include "tests/base/temporary_folder.h"

namespace headlight::train {
namespace {

using test::TemporaryFolder;

io::Json event(const std::string& name, int64_t step, const std::string& key, double loss) {
  return io::Json::Object{{"event", name}, {"step", step}, {key, loss}};
}

TEST(RunLogTest, keeps_what_is_not_behind_the_checkpoint) {
  const TemporaryFolder folder;
  RunLog log(base::real_files(), folder.path(), 0);
  for (int64_t step = 10; step <= 50; step += 10) {
    log.add(event("step", step, "train_loss", 1.0 / static_cast<double>(step)));
    log.add(event("eval", step, "valid_loss", 2));
  }
  log.add(event("done", 30, "valid_loss", 1));
  log.save();
  const RunLog again(base::real_files(), folder.path(), 30);
  ASSERT_EQ(again.training().size(), 3u);
  EXPECT_EQ(again.training().back().step, 30);
  EXPECT_EQ(again.training().back().loss, 1.0 / 30);
  EXPECT_EQ(again.validation().size(), 3u);
}

TEST(RunLogTest, names_the_line_that_is_no_event) {
  const TemporaryFolder folder;
  for (const std::string line : {"{\"event\":\"step\",\"st", "7", "{\"event\":\"step\"}",
                                 "{\"step\":\"7\"}", "[]", "", "\xff\xfe"}) {
    SCOPED_TRACE(line);
    folder.put("log.jsonl", "{\"event\":\"start\",\"step\":0}\n" + line + "\n");
    try {
      RunLog(base::real_files(), folder.path(), 100);
      ADD_FAILURE() << "was taken";
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::bad_input);
      EXPECT_NE(std::string(error.what()).find("log.jsonl line 2"), std::string::npos)
          << error.what();
    }
  }
}

// As many tags end as begin, and numbers are numbers.
void expect_picture(const std::string& svg) {
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  std::vector<std::string> open;
  for (size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const size_t end = svg.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    const std::string name =
        tag.substr(tag[0] == '/', tag.find_first_of(" /", 1) - (tag[0] == '/'));
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), tag.substr(1));
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
    }
    EXPECT_EQ(std::ranges::count(tag, '"') % 2, 0) << tag;
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Curves, are_a_picture_whatever_there_is_to_show) {
  expect_picture(curves_svg({}, {}));
  expect_picture(curves_svg({{1, 2.5}}, {}));
  expect_picture(curves_svg({{1, 2.5}, {2, 2.5}}, {{2, 2.5}}));
  expect_picture(curves_svg({{1, 1e9}, {2, 1e-9}}, {{2, 0}}));
  expect_picture(curves_svg({{1'000'000'000'000, 1e30}}, {{5, -1e30}}));
}

TEST(Curves, of_long_runs_stay_small_and_show_the_end) {
  std::vector<LogPoint> many;
  for (int64_t step = 1; step <= 100'000; ++step)
    many.push_back({step, 5.0 / static_cast<double>(step)});
  const std::string svg = curves_svg(many, many);
  expect_picture(svg);
  EXPECT_LT(svg.size(), 300'000u);
  EXPECT_NE(svg.find("<title>step 100000:"), std::string::npos);
}

}  // namespace
}  // namespace headlight::train
