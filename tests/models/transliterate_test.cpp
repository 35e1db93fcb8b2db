// shared/data/ct2-aren through the example that converts it: a trained encoder-decoder writes
// Arabic names in Latin letters.
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "tests/models/support.h"

namespace headlight::models {
namespace {

const std::string kArenFolder = shared("data/ct2-aren");

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST_F(ModelTest, a_converted_folder_transliterates_as_the_original_does) {
  SKIP_WITHOUT(kArenFolder);
#ifndef HEADLIGHT_CONVERT_CT2
#define HEADLIGHT_CONVERT_CT2 ""
  GTEST_SKIP() << "the examples are not built";
#endif
  const TemporaryFolder folder;
  const std::string command =
      "'" HEADLIGHT_CONVERT_CT2 "' '" + kArenFolder + "' '" + folder / "aren" + "' > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::unique_ptr<Model> model = load_model(base::real_files(), folder / "aren");

  const std::vector<std::string> sources = lines_of(kArenFolder + "/source_vocabulary.txt");
  const std::vector<std::string> targets = lines_of(kArenFolder + "/target_vocabulary.txt");
  // The tables have a row more than the lists: for what is in neither.
  ASSERT_EQ(static_cast<int64_t>(sources.size()) + 1, model->source_vocab_size());
  ASSERT_EQ(static_cast<int64_t>(targets.size()) + 1, model->vocab_size());
  std::vector<int64_t> ids;
  for (const char* letter : {"آ", "ت", "ز", "م", "و", "ن"}) {
    ids.push_back(std::find(sources.begin(), sources.end(), letter) - sources.begin());
  }

  Context context = inference_context();
  Decoding decoding = model->start(context, {.source_ids = integers({1, 6}, ids)});
  const SpecialIds& special = model->special_ids();
  std::string word;
  double log_probability = 0;
  for (int64_t id = *special.decoder_start; decoding.room() > 0 && word.size() < 20;) {
    const Value logits = Value::leaf(decoding.read(context, integers({1, 1}, {id})));
    const std::vector<float> row = floats(autograd::log_softmax(context, logits).data());
    id = std::max_element(row.begin(), row.end()) - row.begin();
    log_probability += row[static_cast<size_t>(id)];
    if (id == *special.end) break;
    word += targets[static_cast<size_t>(id)];
  }
  EXPECT_EQ(word, "atzmon");
  EXPECT_NEAR(log_probability, -1.0617498, 5e-6);  // in float64
}

}  // namespace
}  // namespace headlight::models
