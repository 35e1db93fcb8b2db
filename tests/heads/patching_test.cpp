// Heads of one run in another: against runs by hand, and where the answer is known beforehand.
#include <cmath>
#include <numeric>

#include "headlight/heads/heads.h"
#include "tests/heads/block_model.h"

namespace headlight::heads {
namespace {

using models::Batch;
using tensor::Tensor;

// One head at some positions, by hand.
class OnePatch : public autograd::Intervention {
 public:
  OnePatch(const AttentionHeads& attention, int64_t head, std::vector<int64_t> rows, Tensor from)
      : attention_(attention), head_(head), rows_(std::move(rows)), from_(std::move(from)) {}
  bool changes(std::string_view place) override {
    return place == attention_.place + ".concatenated";
  }
  void change(std::string_view /*place*/, Tensor& values) override {
    for (const int64_t row : rows_) {
      for (int64_t i = 0; i < attention_.head_width; ++i) {
        const int64_t at = row * values.size(2) + head_ * attention_.head_width + i;
        values.mutable_data<float>()[at] = from_.data<float>()[at];
      }
    }
  }

 private:
  const AttentionHeads& attention_;
  int64_t head_;
  std::vector<int64_t> rows_;
  Tensor from_;
};

class Patches : public models::ModelTest {
 protected:
  double metric(const models::Model& model, const Batch& batch, const LogitMetric& metric,
                autograd::Observer* observer = nullptr,
                autograd::Intervention* intervention = nullptr) {
    tensor::Arena arena;
    models::Context context{
        .threads = threads_, .arena = arena, .observer = observer, .intervention = intervention};
    const Tensor logits = model.logits(context, model.forward(context, batch)).data();
    return metric_of(logits.data<float>() + metric.position * logits.size(2), metric);
  }

  // The same question with another text: the ids at `changed` are others.
  static Batch corrupted(const models::Model& model, const Batch& clean,
                         const std::vector<int64_t>& changed) {
    const bool pairs = clean.source_ids.defined();
    const Tensor& ids = pairs ? clean.source_ids : clean.ids;
    std::vector<int64_t> numbers(ids.data<int64_t>(), ids.data<int64_t>() + ids.elements());
    const int64_t words = pairs ? model.source_vocab_size() : model.vocab_size();
    for (const int64_t at : changed) {
      int64_t& id = numbers[static_cast<size_t>(at)];
      id = (id + 1) % words;
    }
    Batch corrupt = clean;
    (pairs ? corrupt.source_ids : corrupt.ids) = Tensor::of(ids.shape(), numbers);
    return corrupt;
  }

  // Every number again, one run for each.
  void expect_as_by_hand(models::Model& model, PatchDirection direction) {
    models::fill(model, 8);
    const Batch clean = random_batch(model, 5, 3);
    const Batch corrupt = corrupted(model, clean, {1, 2});
    const LogitMetric asked{.position = 3, .word = 4, .against = 9};
    const std::optional<Patching> got =
        patch_heads(threads_, model, clean, corrupt, asked, {.direction = direction});
    ASSERT_TRUE(got);
    nn::Keeper clean_run, corrupt_run;
    EXPECT_EQ(got->clean, metric(model, clean, asked, &clean_run));
    EXPECT_EQ(got->corrupt, metric(model, corrupt, asked, &corrupt_run));
    EXPECT_EQ(got->direction, direction);
    const bool restores = direction == PatchDirection::clean_into_corrupt;
    nn::Keeper& from = restores ? clean_run : corrupt_run;
    size_t place = 0;
    size_t whole = 0;
    for (const AttentionHeads& attention : attention_heads(model)) {
      const Tensor values = from.seen.at(attention.place + ".concatenated");
      for (int64_t head = 0; head < attention.heads(); ++head) {
        std::vector<int64_t> rows(static_cast<size_t>(values.size(1)));
        std::iota(rows.begin(), rows.end(), 0);
        const auto expect = [&](const PatchedHead& patched, const std::vector<int64_t>& at) {
          OnePatch patch(attention, head, at, values);
          const double expected = metric(model, restores ? corrupt : clean, asked, nullptr, &patch);
          EXPECT_EQ(patched.head, attention.head_names[static_cast<size_t>(head)]);
          EXPECT_EQ(patched.metric, expected) << patched.head << " " << at.front();
          EXPECT_DOUBLE_EQ(patched.restored,
                           (expected - got->corrupt) / (got->clean - got->corrupt));
        };
        for (const int64_t row : rows) {
          ASSERT_LT(place, got->places.size());
          EXPECT_EQ(got->places[place].position, row);
          expect(got->places[place++], {row});
        }
        ASSERT_LT(whole, got->heads.size());
        EXPECT_FALSE(got->heads[whole].position);
        expect(got->heads[whole++], rows);
      }
    }
    EXPECT_EQ(place, got->places.size());
    EXPECT_EQ(whole, got->heads.size());
  }
};

TEST_F(Patches, are_to_the_bit_what_single_runs_give) {
  models::Seq2SeqConfig post = models::small_seq2seq();
  post.normalize_before = false;
  post.final_layer_norm = false;
  for (const PatchDirection direction :
       {PatchDirection::clean_into_corrupt, PatchDirection::corrupt_into_clean}) {
    models::Gpt gpt(models::small_gpt());
    expect_as_by_hand(gpt, direction);
    models::Bert bert(models::small_bert());
    expect_as_by_hand(bert, direction);
    models::Seq2Seq pairs(post);
    expect_as_by_hand(pairs, direction);
    BlockModel parallel(parallel_model());
    expect_as_by_hand(parallel, direction);
  }
}

TEST_F(Patches, restore_everything_where_one_head_carries_everything) {
  BlockModel model(one_linear_layer(1));
  models::fill(model, 2);
  const Batch clean = random_batch(model, 6, 5);
  const Batch corrupt = corrupted(model, clean, {0, 3});  // not where the metric is
  const LogitMetric asked{.position = 5, .word = 1, .against = 2};
  const auto restored = patch_heads(threads_, model, clean, corrupt, asked);
  ASSERT_TRUE(restored);
  ASSERT_EQ(restored->places.size(), 6u);
  for (const PatchedHead& place : restored->places) {
    EXPECT_EQ(place.restored, place.position == 5 ? 1.0 : 0.0) << *place.position;
  }
  EXPECT_EQ(restored->heads[0].restored, 1.0);
  const auto broken = patch_heads(threads_, model, clean, corrupt, asked,
                                  {.direction = PatchDirection::corrupt_into_clean});
  ASSERT_TRUE(broken);
  for (const PatchedHead& place : broken->places) {
    EXPECT_EQ(place.restored, place.position == 5 ? 0.0 : 1.0) << *place.position;
  }
}

TEST_F(Patches, are_estimated_exactly_where_the_logits_are_linear_in_the_heads) {
  BlockModel model(one_linear_layer(4));
  models::fill(model, 2);
  set_zero(model, "decoder.0.down.weight");
  const Batch clean = random_batch(model, 6, 5);
  const Batch corrupt = corrupted(model, clean, {0, 3});
  for (const PatchDirection direction :
       {PatchDirection::clean_into_corrupt, PatchDirection::corrupt_into_clean}) {
    const auto patching =
        patch_heads(threads_, model, clean, corrupt, {.position = 5, .word = 1, .against = 2},
                    {.direction = direction});
    ASSERT_TRUE(patching);
    double sum = 0;
    for (const PatchedHead& place : patching->places) {
      EXPECT_NEAR(place.estimated, place.restored, 1e-5);
      if (place.position == 5) sum += place.restored;
    }
    for (const PatchedHead& head : patching->heads) {
      EXPECT_NEAR(head.estimated, head.restored, 1e-5);
    }
    const bool restores = direction == PatchDirection::clean_into_corrupt;
    EXPECT_NEAR(sum, restores ? 1 : 4 - 1, 1e-4);  // together they carry everything
    EXPECT_NEAR(patching->correlation, 1, 1e-6);
  }
}

TEST_F(Patches, are_estimated_by_the_slope_of_small_patches) {
  // The change of the metric when a hundredth of the difference is patched, a hundred times.
  models::Gpt model(models::small_gpt());
  models::fill(model, 8);
  const Batch clean = random_batch(model, 5, 3);
  const Batch corrupt = corrupted(model, clean, {1});
  const LogitMetric asked{.position = 4, .word = 4, .against = 9};
  const auto got = patch_heads(threads_, model, clean, corrupt, asked);
  ASSERT_TRUE(got);
  nn::Keeper clean_run, corrupt_run;
  metric(model, clean, asked, &clean_run);
  metric(model, corrupt, asked, &corrupt_run);
  size_t whole = 0;
  for (const AttentionHeads& attention : attention_heads(model)) {
    Tensor values = corrupt_run.seen.at(attention.place + ".concatenated");
    const Tensor other = clean_run.seen.at(attention.place + ".concatenated");
    constexpr float kShare = 0.01F;
    std::vector<float> mixed = models::floats(values);
    for (size_t i = 0; i < mixed.size(); ++i) {
      mixed[i] += kShare * (other.data<float>()[i] - mixed[i]);
    }
    for (int64_t head = 0; head < attention.heads(); ++head) {
      OnePatch patch(attention, head, {0, 1, 2, 3, 4}, Tensor::of(values.shape(), mixed));
      const double slope = (metric(model, corrupt, asked, nullptr, &patch) - got->corrupt) /
                           kShare / (got->clean - got->corrupt);
      EXPECT_NEAR(got->heads[whole++].estimated, slope, 0.02);
    }
  }
  // Pearson's, of all places.
  const auto count = static_cast<double>(got->places.size());
  double restored = 0, estimated = 0;
  for (const PatchedHead& place : got->places) {
    restored += place.restored / count;
    estimated += place.estimated / count;
  }
  double together = 0, of_restored = 0, of_estimated = 0;
  for (const PatchedHead& place : got->places) {
    together += (place.restored - restored) * (place.estimated - estimated);
    of_restored += (place.restored - restored) * (place.restored - restored);
    of_estimated += (place.estimated - estimated) * (place.estimated - estimated);
  }
  EXPECT_NEAR(got->correlation, together / std::sqrt(of_restored * of_estimated), 1e-9);
  EXPECT_GT(got->correlation, 0.5);
  EXPECT_LT(got->correlation, 1 - 1e-6);
}

TEST_F(Patches, leave_no_gradients_behind_and_have_the_same_bits_for_any_number_of_threads) {
  models::Seq2Seq model(models::small_seq2seq());
  models::fill(model, 8);
  const Batch clean = random_batch(model, 7, 3);
  const Batch corrupt = corrupted(model, clean, {4});
  const LogitMetric asked{.position = 6, .word = 4, .against = 9};
  base::ThreadPool one(1);
  base::ThreadPool five(5);
  const auto a = patch_heads(one, model, clean, corrupt, asked);
  const auto b = patch_heads(five, model, clean, corrupt, asked);
  ASSERT_TRUE(a && b);
  ASSERT_EQ(a->places.size(), b->places.size());
  for (size_t i = 0; i < a->places.size(); ++i) {
    EXPECT_EQ(a->places[i].restored, b->places[i].restored);
    EXPECT_EQ(a->places[i].estimated, b->places[i].estimated);
  }
  EXPECT_EQ(a->correlation, b->correlation);
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    EXPECT_FALSE(parameter->grad().defined()) << parameter->name();
  }
}

TEST_F(Patches, tell_how_far_they_are_and_stop_when_they_are_asked_to) {
  models::Seq2Seq model(models::small_seq2seq());
  models::fill(model, 8);
  const Batch clean = random_batch(model, 7, 3);
  const Batch corrupt = corrupted(model, clean, {4});
  const LogitMetric asked{.position = 6, .word = 4, .against = 9};
  std::vector<double> shares;
  const auto progress = [&shares](double share) { shares.push_back(share); };
  ASSERT_TRUE(
      patch_heads(threads_, model, clean, corrupt, asked, {.watch = {.progress = progress}}));
  ASSERT_GT(shares.size(), 2u);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1);
  shares.clear();
  const auto interrupted = [&shares] { return shares.size() == 2; };
  EXPECT_FALSE(patch_heads(threads_, model, clean, corrupt, asked,
                           {.watch = {.progress = progress, .interrupted = interrupted}}));
  EXPECT_EQ(shares.size(), 2u);
}

TEST_F(Patches, of_texts_of_different_lengths_or_without_a_difference_are_refused) {
  models::Gpt gpt(models::small_gpt());
  models::fill(gpt, 8);
  const Batch clean = random_batch(gpt, 5, 3);
  const LogitMetric asked{.position = 4, .word = 4, .against = 9};
  const auto refused = [&](const models::Model& model, const Batch& a, const Batch& b,
                           const LogitMetric& metric) {
    return models::error_of([&] { patch_heads(threads_, model, a, b, metric); });
  };
  models::expect_has(refused(gpt, clean, random_batch(gpt, 7, 3), asked),
                     "patch (tokens): the clean text has 5 and the corrupted one 7");
  models::expect_has(refused(gpt, clean, clean, asked),
                     "nothing is lost that a head could restore");
  models::expect_has(refused(gpt, clean, corrupted(gpt, clean, {4}), {.position = 2, .word = 4}),
                     "nothing is lost");  // the difference comes after
  models::expect_has(refused(gpt, clean, corrupted(gpt, clean, {1}), {.position = 5}),
                     "patch (position 5): there are 5 tokens, 0 to 4");
  models::Seq2Seq pairs(models::small_seq2seq());
  models::fill(pairs, 8);
  const Batch pair = random_batch(pairs, 5, 3);
  Batch longer = pair;
  longer.source_ids = models::random_ids({1, 8}, 17, 2);
  models::expect_has(refused(pairs, pair, longer, asked),
                     "patch (source tokens): the clean text has 7 and the corrupted one 8");
  models::BertConfig config = models::small_bert();
  config.masked_words = false;
  models::Bert bare(config);
  models::fill(bare, 1);
  models::expect_has(refused(bare, clean, clean, asked), "the model predicts no words");
}

TEST_F(Patches, are_written_by_head_and_position) {
  const Patching patching{
      .clean = 2,
      .corrupt = 1,
      .places = {{.head = "decoder.0.self.1", .position = 3, .restored = 0.5, .estimated = 0.25}},
      .heads = {{.head = "decoder.0.self.1", .restored = 0.75, .estimated = 0.5}},
      .correlation = NAN};
  EXPECT_EQ(io::json_text(patching_json(patching)),
            R"({"clean":2.0,"corrupt":1.0,"direction":"clean_into_corrupt","correlation":null,)"
            R"("heads":[{"head":"decoder.0.self.1","position":3,"restored":0.5,"estimated":0.25}],)"
            R"("whole_heads":[{"head":"decoder.0.self.1","restored":0.75,"estimated":0.5}]})");
}

}  // namespace
}  // namespace headlight::heads
