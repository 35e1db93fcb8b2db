// Hugging Face transformers opens what is written here, and what it writes is read here. Needs a
// Python that has it, named by the variable HEADLIGHT_PYTHON.
#include <cstdlib>

#include "tests/models/support.h"
#include "tests/places.h"

namespace headlight::models {
namespace {

class Transformers : public ModelTest {
 protected:
  void SetUp() override {
    const char* python = std::getenv("HEADLIGHT_PYTHON");
    if (python == nullptr) {
      GTEST_SKIP() << "HEADLIGHT_PYTHON does not name a Python that has transformers";
    }
    python_ = python;
  }

  // Runs the script; what it says goes to a file that is shown when it fails.
  void script(const std::string& action, const std::string& folder) {
    const std::string command = "'" + python_ + "' '" + tests::source_folder() +
                                "/tests/models/transformers_check.py' " + action + " '" + folder +
                                "' > '" + folder_ / "said" + "' 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << folder_.get("said");
  }

  static void expect_near(const Tensor& got, const Tensor& expected, const std::string& what) {
    EXPECT_LE(distance(got, expected), 1e-4F * std::max(1.0F, largest(expected))) << what;
  }

  // Rows of padding are nobody's business.
  static Tensor counted(const Tensor& rows, const Tensor& lens) {
    if (!lens.defined()) return rows;
    Tensor copy = Tensor::zeros(DType::f32, rows.shape());
    const int64_t width = rows.size(2);
    for (int64_t b = 0; b < rows.size(0); ++b) {
      const int64_t begin = b * rows.size(1) * width;
      std::copy_n(rows.data<float>() + begin, lens.data<int64_t>()[b] * width,
                  copy.mutable_data<float>() + begin);
    }
    return copy;
  }

  void expect_same(const std::string& name) {
    SCOPED_TRACE(name);
    const nn::StateDict expected = read_tensors(folder_ / name + "/expected.safetensors");
    const std::unique_ptr<Model> model = load_model(base::real_files(), folder_ / name);
    Batch batch{.ids = expected.at("ids")};
    if (expected.contains("lens")) {
      batch.lens = expected.at("lens");
      batch.segments = expected.at("segments");
    }
    Keeper keeper;
    Context context = inference_context();
    context.observer = &keeper;
    const Value output = model->forward(context, batch);
    const std::string side = model->type() == "bert" ? "encoder." : "decoder.";
    size_t layer = 0;
    for (; expected.contains("hidden." + std::to_string(layer + 1)); ++layer) {
      expect_near(counted(keeper.seen[side + std::to_string(layer) + ".residual_in"], batch.lens),
                  counted(expected.at("hidden." + std::to_string(layer)), batch.lens),
                  "layer " + std::to_string(layer));
    }
    EXPECT_GE(layer, 2u);
    expect_near(counted(output.data(), batch.lens),
                counted(expected.at("hidden." + std::to_string(layer)), batch.lens), "output");
    if (expected.contains("logits")) {
      expect_near(counted(model->logits(context, output).data(), batch.lens),
                  counted(expected.at("logits"), batch.lens), "logits");
    }
    if (expected.contains("pooler_output")) {
      expect_near(dynamic_cast<const Bert&>(*model).pooled(context, output),
                  expected.at("pooler_output"), "pooled");
    }
  }

  // A folder with the logits it should have.
  void write(Model& model, const std::string& name) {
    fill(model, 3);
    const std::string folder = folder_ / "models/" + name;
    base::make_directories(base::real_files(), folder);
    save_model(base::real_files(), folder, model);
    Context context = inference_context();
    const Tensor ids = random_ids({2, 10}, model.vocab_size(), 1);
    const Tensor logits = model.logits(context, model.forward(context, {.ids = ids})).data();
    io::write_safetensors(base::real_files(), folder + "/logits.safetensors",
                          {{"ids", ids}, {"logits", logits}});
  }

  std::string python_;
  TemporaryFolder folder_;
};

TEST_F(Transformers, random_models_that_it_saves_give_the_same_hidden_states_and_logits) {
  script("make", folder_.path());
  if (HasFatalFailure()) return;
  for (const char* name : {"gpt2", "gpt2-bare", "gpt2-relu", "gpt2-untied", "gpt2-shards",
                           "bert-masked", "bert-bare", "bert-both"}) {
    expect_same(name);
  }
}

TEST_F(Transformers, folders_written_here_open_there_with_the_same_logits) {
  for (const bool first : {true, false}) {
    GptConfig gpt_config = small_gpt();
    gpt_config.bias = first;
    gpt_config.tied_head = first;
    gpt_config.activation = first ? nn::Activation::gelu_tanh : nn::Activation::gelu;
    Gpt gpt(gpt_config);
    write(gpt, first ? "gpt" : "gpt-without-biases");
    BertConfig encoder_config = small_bert();
    encoder_config.pooler = first;
    Bert encoder(encoder_config);
    write(encoder, first ? "bert" : "bert-without-pooler");
  }
  script("check", folder_ / "models");
}

}  // namespace
}  // namespace headlight::models
