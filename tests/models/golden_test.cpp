// The reference models of shared/golden: logits, loss, every gradient and ten steps of AdamW; from
// memory and from a folder.
#include "headlight/optim/optim.h"
#include "tests/models/support.h"

namespace headlight::models {
namespace {

constexpr float kOutputTolerance = 2e-5F;    // of the largest entry
constexpr float kGradientTolerance = 1e-4F;  // of the largest gradient in the file
constexpr float kLossTolerance = 1e-4F;

struct GoldenCase {
  const char* file;
  std::unique_ptr<Model> (*make)();
};

// Without a prefix, as the file names them.
std::unique_ptr<Model> golden_gpt() {
  GptConfig config = small_gpt();
  config.prefix = "";
  return std::make_unique<Gpt>(config);
}

std::unique_ptr<Model> golden_seq2seq() { return std::make_unique<Seq2Seq>(small_seq2seq()); }

class GoldenModel : public ModelTest, public testing::WithParamInterface<GoldenCase> {
 protected:
  static std::string path() { return shared("golden/") + GetParam().file + ".safetensors"; }

  void SetUp() override {
    SKIP_WITHOUT(path());
    golden_ = read_tensors(path());
    model_ = GetParam().make();
    model_->load_state(under(golden_, "param."), path());
    const bool translates = golden_.contains("in.source_ids");
    batch_.ids = golden_.at(translates ? "in.decoder_ids" : "in.ids");
    batch_.targets = golden_.at("in.targets");
    if (!translates) return;
    batch_.source_ids = golden_.at("in.source_ids");
    batch_.source_lens = golden_.at("in.source_lens");
  }

  void expect_logits(const Model& model) {
    Context context = inference_context();
    const Tensor logits = model.logits(context, model.forward(context, batch_)).data();
    const Tensor& expected = golden_.at("out.logits");
    EXPECT_LE(distance(logits, expected), kOutputTolerance * largest(expected));
  }

  nn::StateDict golden_;
  std::unique_ptr<Model> model_;
  Batch batch_;
};

TEST_P(GoldenModel, has_the_logits) { expect_logits(*model_); }

TEST_P(GoldenModel, has_the_loss_and_every_gradient) {
  Context context = recording_context();
  const Value loss = model_->loss(context, batch_);
  EXPECT_NEAR(loss.item(), *golden_.at("out.loss").data<float>(), 1e-5);
  tape_.backward(context, loss);
  const nn::StateDict expected = under(golden_, "grad.");
  float most = 0;
  for (const auto& [name, gradient] : expected) most = std::max(most, largest(gradient));
  for (const nn::ParameterHandle& parameter : model_->parameters()) {
    EXPECT_LE(distance(parameter->grad(), expected.at(parameter->name())),
              kGradientTolerance * most)
        << parameter->name();
  }
  EXPECT_EQ(model_->parameters().size(), expected.size());
}

TEST_P(GoldenModel, goes_down_the_same_ten_steps_of_adamw) {
  optim::Optimizer optimizer(
      model_->parameters(),
      {.learning_rate = 1e-2, .beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.1, .grad_clip = 1});
  const std::vector<float> expected = floats(golden_.at("out.adamw_losses"));
  ASSERT_EQ(expected.size(), 11u);
  for (size_t step = 0; step < expected.size(); ++step) {
    Context context = recording_context();
    context.training = true;
    const Value loss = model_->loss(context, batch_);
    EXPECT_NEAR(loss.item(), expected[step], kLossTolerance) << "step " << step;
    tape_.backward(context, loss);
    optimizer.step(context.execution());
    optimizer.clear_gradients();
  }
}

TEST_P(GoldenModel, is_the_same_from_a_folder) {
  const TemporaryFolder folder;
  save_model(base::real_files(), folder.path(), *model_);
  const std::unique_ptr<Model> loaded = load_model(base::real_files(), folder.path());
  EXPECT_EQ(loaded->config(), model_->config());
  expect_logits(*loaded);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenModel,
                         testing::Values(GoldenCase{"model-gpt2", golden_gpt},
                                         GoldenCase{"model-seq2seq", golden_seq2seq}),
                         [](const auto& info) { return std::string(info.param.file).substr(6); });

}  // namespace
}  // namespace headlight::models
