// Trained models of shared/data: one sorts letters, one writes Arabic names in Latin letters.
#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "tests/infer/rescoring.h"

namespace headlight::infer {
namespace {

using Trained = ModelTest;

TEST_F(Trained, gpt_sorts_all_729_inputs_of_six_letters) {
  const std::string folder = shared("data/gpt-nano-sort");
  SKIP_WITHOUT(folder);
  const auto model = models::load_model(base::real_files(), folder);
  std::vector<Prompt> prompts(729);
  for (size_t number = 0; number < prompts.size(); ++number) {
    for (size_t rest = number, i = 0; i < 6; ++i, rest /= 3) {
      prompts[number].ids.push_back(static_cast<int64_t>(rest % 3));
    }
  }
  autograd::Context context = inference_context();
  const auto results = generate(context, *model, prompts, {.ending = {.max_new_tokens = 6}});
  for (size_t i = 0; i < prompts.size(); ++i) {
    Ids sorted = prompts[i].ids;
    std::ranges::sort(sorted);
    EXPECT_EQ(results[i].ids, sorted);
  }
}

class Names : public ModelTest {
 protected:
  void SetUp() override {
    SKIP_WITHOUT(kFolder);
#ifdef HEADLIGHT_CONVERT_CT2
    const std::string command =
        "'" HEADLIGHT_CONVERT_CT2 "' '" + kFolder + "' '" + folder_ / "aren" + "' > /dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);
    model_ = models::load_model(base::real_files(), folder_ / "aren");
#else
    GTEST_SKIP() << "the examples are not built";
#endif
  }

  static std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  // Letters of the first lines are frequent ones; what they spell does not matter.
  std::vector<Prompt> random_names(size_t count) const {
    std::vector<Prompt> names;
    for (size_t i = 0; i < count; ++i) {
      Ids letters = random_list(2 + i % 9, 25, i);
      for (int64_t& letter : letters) letter += 3;
      names.push_back({.source = letters});
    }
    return names;
  }

  const std::string kFolder = shared("data/ct2-aren");
  models::TemporaryFolder folder_;
  std::unique_ptr<models::Model> model_;
};

TEST_F(Names, are_written_letter_by_letter) {
  const std::vector<std::string> sources = lines_of(kFolder + "/source_vocabulary.txt");
  const std::vector<std::string> targets = lines_of(kFolder + "/target_vocabulary.txt");
  Prompt prompt;
  for (const char* letter : {"آ", "ت", "ز", "م", "و", "ن"}) {
    prompt.source.push_back(std::ranges::find(sources, letter) - sources.begin());
  }
  autograd::Context context = inference_context();
  const Continuation name = generate(context, *model_, {prompt}, {}).front();
  std::string text;
  for (const int64_t id : name.ids) text += targets[static_cast<size_t>(id)];
  EXPECT_EQ(text, "atzmon");
  EXPECT_EQ(name.reason, StopReason::end);
  EXPECT_NEAR(name.log_probability(), -1.0617498, 5e-6);  // in float64
}

TEST_F(Names, by_one_beam_are_the_greedy_ones) {
  const std::vector<Prompt> names = random_names(40);
  autograd::Context context = inference_context();
  const Ending ending{.max_beyond_source = 20};
  const auto greedy = generate(context, *model_, names, {.ending = ending});
  const auto beams = beam_search(context, *model_, names, {.beams = 1, .ending = ending});
  for (size_t i = 0; i < names.size(); ++i) expect_same(beams[i].front(), greedy[i]);
}

TEST_F(Names, by_several_beams_have_the_scores_of_a_forward_pass) {
  const std::vector<Prompt> names = random_names(20);
  autograd::Context context = inference_context();
  const BeamOptions options{.beams = 4, .ending = {.max_beyond_source = 20}};
  const auto found = beam_search(context, *model_, names, options);
  for (size_t i = 0; i < names.size(); ++i) {
    expect_rescored(context, *model_, names[i], found[i], options, 2);
  }
}

}  // namespace
}  // namespace headlight::infer
