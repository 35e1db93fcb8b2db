// An independent program computes every tensor of a trace again. Needs a Python that has NumPy,
// named by the variable HEADLIGHT_PYTHON.
#include <cstdlib>

#include "tests/explain/support.h"
#include "tests/places.h"

namespace headlight::explain {
namespace {

class Recompute : public ExplainTest {
 protected:
  void SetUp() override {
    const char* python = std::getenv("HEADLIGHT_PYTHON");
    if (python == nullptr) {
      GTEST_SKIP() << "HEADLIGHT_PYTHON does not name a Python that has NumPy";
    }
    python_ = python;
  }

  void expect_recomputed(const Trace& trace) {
    write_trace(base::real_files(), folder_ / "trace.safetensors", trace, trace_tensors(trace));
    const std::string command = "'" + python_ + "' '" + tests::source_folder() +
                                "/tests/explain/recompute.py' '" + folder_ / "trace.safetensors" +
                                "' > '" + folder_ / "said" + "' 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << folder_.get("said");
  }

  void expect_recomputed_with_variants(Trace trace, const models::Model& model) {
    add_variants(trace, model);
    expect_recomputed(trace);
  }

  void expect_recomputed(const std::string& folder, const InputText& text) {
    const auto model = models::load_model(base::real_files(), folder);
    const text::Tokenizer tokenizer = text::load_tokenizer(base::real_files(), folder);
    expect_recomputed(trace_model(threads_, *model, make_input(*model, tokenizer, text)));
  }

  std::string python_;
  test::TemporaryFolder folder_;
};

TEST_F(Recompute, the_worked_model_is_computed_again_by_another_program) {
  Trace trace = worked_trace();
  expect_recomputed_with_variants(std::move(trace), *worked_.back().model);
  trace = worked_trace({.heads = 3, .head_width = 2, .layers = 2, .pre_norm = true});
  expect_recomputed_with_variants(std::move(trace), *worked_.back().model);
}

TEST_F(Recompute, a_gpt_that_sorts_is_computed_again_by_another_program) {
  const std::string folder = shared("data/gpt-nano-sort");
  SKIP_WITHOUT(folder);
  const auto model = models::load_model(base::real_files(), folder);
  Input input;
  input.batch.ids = models::random_ids({1, 9}, model->vocab_size(), 1);
  expect_recomputed_with_variants(trace_model(threads_, *model, input), *model);
}

TEST_F(Recompute, the_model_of_numbers_is_computed_again_by_another_program) {
  expect_recomputed(tests::source_folder() + "/headlight/recipes/embedded/numbers",
                    {.text = "forty two", .target = "42"});
}

TEST_F(Recompute, a_pruned_model_is_computed_again_by_another_program) {
  models::Seq2SeqConfig config = models::small_seq2seq();
  config.heads_left = {
      {"encoder.0.self", {1, 3}}, {"encoder.1.self", {}}, {"decoder.0.cross", {2}}};
  models::Seq2Seq model(config);
  expect_recomputed_with_variants(traced(model, 6, 5), model);
}

TEST_F(Recompute, a_bert_is_computed_again_by_another_program) {
  models::Bert bert(models::small_bert());
  expect_recomputed_with_variants(traced(bert, 6), bert);
}

}  // namespace
}  // namespace headlight::explain
