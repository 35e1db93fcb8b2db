// Experiments that are interrupted go on with what they have finished, and only they.
#include <gtest/gtest.h>

#include "headlight/recipes/recipes.h"
#include "tests/base/temporary_folder.h"

namespace headlight::recipes {
namespace {

using io::Json;

Json::Object request_of(double share) {
  return {{"experiment", "ablate"}, {"share", share}, {"examples", 12}};
}

std::string refusal(base::FileSystem& files, const ExperimentRequest& request) {
  try {
    ExperimentState state(files, request);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::bad_input);
    return error.what();
  }
  return "";
}

TEST(ExperimentState, keeps_what_is_finished_to_the_bit) {
  const test::TemporaryFolder folder;
  base::FileSystem& files = base::real_files();
  const double odd = 0.1 + 0.2;
  {
    ExperimentState state(files, {.folder = folder / "run", .request = request_of(1)});
    EXPECT_EQ(state.find("a"), nullptr);
    state.add("a", odd);
    state.add("b", Json::Object{{"loss", odd}});
    state.save();
    state.add("c", 1);  // never saved
  }
  const ExperimentState state(files,
                              {.folder = folder / "run", .resume = true, .request = request_of(1)});
  EXPECT_EQ(state.found(), 2U);
  ASSERT_NE(state.find("a"), nullptr);
  EXPECT_EQ(state.find("a")->number(), odd);
  EXPECT_EQ(state.find("b")->find("loss")->number(), odd);
  EXPECT_EQ(state.find("c"), nullptr);
}

TEST(ExperimentState, is_whole_from_the_beginning_and_leaves_no_other_file) {
  const test::TemporaryFolder folder;
  ExperimentState state(base::real_files(), {.folder = folder / "run", .request = request_of(1)});
  EXPECT_EQ(base::list_directory(base::real_files(), folder / "run"),
            std::vector<std::string>{"experiment.json"});
  state.add("a", 1);
  state.save();
  EXPECT_EQ(base::list_directory(base::real_files(), folder / "run"),
            std::vector<std::string>{"experiment.json"});
}

TEST(ExperimentState, refuses_a_folder_that_is_there_unless_it_is_resumed) {
  const test::TemporaryFolder folder;
  base::FileSystem& files = base::real_files();
  { ExperimentState state(files, {.folder = folder / "run", .request = request_of(1)}); }
  EXPECT_NE(refusal(files, {.folder = folder / "run", .request = request_of(1)})
                .find("--resume goes on with its experiment"),
            std::string::npos);
  EXPECT_NE(refusal(files, {.folder = folder.path(), .request = request_of(1)})
                .find("is there already; give another name"),
            std::string::npos);
  folder.put("other", "x");
  EXPECT_NE(refusal(files, {.folder = folder.path(), .resume = true, .request = request_of(1)})
                .find("there is no experiment to go on with"),
            std::string::npos);
}

TEST(ExperimentState, has_its_folder_for_itself) {
  const test::TemporaryFolder folder;
  base::FileSystem& files = base::real_files();
  const ExperimentRequest request{
      .folder = folder / "run", .resume = true, .request = request_of(1)};
  {
    const ExperimentState first(files, request);
    try {
      const ExperimentState second(files, request);
      ADD_FAILURE() << "both have it";
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::failed) << error.what();
    }
  }
  EXPECT_EQ(refusal(files, request), "") << "it is free again";
}

TEST(ExperimentState, begins_where_there_is_nothing_to_resume_yet) {
  const test::TemporaryFolder folder;
  const ExperimentState state(base::real_files(),
                              {.folder = folder / "new", .resume = true, .request = request_of(1)});
  EXPECT_EQ(state.found(), 0U);
}

TEST(ExperimentState, refuses_another_request_and_names_the_difference) {
  const test::TemporaryFolder folder;
  base::FileSystem& files = base::real_files();
  { ExperimentState state(files, {.folder = folder / "run", .request = request_of(0.5)}); }
  const auto resumed = [&](Json::Object request) {
    return refusal(files,
                   {.folder = folder / "run", .resume = true, .request = std::move(request)});
  };
  EXPECT_NE(
      resumed(request_of(0.25)).find("share is 0.25, the experiment there was begun with 0.5"),
      std::string::npos);
  EXPECT_NE(resumed({{"experiment", "ablate"}, {"share", 0.5}}).find("examples is not given"),
            std::string::npos);
  Json::Object more = request_of(0.5);
  more.emplace_back("data", "x");
  EXPECT_NE(resumed(more).find("data is \"x\""), std::string::npos);
}

TEST(ExperimentState, refuses_files_that_are_none_of_its_own) {
  for (const char* text : {"", "[]", "{}", "{\"experiment\":2,\"request\":{},\"finished\":{}}",
                           "{\"experiment\":1,\"request\":[],\"finished\":{}}",
                           "{\"experiment\":1,\"request\":{},\"finished\":7}"}) {
    const test::TemporaryFolder folder;
    folder.put("experiment.json", text);
    EXPECT_NE(refusal(base::real_files(), {.folder = folder.path(), .resume = true, .request = {}}),
              "")
        << text;
  }
}

TEST(ExperimentState, without_a_folder_nothing_is_written) {
  ExperimentState state(base::real_files(), {.request = request_of(1)});
  state.add("a", 1);
  state.save();
  EXPECT_NE(state.find("a"), nullptr);
}

}  // namespace
}  // namespace headlight::recipes
