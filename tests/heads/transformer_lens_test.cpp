// Behaviour scores against transformer-lens. Needs a Python that has it, named by the variable
// HEADLIGHT_PYTHON.
#include <cstdlib>

#include "headlight/recipes/recipes.h"
#include "tests/models/support.h"
#include "tests/places.h"

namespace headlight::heads {
namespace {

TEST(TransformerLens, gives_the_same_scores_on_the_same_sequences) {
  const char* python = std::getenv("HEADLIGHT_PYTHON");
  const auto has_it = [python] {
    const std::string command = "'" + std::string(python) + "' -c 'import transformer_lens' 2>&1";
    return std::system((command + " > /dev/null").c_str()) == 0;
  };
  if (python == nullptr || !has_it()) {
    GTEST_SKIP() << "HEADLIGHT_PYTHON does not name a Python that has transformer-lens";
  }
  recipes::FilesWithEmbedded files;
  base::ThreadPool threads(2);
  const std::pair<const char*, const char*> subjects[] = {
      {"stories", "Once upon a time there was a little girl."}, {"repeats", "ka lo mi ka lo mi"}};
  for (const auto& [model, text] : subjects) {
    SCOPED_TRACE(model);
    const test::TemporaryFolder folder;
    const recipes::LoadedModel loaded = recipes::load_named_model(files, model);
    models::save_model(files, folder / "", *loaded.model);
    const HeadScores scores = recipes::score_model_heads(
        threads, files, loaded, {.data = folder.put("text.txt", text), .seed = 3});
    folder.put("scores.json", io::json_text(head_scores_json(scores)));
    const std::string command = "'" + std::string(python) + "' '" + tests::source_folder() +
                                "/tests/heads/transformer_lens_check.py' '" + (folder / "") +
                                "' > '" + folder / "said" + "' 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << folder.get("said");
  }
}

}  // namespace
}  // namespace headlight::heads
