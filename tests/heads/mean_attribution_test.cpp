// Attribution over examples: against single questions, on a planted circuit, with padding.
#include <cmath>
#include <map>

#include "headlight/heads/heads.h"
#include "tests/heads/repeated_tokens.h"

namespace headlight::heads {
namespace {

using models::Batch;
using models::error_of;
using models::expect_has;
using tensor::Tensor;

class MeanAttributions : public testing::Test {
 protected:
  MeanAttributions() { models::fill(translator_, 11); }

  Batch sentence(uint64_t seed, int64_t length, int64_t source_length) const {
    return {.ids = models::random_ids({1, length}, translator_.vocab_size(), seed),
            .source_ids =
                models::random_ids({1, source_length}, translator_.source_vocab_size(), seed + 40),
            .targets = models::random_ids({1, length}, translator_.vocab_size(), seed + 80)};
  }

  // The likeliest word but this one.
  int64_t other_word(const Batch& batch, int64_t position, int64_t right) {
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena};
    const Tensor logits =
        translator_.logits(context, translator_.forward(context, batch)).data().contiguous();
    const float* row = logits.data<float>() + position * logits.size(-1);
    int64_t best = -1;
    for (int64_t word = 0; word < logits.size(-1); ++word) {
      if (word != right && (best < 0 || row[word] > row[best])) best = word;
    }
    return best;
  }

  base::ThreadPool threads_{2};
  models::Seq2Seq translator_{models::small_seq2seq()};
};

TEST_F(MeanAttributions, are_means_of_single_questions) {
  std::vector<Batch> rows = {sentence(1, 5, 7), sentence(2, 3, 4)};
  rows[0].targets.mutable_data<int64_t>()[1] = -1;  // which is not asked for
  std::map<std::string, double> magnitudes, values;
  double margin = 0;
  for (const Batch& row : rows) {
    std::map<std::string, double> of_row, signed_of_row;
    double row_margin = 0;
    double count = 0;
    for (int64_t at = 0; at < row.ids.size(1); ++at) {
      const int64_t right = row.targets.data<int64_t>()[at];
      if (right < 0) continue;
      const Batch asked{.ids = row.ids, .source_ids = row.source_ids};
      const Attribution one =
          attribute_logits(threads_, translator_, asked, {at, right, other_word(asked, at, right)});
      for (const AttributedPart& part : one.parts) {
        if (part.kind != PartKind::head) continue;
        of_row[part.part] += std::abs(part.value);
        signed_of_row[part.part] += part.value;
      }
      row_margin += one.measured;
      ++count;
    }
    for (const auto& [name, sum] : of_row) magnitudes[name] += sum / count / 2;
    for (const auto& [name, sum] : signed_of_row) values[name] += sum / count / 2;
    margin += row_margin / count / 2;
  }
  const MeanAttribution means = mean_attribution(threads_, translator_, {joined(rows)});
  EXPECT_EQ(means.examples, 2);
  EXPECT_NEAR(means.margin, margin, 1e-5);
  EXPECT_EQ(means.heads.size(), magnitudes.size());
  for (const HeadAttribution& one : means.heads) {
    EXPECT_FALSE(one.head.place.starts_with("encoder")) << one.head.text();
    EXPECT_NEAR(one.magnitude, magnitudes.at(one.head.text()), 1e-5) << one.head.text();
    EXPECT_NEAR(one.value, values.at(one.head.text()), 1e-5) << one.head.text();
    EXPECT_GT(one.magnitude, 0);
  }
}

TEST_F(MeanAttributions, do_not_depend_on_batches) {
  const std::vector<Batch> rows = {sentence(3, 5, 7), sentence(4, 2, 9), sentence(5, 4, 3)};
  const MeanAttribution together = mean_attribution(threads_, translator_, {joined(rows)});
  const MeanAttribution apart = mean_attribution(threads_, translator_, Examples(rows));
  ASSERT_EQ(together.heads.size(), apart.heads.size());
  for (size_t i = 0; i < apart.heads.size(); ++i)
    EXPECT_EQ(together.heads[i].magnitude, apart.heads[i].magnitude);
}

TEST_F(MeanAttributions, of_a_planted_circuit_are_of_the_head_that_answers) {
  const auto model = induction_circuit();
  const MeanAttribution means = mean_attribution(threads_, *model, {repeated_batch(1)});
  ASSERT_EQ(means.heads.size(), 4u);
  for (const HeadAttribution& one : means.heads) {
    if (one.head == HeadName{"decoder.1.self", 0}) {
      EXPECT_GT(one.value, 1);
      EXPECT_NEAR(one.value, means.margin, 1e-3) << "all of it";
    } else {
      EXPECT_NEAR(one.magnitude, 0, 1e-4) << one.head.text();
    }
  }
}

TEST_F(MeanAttributions, stop_and_refuse) {
  EXPECT_TRUE(mean_attribution(threads_, translator_, {sentence(1, 3, 3)},
                               {.interrupted = [] { return true; }})
                  .interrupted);
  Batch none = sentence(1, 2, 3);
  for (int64_t i = 0; i < 2; ++i) none.targets.mutable_data<int64_t>()[i] = -1;
  expect_has(error_of([&] { mean_attribution(threads_, translator_, {none}); }), "target");
}

}  // namespace
}  // namespace headlight::heads
