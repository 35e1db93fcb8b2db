// The PyPI package transformer-lens on the embedded GPT-2 model: the same attributions and the same
// logit lens. Needs a Python that has it, named by the variable HEADLIGHT_PYTHON.
#include <cmath>
#include <cstdlib>

#include "headlight/heads/heads.h"
#include "headlight/recipes/recipes.h"
#include "tests/models/support.h"
#include "tests/places.h"

namespace headlight::heads {
namespace {

constexpr double kTolerance = 1e-4;

struct LensQuestion {
  std::vector<int64_t> ids;
  LogitMetric metric;
};

class TransformerLensAttribution : public testing::Test {
 protected:
  void SetUp() override {
    const char* python = std::getenv("HEADLIGHT_PYTHON");
    if (python == nullptr) {
      GTEST_SKIP() << "HEADLIGHT_PYTHON does not name a Python that has transformer-lens";
    }
    python_ = python;
  }

  static io::Json questions_json(const std::vector<LensQuestion>& questions) {
    io::Json::Array all;
    for (const LensQuestion& question : questions) {
      all.push_back(
          io::Json::Object{{"ids", io::Json::Array(question.ids.begin(), question.ids.end())},
                           {"at", question.metric.position},
                           {"word", question.metric.word},
                           {"against", *question.metric.against}});
    }
    return all;
  }

  // Its answers; null where it does not have the package.
  io::Json answers(const std::string& model, const std::vector<LensQuestion>& questions) {
    const std::string asked =
        folder_.put("questions.json", io::json_text(questions_json(questions)));
    const std::string command = "'" + python_ + "' '" + tests::source_folder() +
                                "/tests/heads/transformer_lens_attribution.py' '" +
                                tests::source_folder() + "/headlight/recipes/embedded/" + model +
                                "' '" + asked + "' '" + folder_ / "answers.json" + "' > '" +
                                folder_ / "said" + "' 2>&1";
    const int status = std::system(command.c_str());
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return {};
    EXPECT_EQ(status, 0) << folder_.get("said");
    return io::read_json(base::real_files(), folder_ / "answers.json", 100'000'000);
  }

  // Its feed-forward parts hold their biases, and its "biases" are those of all attentions.
  static std::map<std::string, double> their_parts(const Attribution& attribution) {
    std::map<std::string, double> parts;
    for (const AttributedPart& part : attribution.parts) {
      if (part.kind == PartKind::norm_bias) continue;  // which it leaves out
      std::string name = part.part;
      if (part.kind == PartKind::attention_bias) name = "biases";
      if (part.kind == PartKind::feed_forward_bias) name = name.substr(0, name.rfind('.'));
      parts[name] += part.value;
    }
    return parts;
  }

  std::string python_;
  test::TemporaryFolder folder_;
  base::ThreadPool threads_{2};
};

// One model with its output layer tied to the embeddings, one without.
struct LensSubject {
  const char* model;
  std::vector<const char*> texts;
};
const LensSubject kLensSubjects[] = {
    {"stories",
     {"Anna has three apples. She gives", "Tom", "Once upon a time there was a",
      "Anna has two apples. Anna has two"}},
    {"repeats", {"ka lo mi tu se ka lo", "ba", "ra lo ka mi tu se vo ka", "du du du du bo"}}};

class TransformerLensOfModels : public TransformerLensAttribution,
                                public testing::WithParamInterface<LensSubject> {};

TEST_P(TransformerLensOfModels, is_the_same_and_so_is_the_logit_lens) {
  recipes::FilesWithEmbedded files;
  const recipes::LoadedModel loaded = recipes::load_named_model(files, GetParam().model);
  const text::Tokenizer tokenizer = recipes::need_tokenizer(files, loaded);
  const auto words = static_cast<uint64_t>(loaded.model->vocab_size());
  std::vector<LensQuestion> questions;
  const base::Random random(11);
  for (const char* text : GetParam().texts) {
    for (uint64_t i = 0; i < 5; ++i) {
      LensQuestion question{.ids = tokenizer.encode(text), .metric = {}};
      const auto draw = questions.size() * 3;
      question.metric.position = static_cast<int64_t>(random.below(draw, question.ids.size()));
      question.metric.word = static_cast<int64_t>(random.below(draw + 1, words));
      question.metric.against = static_cast<int64_t>(random.below(draw + 2, words));
      questions.push_back(question);
    }
  }
  const io::Json all = answers(GetParam().model, questions);
  if (all.is_null()) GTEST_SKIP() << python_ << " does not have transformer-lens";
  ASSERT_EQ(all.array()->size(), questions.size());
  for (size_t i = 0; i < questions.size(); ++i) {
    const io::Json& answer = all.array()->at(i);
    const LensQuestion& question = questions[i];
    const models::Batch batch{
        .ids = tensor::Tensor::of({1, static_cast<int64_t>(question.ids.size())}, question.ids)};
    const Attribution attribution =
        attribute_logits(threads_, *loaded.model, batch, question.metric);
    EXPECT_NEAR(attribution.measured, *answer.find("measured")->number(), kTolerance);
    const std::map<std::string, double> parts = their_parts(attribution);
    ASSERT_EQ(parts.size(), answer.find("parts")->object()->size());
    for (const auto& [name, value] : *answer.find("parts")->object()) {
      ASSERT_TRUE(parts.contains(name)) << name;
      EXPECT_NEAR(parts.at(name), *value.number(), kTolerance) << name;
    }
    const LogitLens lens =
        logit_lens(threads_, *loaded.model, batch, question.metric, loaded.model->vocab_size());
    ASSERT_EQ(lens.layers.size(), answer.find("lens")->array()->size());
    for (size_t layer = 0; layer < lens.layers.size(); ++layer) {
      const io::Json::Array& logits = *answer.find("lens")->array()->at(layer).array();
      ASSERT_EQ(lens.layers[layer].words.size(), logits.size());
      for (const LensWord& word : lens.layers[layer].words) {
        EXPECT_NEAR(word.logit, *logits[static_cast<size_t>(word.id)].number(), kTolerance)
            << lens.layers[layer].stream << " " << word.id;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Embedded, TransformerLensOfModels, testing::ValuesIn(kLensSubjects),
                         [](const auto& tested) { return std::string(tested.param.model); });

}  // namespace
}  // namespace headlight::heads
