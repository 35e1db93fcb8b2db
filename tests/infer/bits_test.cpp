// Random models, prompts and options: with the cache or without, padded left, right or not at all,
// in a batch or alone, on one thread or three, results have the same bits.
#include "tests/infer/random_cases.h"

namespace headlight::infer {
namespace {

// The prompts' ids padded on one side with any ids, and which of them count; then taken back.
std::vector<Prompt> padded_and_back(const std::vector<Prompt>& prompts, bool on_the_left) {
  size_t longest = 0;
  for (const Prompt& prompt : prompts) longest = std::max(longest, prompt.ids.size());
  const auto width = static_cast<int64_t>(longest) + 2;
  const auto batch = static_cast<int64_t>(prompts.size());
  Tensor ids = Tensor::zeros(DType::i64, {batch, width});
  Tensor keep = Tensor::zeros(DType::boolean, {batch, width});
  for (size_t b = 0; b < prompts.size(); ++b) {
    const auto count = static_cast<int64_t>(prompts[b].ids.size());
    const int64_t first = static_cast<int64_t>(b) * width + (on_the_left ? width - count : 0);
    std::ranges::copy(prompts[b].ids, ids.mutable_data<int64_t>() + first);
    std::fill_n(keep.mutable_data<bool>() + first, count, true);
  }
  std::vector<Prompt> result = prompts;
  const std::vector<Ids> lists = unpadded(ids, keep);
  for (size_t b = 0; b < result.size(); ++b) result[b].ids = lists[b];
  return result;
}

class Bits : public ModelTest {
 protected:
  void expect_generated_alike(const models::Model& model, const std::vector<Prompt>& prompts,
                              const GenerateOptions& options) {
    autograd::Context context = inference_context();
    base::ThreadPool one_thread(1);
    autograd::Context alone{.threads = one_thread, .arena = arena_};
    const auto batch = generate(context, model, prompts, options);
    GenerateOptions from_scratch = options;
    from_scratch.use_cache = false;
    const auto uncached = generate(alone, model, prompts, from_scratch);
    const auto left = generate(alone, model, padded_and_back(prompts, true), options);
    const auto right = generate(context, model, padded_and_back(prompts, false), options);
    for (size_t i = 0; i < prompts.size(); ++i) {
      GenerateOptions single = options;
      single.first_sequence = i;
      single.use_cache = i % 2 == 0;
      expect_same(batch[i], uncached[i]);
      expect_same(batch[i], left[i]);
      expect_same(batch[i], right[i]);
      expect_same(batch[i], generate(alone, model, {prompts[i]}, single)[0]);
    }
  }

  void expect_searched_alike(const models::Model& model, const std::vector<Prompt>& prompts,
                             const BeamOptions& options) {
    autograd::Context context = inference_context();
    const auto batch = beam_search(context, model, prompts, options);
    BeamOptions from_scratch = options;
    from_scratch.use_cache = false;
    const auto uncached = beam_search(context, model, prompts, from_scratch);
    for (size_t i = 0; i < prompts.size(); ++i) {
      const auto single = beam_search(context, model, {prompts[i]}, options)[0];
      ASSERT_EQ(batch[i].size(), single.size());
      ASSERT_EQ(batch[i].size(), uncached[i].size());
      for (size_t beam = 0; beam < single.size(); ++beam) {
        expect_same(batch[i][beam], single[beam]);
        expect_same(batch[i][beam], uncached[i][beam]);
        EXPECT_EQ(batch[i][beam].score, single[beam].score);
      }
    }
  }

  void expect_same_bits(uint64_t first, uint64_t last) {
    for (uint64_t seed = first; seed < last && !HasFailure(); ++seed) {
      SCOPED_TRACE("case " + std::to_string(seed));
      Numbers numbers(seed);
      const auto model = numbers.coin() ? random_gpt(numbers) : random_seq2seq(numbers);
      fill(*model, seed);
      const std::vector<Prompt> prompts = random_prompts(numbers, *model);
      const GenerateOptions options = random_options(numbers, *model);
      expect_generated_alike(*model, prompts, options);
      expect_searched_alike(*model, prompts,
                            {.beams = numbers.from(1, 4),
                             .length_penalty = 2.0 * static_cast<double>(numbers.uniform()),
                             .ending = options.ending});
    }
  }
};

using LongBits = Bits;

TEST_F(Bits, are_the_same_however_a_hundred_sequences_are_run) { expect_same_bits(0, 100); }

TEST_F(LongBits, are_the_same_however_a_thousand_sequences_are_run) {
  expect_same_bits(1000, 2000);
}

}  // namespace
}  // namespace headlight::infer
