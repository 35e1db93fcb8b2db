// Reference numbers beside a model: how close, which tensor is the first beyond rounding, and files
// that hold something else.
#include <filesystem>

#include "tests/places.h"
#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

using tensor::Tensor;

class References : public models::ModelTest {
 protected:
  std::optional<ReferenceResult> compared(const models::Model& model) {
    return compare_with_reference(threads_, base::real_files(), folder_.path(), model);
  }
  // What the model itself computes, by public names.
  std::vector<io::NamedTensor> own_numbers(const models::Model& model, const models::Batch& batch) {
    autograd::Recording recording({.wants =
                                       [](std::string_view place) {
                                         return place == "decoder.0.self.weights" ||
                                                place == "decoder.1.ffn.output" ||
                                                place == "logits";
                                       },
                                   .reports = false});
    models::Context context = inference_context();
    context.observer = &recording;
    model.logits(context, model.forward(context, batch));
    std::vector<io::NamedTensor> all = {{"ids", batch.ids}};
    if (batch.source_ids.defined()) all.push_back({"source_ids", batch.source_ids});
    for (const auto& [name, values] : recording.seen()) all.push_back({name, values});
    return all;
  }
  void put(const std::vector<io::NamedTensor>& tensors) {
    io::write_safetensors(base::real_files(), folder_ / "reference.safetensors", tensors);
  }
  static void change(std::vector<io::NamedTensor>& tensors, const std::string& name, float by) {
    for (io::NamedTensor& one : tensors) {
      if (one.name != name) continue;
      std::vector<float> numbers = models::floats(one.tensor);
      numbers[numbers.size() / 2] += by;
      one.tensor = Tensor::of(one.tensor.shape(), numbers);
    }
  }

  TemporaryFolder folder_;
};

TEST_F(References, are_none_where_there_is_no_such_file) {
  models::Gpt model(models::small_gpt());
  EXPECT_FALSE(compared(model));
}

TEST_F(References, of_the_model_itself_are_equal) {
  models::Gpt gpt(models::small_gpt());
  models::fill(gpt, 3);
  put(own_numbers(gpt, {.ids = models::random_ids({2, 6}, gpt.vocab_size(), 1)}));
  const auto found = compared(gpt);
  ASSERT_TRUE(found);
  EXPECT_EQ(
      io::json_text(reference_json(*found)),
      R"({"file":"reference.safetensors","compared":3,"largest_difference":0.0,"relative":0.0,)"
      R"("first":null})");
  models::Seq2Seq pair(models::small_seq2seq());
  models::fill(pair, 4);
  put(own_numbers(pair, {.ids = models::random_ids({1, 4}, pair.vocab_size(), 1),
                         .source_ids = models::random_ids({1, 5}, pair.source_vocab_size(), 2)}));
  EXPECT_EQ(compared(pair)->compared, 3);
  EXPECT_EQ(compared(pair)->largest_difference, 0);
}

TEST_F(References, tell_the_first_tensor_of_the_run_that_is_beyond_rounding) {
  models::Gpt model(models::small_gpt());
  models::fill(model, 3);
  auto numbers = own_numbers(model, {.ids = models::random_ids({2, 6}, model.vocab_size(), 1)});
  change(numbers, "logits", 0.5F);
  change(numbers, "decoder.1.ffn.output", 0.25F);
  change(numbers, "decoder.0.self.weights", 1e-6F);
  put(numbers);
  const auto found = compared(model);
  EXPECT_EQ(found->first, "decoder.1.ffn.output");
  EXPECT_NEAR(found->largest_difference, 0.5, 1e-5);
  EXPECT_GT(found->relative, kReferenceTolerance);
}

TEST_F(References, may_lack_the_axis_of_the_batch) {
  models::Gpt model(models::small_gpt());
  models::fill(model, 3);
  auto numbers = own_numbers(model, {.ids = models::random_ids({1, 6}, model.vocab_size(), 1)});
  for (io::NamedTensor& one : numbers) {
    std::vector<int64_t> sizes(one.tensor.shape().sizes().begin() + 1,
                               one.tensor.shape().sizes().end());
    one.tensor = one.tensor.contiguous().reshaped(tensor::Shape(sizes));
  }
  put(numbers);
  EXPECT_EQ(compared(model)->largest_difference, 0);
}

TEST_F(References, that_hold_something_else_are_refused) {
  models::Gpt model(models::small_gpt());
  models::fill(model, 3);
  const auto ids = models::random_ids({1, 6}, model.vocab_size(), 1);
  const auto refused = [&](const std::vector<io::NamedTensor>& tensors, const std::string& why) {
    put(tensors);
    expect_refused(
        ErrorKind::bad_input, [&] { compared(model); }, why);
  };
  refused({{"logits", Tensor::zeros(tensor::DType::f32, {1, 6, 17})}}, "has no tensor \"ids\"");
  refused({{"ids", ids}}, "has none of the model's tensors");
  refused({{"ids", ids}, {"logits", Tensor::zeros(tensor::DType::f32, {1, 6, 5})}}, "logits is");
  refused({{"ids", ids}, {"logits", Tensor::zeros(tensor::DType::f32, {17})}}, "logits is");
  refused({{"ids", models::integers({1, 2}, {0, 99})},
           {"logits", Tensor::zeros(tensor::DType::f32, {1, 2, 17})}},
          "99");
  refused({{"ids", models::random_ids({1, 1, 6}, 17, 1)}}, "sequences (B, T)");
  folder_.put("reference.safetensors", "nothing");
  expect_refused(
      ErrorKind::bad_input, [&] { compared(model); }, "reference.safetensors");
}

TEST_F(References, of_the_published_sorting_model_are_met) {
  const std::string folder = tests::shared_folder() + "/data/gpt-nano-sort";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "without " << folder;
  const auto model = models::load_model(base::real_files(), folder);
  const auto found = compare_with_reference(threads_, base::real_files(), folder, *model);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->file, "partials.safetensors");
  EXPECT_EQ(found->compared, 22);
  EXPECT_LT(found->largest_difference, 1e-4);
  EXPECT_EQ(found->first, std::nullopt);
}

}  // namespace
}  // namespace headlight::recipes
