// The models that a server offers.
#include "apps/server/models.h"

#include <gtest/gtest.h>

#include <thread>

#include "apps/server/http/http.h"
#include "tests/base/temporary_folder.h"

namespace headlight::test {
namespace {

using server::Models;

TEST(TheModels, that_come_along_are_offered_where_none_is_named) {
  recipes::FilesWithEmbedded files;
  const Models models(files, {});
  EXPECT_EQ(models.ids(), recipes::embedded_models());
  EXPECT_EQ(models.open("stories")->id, "stories");
  EXPECT_TRUE(models.open("stories")->tokenizer.has_value());
  EXPECT_EQ(models.open("stories"), models.open("stories"));
  EXPECT_GT(models.open("numbers")->information.parameters, 0);
}

TEST(TheModels, are_called_by_the_last_part_of_their_path) {
  recipes::FilesWithEmbedded files;
  const TemporaryFolder folder;
  const std::string path = folder / "deep/copy";
  std::filesystem::create_directories(path);
  for (const base::EmbeddedFile& file : recipes::embedded_files()) {
    if (file.path.starts_with("thrones/")) {
      folder.put("deep/copy/" + std::string(file.path.substr(8)), file.bytes);
    }
  }
  const Models models(files, {path + "/", "numbers"});
  EXPECT_EQ(models.ids(), (std::vector<std::string>{"copy", "numbers"}));
  EXPECT_EQ(models.open("copy")->name, path + "/");
  EXPECT_TRUE(models.has("numbers"));
  EXPECT_FALSE(models.has("stories"));
  EXPECT_THROW(Models(files, {path, folder / "deep/../deep/copy"}), base::Error);
}

TEST(TheModels, that_are_unknown_are_404) {
  recipes::FilesWithEmbedded files;
  const Models models(files, {"numbers"});
  try {
    models.open("gpt-4\x1b");
    FAIL() << "opened";
  } catch (const server::HttpError& error) {
    EXPECT_EQ(error.fields().status, 404);
    EXPECT_EQ(error.fields().code, "model_not_found");
    EXPECT_EQ(error.fields().param, "model");
    EXPECT_EQ(error.fields().message, "model (gpt-4\\x1b): is not served here; there are numbers");
  }
}

TEST(TheModels, are_opened_once_by_whoever_comes_first) {
  recipes::FilesWithEmbedded files;
  const Models models(files, {});
  std::vector<std::shared_ptr<const server::ServedModel>> opened(4);
  std::vector<std::thread> threads;
  for (auto& one : opened) threads.emplace_back([&] { one = models.open("thrones"); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : opened) EXPECT_EQ(one, opened.front());
}

}  // namespace
}  // namespace headlight::test
