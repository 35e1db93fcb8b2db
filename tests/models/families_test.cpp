// Every family of models beside what Hugging Face transformers computes for it: one tiny model of
// each from tests/golden, and many random ones where a Python that has transformers is named by the
// variable HEADLIGHT_PYTHON. HEADLIGHT_FAMILIES limits those to some, HEADLIGHT_FAMILIES_TABLE
// names a file that gets a row of docs/models.md for each.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/models/families_support.h"

namespace headlight::models {
namespace {

class GoldenFamily : public FamilyTest, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    expected_ = read_tensors(golden_folder(GetParam()) + "/expected.safetensors");
    model_ = load_model(base::real_files(), golden_folder(GetParam()));
  }

  nn::StateDict expected_;
  std::unique_ptr<Model> model_;
};

TEST_P(GoldenFamily, has_the_logits_the_loss_and_the_gradients_of_transformers) {
  EXPECT_EQ(model_->type(), GetParam());
  EXPECT_LE(logits_distance(*model_, expected_), kFamilyTolerance);
  EXPECT_LE(loss_distance(*model_, expected_), kFamilyTolerance);
  for (const nn::ParameterHandle& parameter : trained_parameters(*model_)) {
    const auto found = expected_.find("length." + parameter->name());
    ASSERT_NE(found, expected_.end()) << parameter->name();
    double square = 0;
    for (const float number : floats(parameter->grad())) square += number * number;
    const float length = *found->second.data<float>();
    EXPECT_NEAR(std::sqrt(square), length, kFamilyTolerance * std::max(1.0F, length))
        << parameter->name();
  }
}

TEST_P(GoldenFamily, writes_the_words_of_transformers_with_a_cache_and_without) {
  expect_words(*model_, expected_, 5);
}

TEST_P(GoldenFamily, is_the_same_from_a_folder_written_here) {
  const TemporaryFolder folder;
  save_model(base::real_files(), folder.path(), *model_);
  const std::unique_ptr<Model> again = load_model(base::real_files(), folder.path());
  EXPECT_EQ(again->config(), model_->config());
  EXPECT_LE(logits_distance(*again, expected_), kFamilyTolerance);
}

TEST_P(GoldenFamily, has_as_many_parameters_as_its_plan_says) {
  const io::Json config =
      io::read_json(base::real_files(), golden_folder(GetParam()) + "/config.json");
  const io::Safetensors tensors =
      io::open_safetensors(base::real_files(), golden_folder(GetParam()) + "/model.safetensors");
  const ModelPlan plan =
      known_architectures().find(GetParam())->read(config, "config.json", tensors);
  int64_t numbers = 0;
  for (const nn::ParameterHandle& one : model_->parameters()) numbers += one->shape().elements();
  EXPECT_EQ(plan.parameters, numbers);
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenFamily, testing::ValuesIn(golden_families()),
                         [](const auto& info) { return info.param; });

TEST_F(FamilyTest, layers_that_share_their_weights_lose_no_head) {
  const auto model = load_model(base::real_files(), golden_folder("albert"));
  expect_has(error_of([&] {
               model->with_heads({{"encoder.0.self", {0}}});
             }),
             "albert (heads): layers share their weights, none of them can lose a head");
  EXPECT_EQ(model->attentions().size(), 3u);
  EXPECT_EQ(model->attentions()[2]->options().place, "encoder.2.self");
}

// The quotient of the published code: 9 / (18 / 14) is just below 7 in floating point.
TEST_F(FamilyTest, layers_of_albert_fall_into_the_groups_of_the_published_code) {
  const EncoderDesign design = albert_design({.num_hidden_layers = 18, .num_hidden_groups = 14});
  ASSERT_EQ(design.shared.size(), 18u);
  EXPECT_EQ(design.shared[8], 8u);
  EXPECT_EQ(design.shared[9], 8u);
  EXPECT_EQ(design.shared[10], 10u);
}

class RandomFamily : public FamilyTest, public testing::WithParamInterface<std::string> {
 protected:
  static constexpr int kModels = 20;

  void SetUp() override {
    const char* python = std::getenv("HEADLIGHT_PYTHON");
    if (python == nullptr) {
      GTEST_SKIP() << "HEADLIGHT_PYTHON does not name a Python that has transformers";
    }
    const char* chosen = std::getenv("HEADLIGHT_FAMILIES");
    if (chosen != nullptr &&
        ("," + std::string(chosen) + ",").find("," + GetParam() + ",") == std::string::npos) {
      GTEST_SKIP() << "HEADLIGHT_FAMILIES leaves it out";
    }
    python_ = python;
  }

  void script(const std::string& arguments) {
    const std::string command = "'" + python_ + "' '" + tests::source_folder() +
                                "/tests/models/families_check.py' " + arguments + " > '" +
                                folder_ / "said" + "' 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << folder_.get("said");
  }

  float gradient_distance(const Model& model, const nn::StateDict& expected) {
    const nn::StateDict right = under(expected, "grad.");
    float most = 0;
    float apart = 0;
    for (const auto& [name, gradient] : right) most = std::max(most, largest(gradient));
    for (const nn::ParameterHandle& parameter : trained_parameters(model)) {
      const auto found = right.find(parameter->name());
      if (found == right.end()) {
        ADD_FAILURE() << "transformers has no " << parameter->name();
        continue;
      }
      apart = std::max(apart, distance(parameter->grad(), found->second));
    }
    return apart / most;
  }

  FamilyDistance compare(const std::string& name) {
    SCOPED_TRACE(name);
    const nn::StateDict expected =
        read_tensors(folder_ / "models/" + name + "/expected.safetensors");
    const std::unique_ptr<Model> model = load_model(base::real_files(), folder_ / "models/" + name);
    FamilyDistance apart;
    apart.logits = logits_distance(*model, expected);
    apart.loss = loss_distance(*model, expected);
    apart.gradients = gradient_distance(*model, expected);
    apart.words = expect_words(*model, expected, 5);
    EXPECT_LE(apart.logits, kFamilyTolerance);
    EXPECT_LE(apart.loss, kFamilyTolerance);
    EXPECT_LE(apart.gradients, kFamilyTolerance);
    write(*model, expected, name);
    return apart;
  }

  // A folder of our own with the logits it should have.
  void write(const Model& model, const nn::StateDict& expected, const std::string& name) {
    const std::string folder = folder_ / "written/" + name;
    base::make_directories(base::real_files(), folder);
    save_model(base::real_files(), folder, model);
    std::vector<io::NamedTensor> numbers;
    for (const char* kept : {"ids", "source_ids", "lens", "segments", "source_lens", "logits"}) {
      if (expected.contains(kept)) numbers.push_back({kept, expected.at(kept)});
    }
    io::write_safetensors(base::real_files(), folder + "/logits.safetensors", numbers);
  }

  static void add_row(const FamilyDistance& apart) {
    const char* table = std::getenv("HEADLIGHT_FAMILIES_TABLE");
    if (table == nullptr) return;
    const auto number = [](float share) {
      std::array<char, 16> text{};
      std::snprintf(text.data(), text.size(), "%.1e", static_cast<double>(share));
      return std::string(text.data());
    };
    std::ofstream(table, std::ios::app)
        << "| `" << GetParam() << "` | " << kModels << " | " << number(apart.logits) << " | "
        << number(apart.loss) << " | " << number(apart.gradients) << " | "
        << (apart.words > 0 ? std::to_string(apart.words) : "–") << " |\n";
  }

  std::string python_;
  TemporaryFolder folder_;
};

TEST_P(RandomFamily, twenty_random_models_compute_what_transformers_computes_and_open_there) {
  script("make '" + folder_ / "models" + "' " + std::to_string(kModels) + " " + GetParam());
  if (HasFatalFailure()) return;
  FamilyDistance apart;
  for (int i = 0; i < kModels; ++i) {
    apart.take_in(compare(GetParam() + "-" + std::to_string(i)));
  }
  script("check '" + folder_ / "written" + "'");
  add_row(apart);
}

// A rate of (nearly) 1 leaves nothing of what it is for, here and there: chance plays no part.
TEST_P(RandomFamily, drops_in_training_what_transformers_drops) {
  script("dropouts '" + folder_ / "models" + "' " + GetParam());
  if (HasFatalFailure()) return;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "models")) {
    const std::string folder = entry.path().string();
    SCOPED_TRACE(entry.path().filename().string());
    const nn::StateDict expected = read_tensors(folder + "/expected.safetensors");
    const std::unique_ptr<Model> model = load_model(base::real_files(), folder);
    EXPECT_LE(logits_distance(*model, expected, true), kFamilyTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, RandomFamily, testing::ValuesIn(golden_families()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace headlight::models
