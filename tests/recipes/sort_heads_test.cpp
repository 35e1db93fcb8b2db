// shared/data/gpt-nano-sort, minGPT's sorting model: which of its nine heads do the sorting. What
// docs/heads.md says of them is measured here on all 729 inputs.
#include <algorithm>

#include "tests/places.h"
#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

constexpr int64_t kCases = 729;
constexpr int64_t kLetters = 6;

// Six letters and the sorted ones after them, but for the last, which is the last answer.
struct SortCase {
  std::vector<int64_t> letters;
  std::vector<int64_t> sorted;

  std::vector<int64_t> read() const {
    std::vector<int64_t> ids = letters;
    ids.insert(ids.end(), sorted.begin(), sorted.end() - 1);
    return ids;
  }
  std::vector<int64_t> right() const {
    std::vector<int64_t> ids(kLetters - 1, -1);
    ids.insert(ids.end(), sorted.begin(), sorted.end());
    return ids;
  }
};

SortCase sort_case(int64_t number) {
  SortCase one;
  for (int64_t i = 0; i < kLetters; ++i, number /= 3) one.letters.push_back(number % 3);
  one.sorted = one.letters;
  std::ranges::sort(one.sorted);
  return one;
}

std::string csv_row(const std::vector<int64_t>& numbers) {
  std::string row;
  for (const int64_t number : numbers) row += (row.empty() ? "" : ",") + std::to_string(number);
  return row + "\n";
}

class SortHeads : public testing::Test {
 protected:
  void SetUp() override {
    const std::string folder = tests::shared_folder() + "/data/gpt-nano-sort";
    if (!base::exists(files_, folder)) GTEST_SKIP() << folder << " is absent";
    loaded_ = load_named_model(files_, folder);
    std::string ids, targets;
    for (int64_t number = 0; number < kCases; ++number) {
      ids += csv_row(sort_case(number).read());
      targets += csv_row(sort_case(number).right());
    }
    request_ = {.ids = folder_.put("ids.csv", ids),
                .targets = folder_.put("targets.csv", targets),
                .examples = kCases};
  }

  // Heads by the weight that rows that write a letter put on input letters for which `is_meant`
  // says so, given the letter there, the letter of the row and the one that it has to write. The
  // row of the last input letter, which writes the first one, is left out unless it is asked for.
  template <class IsMeant>
  heads::FoundHeads found(const IsMeant& is_meant, int64_t first_row = kLetters) {
    std::string pairs;
    for (int64_t number = 0; number < kCases; ++number) {
      const SortCase one = sort_case(number);
      for (int64_t row = first_row; row < 2 * kLetters - 1; ++row) {
        for (int64_t key = 0; key < kLetters; ++key) {
          const int64_t now = one.read()[static_cast<size_t>(row)];
          const int64_t next = one.sorted[static_cast<size_t>(row - kLetters + 1)];
          if (is_meant(one.letters[static_cast<size_t>(key)], now, next))
            pairs += csv_row({number, row, key});
        }
      }
    }
    heads::FindOptions options;
    options.rounds = 100;
    return find_model_heads(threads_, files_, loaded_,
                            {.pairs = folder_.put("pairs.csv", pairs), .data = request_}, options)
        .found;
  }

  static bool is_in_layer(const std::string& head, int layer) {
    return head.starts_with("decoder." + std::to_string(layer) + ".");
  }

  TemporaryFolder folder_;
  FilesWithEmbedded files_;
  base::ThreadPool threads_{2};
  LoadedModel loaded_;
  ExamplesRequest request_;
};

TEST_F(SortHeads, share_the_work_so_that_none_is_needed_alone) {
  const heads::AblationResult result = ablate_model_heads(threads_, files_, loaded_, request_);
  EXPECT_EQ(result.baseline.metric, 1);
  std::vector<heads::AblatedHead> heads = result.heads;
  ASSERT_EQ(heads.size(), 9u);
  for (const heads::AblatedHead& head : heads) {
    EXPECT_GT(head.change, 0) << head.head;
    EXPECT_GT(head.measured.metric, 0.9) << head.head;
    EXPECT_LT(head.measured.metric, 1) << head.head;
  }
  std::ranges::sort(heads, std::ranges::greater(), &heads::AblatedHead::change);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(is_in_layer(heads[i].head, 0)) << heads[i].head;
  EXPECT_EQ(heads[0].head, "decoder.0.self.1");
  EXPECT_NEAR(heads[0].change, 0.0344, 5e-4);
  EXPECT_NEAR(*heads[0].measured.metric, 0.9232, 2.5 / kCases);
  EXPECT_EQ(heads[8].head, "decoder.2.self.0");
}

TEST_F(SortHeads, of_the_first_layers_matter_most_together) {
  const HeadExamples examples = make_head_examples(files_, loaded_, request_);
  heads::AblatedModel ablated(threads_, *loaded_.model, examples.batches,
                              {.metric = examples.metric});
  const auto exact_without = [&](int layer) {
    return *ablated.evaluate({{"decoder." + std::to_string(layer) + ".self", {0, 1, 2}}})->metric;
  };
  EXPECT_NEAR(exact_without(0), 0.37, 0.01);
  EXPECT_NEAR(exact_without(1), 0.49, 0.01);
  EXPECT_NEAR(exact_without(2), 0.94, 0.01);
}

// Two answers to the same question, from the same rows: letters that are equal to the one which is
// to be written, and letters that have been written already.
TEST_F(SortHeads, of_the_first_layer_look_at_the_letter_that_comes_next_and_not_at_those_before) {
  const auto is_next = [](int64_t letter, int64_t, int64_t next) { return letter == next; };
  const auto is_done = [](int64_t letter, int64_t now, int64_t) { return letter < now; };
  const heads::FoundHeads next = found(is_next), done = found(is_done);
  EXPECT_EQ(next.turned + done.turned, 0) << "each row looks at what was before it";
  for (size_t i = 0; i < next.heads.size(); ++i) {
    const heads::FoundHead& head = next.heads[i];
    const auto same = std::ranges::find(done.heads, head.head, &heads::FoundHead::head);
    EXPECT_EQ(is_in_layer(head.head, 0), i < 3) << head.head;
    if (i < 3) {
      EXPECT_GT(*head.weight, head.high) << head.head;
      EXPECT_GT(*head.weight, 3.3 * *same->weight) << head.head;
    } else {
      EXPECT_LT(*head.weight, 3.3 * *same->weight) << head.head;
    }
  }
  EXPECT_EQ(done.heads[0].head, "decoder.2.self.2");
  EXPECT_LT(*next.together_measured.metric, 0.4) << "without them it cannot sort";
}

TEST_F(SortHeads, put_the_weight_on_all_letters_that_come_next_that_the_page_tells_of) {
  const heads::FoundHeads next = found(
      [](int64_t letter, int64_t, int64_t to_write) { return letter == to_write; }, kLetters - 1);
  EXPECT_EQ(next.pairs, 11664);
  EXPECT_EQ(next.heads[0].head, "decoder.0.self.2");
  EXPECT_NEAR(*next.heads[0].weight, 0.2476, 5e-4);
  EXPECT_NEAR(next.heads[0].chance, 0.1767, 1e-3);
  EXPECT_NEAR(*next.heads[0].ablated_change, 0.0128, 5e-4);
}

}  // namespace
}  // namespace headlight::recipes
