// Pairs: lines, splits, ids and batches.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/data/support.h"
#include "tests/places.h"

namespace headlight::data {
namespace {

std::vector<std::string> shown(const std::vector<Pair>& pairs) {
  std::vector<std::string> lines;
  for (const Pair& pair : pairs) {
    lines.push_back(std::to_string(pair.line) + " " + pair.source + "|" + pair.target);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(Pairs, are_source_and_target_with_other_columns_ignored) {
  EXPECT_EQ(shown(parse_pairs("Hi.\tSelam.\nRun!\tKoş!\tCC-BY\tmore\n", "a.tsv")),
            (Lines{"1 Hi.|Selam.", "2 Run!|Koş!"}));
}

TEST(Pairs, may_end_their_lines_with_crlf_and_the_last_with_nothing) {
  EXPECT_EQ(shown(parse_pairs("a\tb\r\nc\td\r\ne\tf", "a.tsv")),
            (Lines{"1 a|b", "2 c|d", "3 e|f"}));
  EXPECT_EQ(shown(parse_pairs("a\tb\tx\r\n", "a.tsv")), (Lines{"1 a|b"}));
}

TEST(Pairs, keep_spaces_and_line_separators_within_a_side) {
  EXPECT_EQ(shown(parse_pairs(" a  b \tc\xE2\x80\xA8"
                              "d\n",
                              "a.tsv")),
            (Lines{"1  a  b |c\xE2\x80\xA8"
                   "d"}));
}

TEST(Pairs, of_a_file_with_a_byte_order_mark_start_behind_it) {
  EXPECT_EQ(shown(parse_pairs(text::to_utf8("\xEF\xBB\xBF"
                                            "a\tb\n",
                                            "a.tsv"),
                              "a.tsv")),
            (Lines{"1 a|b"}));
}

TEST(Pairs, that_are_wrong_are_named_with_their_line) {
  const auto refusal = [](std::string_view text) {
    return error_of([text] { parse_pairs(text, "a.tsv"); });
  };
  EXPECT_EQ(refusal("a\tb\nno tab\n"), "pairs (a.tsv:2): no tab; a line is source, tab, target");
  EXPECT_EQ(refusal("a\tb\n\nc\td\n"), "pairs (a.tsv:2): no tab; a line is source, tab, target");
  EXPECT_EQ(refusal("a\tb\n\tb\n"), "pairs (a.tsv:2): the source is empty");
  EXPECT_EQ(refusal("a\t\n"), "pairs (a.tsv:1): the target is empty");
  EXPECT_EQ(refusal("a\t  \tx\r\n"), "pairs (a.tsv:1): the target is empty");
  EXPECT_EQ(refusal(""), "pairs (a.tsv): holds no pairs");
  EXPECT_EQ(refusal(std::string(1000000, '\n')),
            "pairs (a.tsv:1): no tab; a line is source, tab, target");
}

TEST(AlignedPairs, are_lines_of_the_same_number) {
  EXPECT_EQ(shown(align_pairs({"a\r\nb\tB\n", "s"}, {"c\nd", "t"})), (Lines{"1 a|c", "2 b\tB|d"}));
}

TEST(AlignedPairs, that_do_not_fit_are_refused_with_both_numbers) {
  const auto refusal = [](std::string_view source, std::string_view target) {
    return error_of([=] { align_pairs({source, "x.en"}, {target, "x.tr"}); });
  };
  EXPECT_EQ(refusal("a\nb\n", "c\n"),
            "pairs (x.en, x.tr): 2 and 1 lines; each line of one belongs to a line of the other");
  EXPECT_EQ(refusal("a\n\n", "c\nd\n"), "pairs (x.en:2): the source is empty");
  EXPECT_EQ(refusal("a\nb\n", "c\n \n"), "pairs (x.tr:2): the target is empty");
  EXPECT_EQ(refusal("", ""), "pairs (x.en): holds no pairs");
}

TEST(SplitPairs, keeps_every_twentieth_for_validation) {
  std::vector<Pair> pairs;
  for (int i = 1; i <= 45; ++i) pairs.push_back({std::to_string(i), "t", i});
  const PairSplit split = split_pairs(pairs, "a.tsv");
  EXPECT_EQ(split.train.size(), 43U);
  EXPECT_EQ(shown(split.valid), (Lines{"20 20|t", "40 40|t"}));
  pairs.resize(19);
  EXPECT_EQ(error_of([&] { split_pairs(pairs, "a.tsv"); }),
            "pairs (a.tsv): has 19 pairs; to keep every 20th for validation needs 20, or give "
            "validation data");
}

TEST(EncodePairs, gives_ids_and_names_lines_without_tokens) {
  const std::string_view words = "a b c";
  const text::Tokenizer tokenizer = text::word_tokenizer({&words, 1});
  const std::vector<Pair> pairs = {{"a b", "c", 1}, {"c", "b a a", 3}};
  const PairSet set = encode_pairs(tokenizer, tokenizer, pairs, "a.tsv");
  EXPECT_EQ(set.size(), 2);
  EXPECT_EQ(set.source(0), tokenizer.encode("a b"));
  EXPECT_EQ(set.target(1), tokenizer.encode("b a a"));
  EXPECT_EQ(set.longest_source(), 2);
  EXPECT_EQ(set.longest_target(), 3);
  EXPECT_EQ(set.source_tokens(), 3);
  EXPECT_EQ(set.target_tokens(), 4);
  // White space of other scripts is text to a line and nothing to a word tokenizer.
  const std::vector<Pair> blank = {{"a", "\xE3\x80\x80", 7}};
  EXPECT_EQ(error_of([&] { encode_pairs(tokenizer, tokenizer, blank, "a.tsv"); }),
            "pairs (a.tsv:7): the target gives no tokens");
}

TEST(EncodePairs, puts_around_a_source_what_the_tokenizer_puts_around_texts) {
  const text::Tokenizer tokenizer = text::parse_tokenizer(
      R"({"model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"a":1,"b":2,"</s>":3}},
          "pre_tokenizer":{"type":"Whitespace"},
          "post_processor":{"type":"TemplateProcessing",
            "single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],
            "special_tokens":{"</s>":{"id":"</s>","ids":[3],"tokens":["</s>"]}}}})",
      "the file");
  const PairSet set =
      encode_pairs(tokenizer, tokenizer, std::vector<Pair>{{"a b", "b", 1}}, "a.tsv");
  EXPECT_EQ(set.source(0), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(set.target(0), std::vector<int64_t>{2});
  EXPECT_EQ(source_ids(tokenizer, " "), std::vector<int64_t>());
  EXPECT_EQ(error_of([&] {
              encode_pairs(tokenizer, tokenizer, std::vector<Pair>{{" ", "b", 4}}, "a.tsv");
            }),
            "pairs (a.tsv:4): the source gives no tokens");
}

// Pairs of random lengths; pair i has source[0] == i, so that rows can be told apart.
PairSet random_pairs(int64_t count) {
  const base::Random random(3);
  PairSet pairs(count, 100);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t index = static_cast<uint64_t>(i);
    pairs.append(std::vector<int64_t>(1 + random.below(2 * index, 30), i),
                 std::vector<int64_t>(1 + random.below(2 * index + 1, 20), i % 100));
  }
  return pairs;
}

constexpr SequenceIds kIds = {.pad = 90, .start = 91, .end = 92};

TEST(MakeBatch, pads_and_frames_each_row) {
  PairSet pairs(100, 100);
  pairs.append(std::vector<int64_t>{1, 2, 3}, std::vector<int64_t>{4});
  pairs.append(std::vector<int64_t>{5}, std::vector<int64_t>{6, 7});
  const PairBatch batch = make_batch(pairs, std::vector<int64_t>{1, 0}, kIds);
  EXPECT_EQ(row_of(batch.source_ids, 0), (std::vector<int64_t>{5, 90, 90}));
  EXPECT_EQ(row_of(batch.source_ids, 1), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(row_of(batch.input_ids, 0), (std::vector<int64_t>{91, 6, 7}));
  EXPECT_EQ(row_of(batch.input_ids, 1), (std::vector<int64_t>{91, 4, 90}));
  EXPECT_EQ(row_of(batch.targets, 0), (std::vector<int64_t>{6, 7, 92}));
  EXPECT_EQ(row_of(batch.targets, 1), (std::vector<int64_t>{4, 92, -1}));
  EXPECT_TRUE(same(batch.source_lens, tensor::Tensor::of({2}, std::vector<int64_t>{1, 3})));
  EXPECT_TRUE(same(batch.target_lens, tensor::Tensor::of({2}, std::vector<int64_t>{3, 2})));
  EXPECT_EQ(batch.target_count, 5);
}

int64_t tokens_of(const PairSet& pairs, const PairIndices& batch) {
  int64_t width = 0;
  for (const int64_t pair : batch) {
    width = std::max({width, pairs.source_length(pair), pairs.target_length(pair) + 1});
  }
  return width * static_cast<int64_t>(batch.size());
}

TEST(SortedBatches, hold_each_pair_once_within_the_tokens) {
  const PairSet pairs = random_pairs(500);
  std::set<int64_t> seen;
  int64_t padded = 0, real = 0;
  for (const PairIndices& batch : sorted_batches(pairs, 100)) {
    EXPECT_LE(tokens_of(pairs, batch), 100);
    padded += tokens_of(pairs, batch);
    for (const int64_t pair : batch) {
      EXPECT_TRUE(seen.insert(pair).second);
      real += std::max(pairs.source_length(pair), pairs.target_length(pair) + 1);
    }
  }
  EXPECT_EQ(seen.size(), 500U);
  EXPECT_LT(padded, real * 1.05);
}

TEST(SortedBatches, give_a_pair_that_is_too_long_a_batch_of_its_own) {
  PairSet pairs(10, 10);
  for (const size_t length : {3, 50, 3}) {
    pairs.append(std::vector<int64_t>(length, 1), std::vector<int64_t>{1});
  }
  EXPECT_EQ(sorted_batches(pairs, 10), (std::vector<PairIndices>{{0, 2}, {1}}));
}

TEST(PairBatches, hold_each_pair_once_an_epoch_in_another_order_each_time) {
  PairBatches batches(random_pairs(3000), {.batch_tokens = 200, .ids = kIds, .seed = 5}, "a.tsv");
  std::vector<std::vector<int64_t>> orders;
  int64_t step = 0;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<int64_t> order;
    int64_t padded = 0;
    for (; order.size() < 3000; ++step) {
      const PairIndices& batch = batches.indices(step);
      EXPECT_LE(tokens_of(batches.pairs(), batch), 200);
      padded += tokens_of(batches.pairs(), batch);
      order.insert(order.end(), batch.begin(), batch.end());
    }
    EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 3000U);
    EXPECT_EQ(order.size(), 3000U);
    EXPECT_LT(padded, 3000 * 20 * 1.1);  // a pair alone takes 17.4 on average
    orders.push_back(order);
  }
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);
}

TEST(PairBatches, of_real_sentences_are_nearly_without_padding) {
  const std::string path = tests::shared_folder() + "/data/corpora/eng-tur.train.tsv";
  if (!base::exists(base::real_files(), path)) GTEST_SKIP() << path << " is absent";
  const std::vector<Pair> lines = parse_pairs(text::read_text(base::real_files(), path), path);
  const std::string_view sample = "word";
  const text::Tokenizer tokenizer = text::word_tokenizer({&sample, 1});
  PairBatches batches(encode_pairs(tokenizer, tokenizer, lines, path), {.batch_tokens = 2048},
                      path);
  int64_t places = 0, sources = 0, targets = 0;
  for (int64_t step = 0; sources < static_cast<int64_t>(lines.size()); ++step) {
    const PairBatch batch = batches.batch(step);
    places += batch.source_ids.elements() + batch.input_ids.elements();
    sources += batch.source_ids.size(0);
    targets += batch.target_count;
  }
  const PairSet& pairs = batches.pairs();
  EXPECT_EQ(sources, static_cast<int64_t>(lines.size()));
  EXPECT_EQ(targets, pairs.target_tokens() + pairs.size());
  EXPECT_LT(static_cast<double>(places),
            1.25 * static_cast<double>(targets + pairs.source_tokens()));
}

TEST(PairBatches, depend_on_seed_and_step_alone) {
  const PairBatchOptions options{.batch_tokens = 200, .ids = kIds, .seed = 5};
  PairBatches forward(random_pairs(300), options, "a.tsv");
  PairBatches resumed(random_pairs(300), options, "a.tsv");
  PairBatches other(random_pairs(300), {.batch_tokens = 200, .ids = kIds, .seed = 6}, "a.tsv");
  std::vector<PairBatch> in_order;
  size_t seen = 0;
  for (int64_t step = 0; step < 150; ++step) {
    in_order.push_back(forward.batch(step));
    seen += forward.indices(step).size();
  }
  ASSERT_GE(seen, 3U * 300) << "steps of several epochs";
  for (const int64_t step : {149, 3, 77, 78, 0, 120}) {
    EXPECT_TRUE(same(resumed.batch(step), in_order[static_cast<size_t>(step)])) << step;
  }
  EXPECT_FALSE(same(other.batch(3), in_order[3]));
}

TEST(PairBatches, need_a_pair) {
  EXPECT_EQ(error_of([] { PairBatches(PairSet(1, 1), {}, "a.tsv"); }),
            "pairs (a.tsv): holds no pairs");
}

}  // namespace
}  // namespace headlight::data
