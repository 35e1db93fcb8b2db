// Memory of a training before its model is made.
#include "headlight/recipes/starting_model.h"

#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

class LittleMemory : public FilesWithEmbedded {
 public:
  explicit LittleMemory(std::string path) : meminfo_(std::move(path)) {}
  int open(const std::string& path, int flags, unsigned permissions) override {
    return FilesWithEmbedded::open(path == "/proc/meminfo" ? meminfo_ : path, flags, permissions);
  }

 private:
  std::string meminfo_;
};

TEST(StartingModel, counts_the_memory_of_all_ranks_of_its_machine) {
  const TemporaryFolder folder;
  LittleMemory files(folder.put("meminfo", "MemAvailable: 8000 kB\n"));
  TrainSettings settings = read_train_settings(train_values({{"task", "lm"},
                                                             {"data", "text.txt"},
                                                             {"n_layer", "2"},
                                                             {"n_head", "2"},
                                                             {"n_embd", "128"}}),
                                               files, nullptr, 2);
  settings.ranks = 2;
  const std::string_view letters = "abc";
  const text::Tokenizer tokenizer = text::char_tokenizer(std::span(&letters, 1), {});
  const BatchSize batch{.context = 8, .tokens = 8};
  EXPECT_NE(fresh_model(files, settings, tokenizer, batch), nullptr);
  settings.ranks_here = 2;
  try {
    fresh_model(files, settings, tokenizer, batch);
    ADD_FAILURE();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::out_of_memory);
    const std::string line = error.what();
    EXPECT_NE(line.find("2 ranks of this machine"), std::string::npos) << line;
    EXPECT_NE(line.find("fewer ranks here"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace headlight::recipes
