// Two runs beside each other: the first tensor that differs, and files of other programs.
#include "headlight/explain/compare.h"

#include "tests/base/temporary_folder.h"
#include "tests/explain/support.h"

namespace headlight::explain {
namespace {

class CompareTest : public ExplainTest {};

TEST_F(CompareTest, of_a_run_with_itself_finds_nothing) {
  const Trace a = worked_trace({.heads = 2});
  const Trace b = worked_trace({.heads = 2});
  const Comparison found = compare_traces(a, b);
  EXPECT_EQ(found.equal_count(), std::ssize(found.tensors));
  EXPECT_GT(found.tensors.size(), 50u);
  EXPECT_EQ(found.first_beyond(0), nullptr);
  EXPECT_TRUE(found.only_a.empty());
  EXPECT_TRUE(found.only_b.empty());
  EXPECT_TRUE(found.other_shapes.empty());
}

TEST_F(CompareTest, finds_the_first_tensor_that_a_changed_weight_reaches) {
  const Trace a = worked_trace({.heads = 2});
  const Trace b = worked_trace({.heads = 2});
  // One weight of the decoder's feed-forward layer.
  for (const nn::ParameterHandle& parameter : worked_.back().model->parameters()) {
    if (parameter->name() != "decoder.layers.0.fc1.weight") continue;
    const Tensor& numbers = parameter->value().data();
    std::vector<float> changed(numbers.data<float>(), numbers.data<float>() + numbers.elements());
    changed[0] += 0.5F;
    parameter->assign(Tensor::of(numbers.shape(), changed));
  }
  const SentencePair& pair = worked_.back().sentences.front();
  const Trace changed = trace_model(threads_, *worked_.back().model,
                                    make_input(*worked_.back().model, worked_.back().tokenizer,
                                               {.text = pair.source, .target = pair.target}));
  const Comparison found = compare_traces(a, changed);
  const TensorDifference* first = found.first_beyond(0);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->name, "decoder.0.ffn.hidden");
  EXPECT_GT(first->largest, 0);
  EXPECT_NEAR(first->largest, std::abs(first->a - first->b), 1e-9);
  const CellReference cell = parse_cell(a, first->at);
  EXPECT_EQ(a.value(a.at(cell.name), cell.index), first->a);
  EXPECT_EQ(changed.value(changed.at(cell.name), cell.index), first->b);
  EXPECT_EQ(found.first_beyond(1e9), nullptr);
}

TEST_F(CompareTest, tells_what_only_one_has_and_what_has_another_shape) {
  const Trace a = worked_trace({.heads = 2, .layers = 2});
  const Trace b = worked_trace({.heads = 3, .layers = 1});
  const Comparison found = compare_traces(a, b);
  const auto has = [](const std::vector<std::string>& names, const char* name) {
    return std::ranges::find(names, name) != names.end();
  };
  EXPECT_TRUE(has(found.only_a, "encoder.1.self.scores"));
  EXPECT_TRUE(found.only_b.empty());
  const auto scores =
      std::ranges::find(found.other_shapes, "encoder.0.self.scores", &OtherShape::name);
  ASSERT_NE(scores, found.other_shapes.end());
  EXPECT_EQ(scores->a, (std::vector<int64_t>{1, 2, 7, 7}));
  EXPECT_EQ(scores->b, (std::vector<int64_t>{1, 3, 7, 7}));
}

TEST_F(CompareTest, reads_a_file_of_another_program_with_and_without_the_batch_axis) {
  const Trace a = worked_trace({.heads = 2});
  const test::TemporaryFolder folder;
  const std::string path = folder / "dump.safetensors";
  const Tensor sum = a.values("encoder.sum");
  Tensor off = Tensor::of(
      sum.shape(), std::vector<float>(sum.data<float>(), sum.data<float>() + sum.elements()));
  off.mutable_data<float>()[7] += 0.25F;
  io::write_safetensors(base::real_files(), path,
                        {{"encoder.embedding", a.values("encoder.embedding")},
                         {"encoder.sum", off.reshaped({sum.size(1), sum.size(2)})},
                         {"somebody.elses", sum}});
  const Comparison found = compare_with_file(a, io::open_safetensors(base::real_files(), path));
  ASSERT_EQ(found.tensors.size(), 2u);
  EXPECT_EQ(found.only_b, (std::vector<std::string>{"somebody.elses"}));
  const TensorDifference* first = found.first_beyond(1e-6);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->name, "encoder.sum");
  EXPECT_EQ(first->at, "encoder.sum[1,1]");
  EXPECT_NEAR(first->largest, 0.25, 1e-6);
}

TEST_F(CompareTest, counts_what_is_no_number_on_one_side_as_infinitely_far) {
  const Trace a = worked_trace();
  const test::TemporaryFolder folder;
  const Tensor sum = a.values("encoder.sum");
  Tensor off = Tensor::of(
      sum.shape(), std::vector<float>(sum.data<float>(), sum.data<float>() + sum.elements()));
  off.mutable_data<float>()[3] = NAN;
  const std::string path = folder / "dump.safetensors";
  io::write_safetensors(base::real_files(), path, {{"encoder.sum", off}});
  const Comparison found = compare_with_file(a, io::open_safetensors(base::real_files(), path));
  EXPECT_TRUE(std::isinf(found.tensors.front().largest));
  // What is hidden on both sides is the same.
  EXPECT_EQ(compare_traces(a, a).first_beyond(0), nullptr);
}

}  // namespace
}  // namespace headlight::explain
