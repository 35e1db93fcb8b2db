// From a request to examples, relations and results of experiments on heads.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tests/recipes/models_with_files.h"

namespace headlight::recipes {
namespace {

using HeadExperiments = ModelsWithFiles;

std::vector<models::Batch> singles(const heads::Examples& examples) {
  std::vector<models::Batch> rows;
  for (const models::Batch& batch : examples) {
    for (int64_t b = 0; b < batch.ids.size(0); ++b) rows.push_back(heads::example_at(batch, b));
  }
  return rows;
}

std::vector<int64_t> ids_of(const tensor::Tensor& ids) {
  return {ids.data<int64_t>(), ids.data<int64_t>() + ids.elements()};
}

TEST_F(HeadExperiments, run_on_the_task_of_the_model_when_nobody_says_what_on) {
  const LoadedModel loaded = numbers();
  const HeadExamples made = make_head_examples(files_, loaded, {.examples = 40, .seed = 1});
  EXPECT_EQ(made.task, "numbers");
  EXPECT_EQ(heads::example_count(made.batches), 40);
  ASSERT_TRUE(made.metric);
  EXPECT_EQ(made.metric->name, "exact_match");
  const auto task = data::generated_task("numbers");
  for (const models::Batch& row : singles(made.batches)) {
    const std::string words = task->tokenizer().decode(ids_of(row.source_ids));
    const auto number = data::read_number_words(words);
    ASSERT_TRUE(number) << words;
    std::vector<int64_t> digits = ids_of(row.targets);
    EXPECT_EQ(digits.back(), task->ids().end);
    digits.pop_back();
    EXPECT_EQ(task->tokenizer().decode(digits), std::to_string(*number));
    EXPECT_EQ(*number % 97, 13) << "held out";
    EXPECT_EQ(row.ids.data<int64_t>()[0], task->ids().start);
  }
  const HeadExamples other = make_head_examples(files_, loaded, {.examples = 40, .seed = 2});
  EXPECT_FALSE(same_bits(made.batches[0].source_ids, other.batches[0].source_ids));
  EXPECT_TRUE(same_bits(
      make_head_examples(files_, loaded, {.examples = 40, .seed = 1}).batches[0].source_ids,
      made.batches[0].source_ids));
  EXPECT_EQ(std::ranges::count(made.made.avoid, task->ids().start), 1);
}

TEST_F(HeadExperiments, say_what_is_missing_or_cannot_be) {
  const auto refused = [&](ErrorKind kind, const LoadedModel& loaded,
                           const ExamplesRequest& request, const std::string& text) {
    expect_refused(
        kind, [&] { make_head_examples(files_, loaded, request); }, text);
  };
  const LoadedModel gpt = stories();
  refused(ErrorKind::usage, gpt, {}, "data");
  refused(ErrorKind::usage, gpt, {.task = "lm"}, "data");
  refused(ErrorKind::usage, gpt, {.task = "numbres"}, "nearest is numbers");
  refused(ErrorKind::bad_input, gpt, {.task = "numbers"}, "which task numbers is not for");
  refused(ErrorKind::bad_input, numbers(), {.task = "reverse"}, "tokens, the model");
  refused(ErrorKind::bad_input, gpt, {.data = folder_ / "absent.txt"}, "absent.txt");
  const std::string empty = folder_.put("empty.txt", "");
  refused(ErrorKind::bad_input, gpt, {.data = empty}, "empty.txt");
  const std::string words = folder_.put("words.txt", "the cat sat\n");
  const LoadedModel bert = words_bert("the cat sat");
  models::BertConfig config = models::small_bert();
  config.masked_words = false;
  models::Bert silent(config);
  models::fill(silent, 1);
  refused(ErrorKind::bad_input, load_named_model(files_, saved("silent", silent)), {.data = words},
          "predicts no words");
}

TEST_F(HeadExperiments, of_a_text_run_on_windows_side_by_side) {
  const LoadedModel loaded = stories();
  std::string text;
  for (int i = 0; i < 400; ++i) text += "Once upon a time there was a little girl. ";
  const std::string path = folder_.put("text.txt", text);
  const HeadExamples made = make_head_examples(files_, loaded, {.data = path, .examples = 5});
  EXPECT_EQ(made.task, "lm");
  EXPECT_EQ(heads::example_count(made.batches), 5);
  EXPECT_FALSE(made.metric);
  for (const models::Batch& row : singles(made.batches)) {
    EXPECT_LE(row.ids.size(1), 256);
    const std::vector<int64_t> ids = ids_of(row.ids);
    const std::vector<int64_t> targets = ids_of(row.targets);
    EXPECT_TRUE(std::equal(ids.begin() + 1, ids.end(), targets.begin()));
  }
  const std::string little = folder_.put("little.txt", "Once upon a time");
  EXPECT_EQ(heads::example_count(make_head_examples(files_, loaded, {.data = little}).batches), 1);
}

TEST_F(HeadExperiments, of_a_bert_hide_words_as_it_was_trained) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "the cat sat on the mat\n";
  const LoadedModel loaded = words_bert(text);
  const text::Tokenizer tokenizer = need_tokenizer(files_, loaded);
  const std::string path = folder_.put("text.txt", text);
  const HeadExamples made = make_head_examples(files_, loaded, {.data = path, .examples = 300});
  EXPECT_EQ(made.task, "mlm");
  const std::vector<int64_t> plain = framed_ids(tokenizer, "the cat sat on the mat", 100);
  const int64_t mask = *tokenizer.find("[MASK]");
  int64_t targets = 0, masked = 0, same = 0, words = 0;
  for (const models::Batch& row : singles(made.batches)) {
    const std::vector<int64_t> ids = ids_of(row.ids);
    ASSERT_EQ(ids.size(), plain.size());
    int64_t here = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      const int64_t target = row.targets.data<int64_t>()[i];
      EXPECT_TRUE(target == -1 ? ids[i] == plain[i] : target == plain[i]);
      here += target != -1;
      masked += ids[i] == mask;
      same += target != -1 && ids[i] == plain[i];
      words += !tokenizer.is_special(plain[i]);
    }
    EXPECT_GE(here, 1) << "every example has a target";
    targets += here;
  }
  EXPECT_NEAR(static_cast<double>(targets) / static_cast<double>(words), 0.15 + 0.85 / 6 * 0.44,
              0.04);
  EXPECT_NEAR(static_cast<double>(masked) / static_cast<double>(targets), 0.8, 0.08);
  EXPECT_GT(same, 0);
  const heads::HeadScores scores =
      score_model_heads(threads_, files_, loaded, {.data = path, .examples = 20});
  EXPECT_EQ(scores.heads.size(), 8u);
  EXPECT_TRUE(scores.heads[0].behaviour.previous);
  EXPECT_FALSE(scores.heads[0].behaviour.induction);
}

TEST_F(HeadExperiments, of_pairs_name_the_line_that_is_too_long) {
  const LoadedModel loaded = thrones();
  const SentencePair pair = default_sentences().front();
  std::string longer;
  for (int i = 0; i < 100; ++i) longer += pair.source + " ";
  const std::string path = folder_.put(
      "pairs.tsv", pair.source + "\t" + pair.target + "\n" + longer + "\t" + pair.target + "\n");
  expect_refused(
      ErrorKind::bad_input, [&] { make_head_examples(files_, loaded, {.data = path}); },
      "pairs.tsv:2");
}

// Given the targets before it, each target is the likeliest: just then greedy decoding writes them.
TEST_F(HeadExperiments, exact_match_of_examples_is_that_of_greedy_outputs) {
  const LoadedModel loaded = numbers();
  const auto task = data::generated_task("numbers");
  const HeadExamples made = make_head_examples(files_, loaded, {.examples = 60});
  for (const std::string off : {"", "decoder.0.cross.0,decoder.0.cross.1,encoder.1.self.0"}) {
    heads::HeadsOff heads_off(
        off.empty() ? std::vector<heads::HeadName>() : heads::parse_head_names(off, "test"),
        *loaded.model);
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena, .intervention = &heads_off};
    int64_t right = 0;
    double measured = 0;
    for (const models::Batch& batch : made.batches) {
      const autograd::Value output = loaded.model->forward(context, batch);
      for (const heads::Measured& one : made.metric->measure(context, *loaded.model, batch, output))
        measured += one.value;
    }
    std::vector<std::vector<int64_t>> sources;
    for (const models::Batch& row : singles(made.batches))
      sources.push_back(ids_of(row.source_ids));
    const auto outputs = infer::greedy_outputs(context, *loaded.model, sources);
    size_t i = 0;
    for (const models::Batch& row : singles(made.batches)) {
      std::vector<int64_t> expected = ids_of(row.targets);
      expected.pop_back();
      right += outputs[i++].ids == expected;
    }
    EXPECT_EQ(measured, static_cast<double>(right)) << off;
    EXPECT_GT(right, 0);
    EXPECT_EQ(right < 60 && !off.empty(), !off.empty()) << right;
  }
}

TEST_F(HeadExperiments, ablate_heads_and_tell_the_exact_match) {
  const LoadedModel loaded = numbers();
  heads::AblationOptions options;
  int64_t asked = 0;
  options.watch.interrupted = [&] { return ++asked > 6; };
  const heads::AblationResult result =
      ablate_model_heads(threads_, files_, loaded, {.examples = 20}, options);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.metric, "exact_match");
  EXPECT_GE(*result.baseline.metric, 0.9);
  EXPECT_FALSE(result.heads.empty());
}

text::Tokenizer gpt2_like(const std::string& text) {
  const std::string_view view = text;
  return text::train_bpe({&view, 1}, {.vocabulary_size = 280});
}

std::vector<int64_t> tokens_of(const std::vector<WordPlace>& places) {
  std::vector<int64_t> tokens;
  for (const WordPlace& place : places) tokens.push_back(place.token);
  return tokens;
}

TEST_F(HeadExperiments, find_whole_words_among_tokens_of_every_kind) {
  const std::string text = "Bakı gözəl şəhərdir. Gözəl Bakı, gözəllik!";
  const std::string_view view = text;
  const text::Tokenizer letters = text::char_tokenizer({&view, 1}, {});
  EXPECT_EQ(tokens_of(word_places(letters, letters.encode(text), "gözəl")),
            std::vector<int64_t>{5});
  EXPECT_EQ(tokens_of(word_places(letters, letters.encode(text), "Bakı")),
            (std::vector<int64_t>{0, 27}));
  EXPECT_FALSE(word_places(letters, letters.encode(text), "Bakı")[0].is_whole_word);
  const text::Tokenizer pieces = gpt2_like(text);
  const std::vector<int64_t> ids = pieces.encode(text);
  for (const WordPlace& place : word_places(pieces, ids, "Bakı")) {
    const auto at = static_cast<size_t>(place.token);
    const std::string rest =
        pieces.decode(std::span<const int64_t>(ids).subspan(at, ids.size() - at));
    EXPECT_TRUE(rest.starts_with("Bakı") || rest.starts_with(" Bakı")) << rest;
  }
  EXPECT_EQ(word_places(pieces, ids, "Bakı").size(), 2u);
  EXPECT_EQ(word_places(pieces, ids, "gözəl").size(), 1u) << "not in gözəllik";
  const text::Tokenizer words = text::word_tokenizer({&view, 1}, {"<start>"});
  const std::vector<int64_t> word_ids = words.encode("Bakı gözəl Bakı");
  EXPECT_EQ(tokens_of(word_places(words, word_ids, "Bakı")), (std::vector<int64_t>{0, 2}));
  EXPECT_TRUE(word_places(words, word_ids, "Bakı")[0].is_whole_word);
  EXPECT_TRUE(word_places(words, word_ids, "start").empty());
}

TEST_F(HeadExperiments, make_relations_of_words_in_sentences) {
  const LoadedModel bert = words_bert("the cat sat on the mat\na dog sat here");
  const std::string path =
      folder_.put("text.txt", "the cat sat on the mat\n\na dog sat here\nthe cat sat on the mat\n");
  const RelationExamples made =
      make_relation(threads_, files_, bert, {.from = "the", .to = "sat", .data = {.data = path}});
  EXPECT_EQ(heads::example_count(made.examples), 2);
  EXPECT_EQ(heads::example_count(made.measured_on), 2);
  ASSERT_EQ(made.relation.encoder.size(), 4u) << "each the with its sat";
  const text::Tokenizer tokenizer = need_tokenizer(files_, bert);
  const std::vector<int64_t> ids = ids_of(heads::example_at(made.examples[0], 0).ids);
  for (const heads::PositionPair& pair : made.relation.encoder) {
    EXPECT_EQ(tokenizer.token(ids[static_cast<size_t>(pair.query)]), "the");
    EXPECT_EQ(tokenizer.token(ids[static_cast<size_t>(pair.key)]), "sat");
  }
  const FoundRelation found = find_model_heads(
      threads_, files_, bert, {.from = "the", .to = "sat", .data = {.data = path}});
  EXPECT_EQ(found.found.pairs, 4);
  EXPECT_TRUE(found.found.heads[0].ablated_change);
  EXPECT_EQ(found_relation_json(found).back().first, "first_tokens");
  const auto refused = [&](ErrorKind kind, const RelationRequest& request, const char* text) {
    expect_refused(
        kind, [&] { make_relation(threads_, files_, bert, request); }, text);
  };
  refused(ErrorKind::bad_input, {.from = "dog", .to = "mat", .data = {.data = path}},
          "no sentence has both \"dog\" and \"mat\" as whole words; of 3, 1 have the first and 2 "
          "the second, as they are written here");
  refused(ErrorKind::bad_input, {.from = "zebra", .to = "mat", .data = {.data = path}}, "zebra");
  refused(ErrorKind::usage, {.from = "dog", .data = {.data = path}}, "two words");
  refused(ErrorKind::usage, {.from = "dog", .to = "mat"}, "data");
  refused(ErrorKind::usage, {.data = {.data = path}}, "are missing");
}

TEST_F(HeadExperiments, read_a_file_of_annotated_pairs) {
  const LoadedModel loaded = stories();
  const std::string path = folder_.put(
      "pairs.tsv",
      "The little girl was happy.\tgirl\tlittle\nThe little dog was sad.\tlittle\tdog\n");
  const RelationExamples made = make_relation(threads_, files_, loaded, {.pairs = path});
  EXPECT_EQ(made.relation.decoder.size(), 2u);
  const FoundRelation found = find_model_heads(threads_, files_, loaded, {.pairs = path});
  EXPECT_EQ(found.found.turned, 1) << "dog comes after little";
  const std::string wrong = folder_.put("wrong.tsv", "The girl was happy.\tgirl\tboy\n");
  expect_refused(
      ErrorKind::bad_input, [&] { make_relation(threads_, files_, loaded, {.pairs = wrong}); },
      "wrong.tsv:1");
  const std::string blank = folder_.put("blank.tsv", " \tgirl\thappy\n");
  expect_refused(
      ErrorKind::bad_input, [&] { make_relation(threads_, files_, thrones(), {.pairs = blank}); },
      "blank.tsv:1");
  const std::string two = folder_.put("two.tsv", "\nThe girl was happy.\tgirl\n");
  expect_refused(
      ErrorKind::bad_input, [&] { make_relation(threads_, files_, loaded, {.pairs = two}); },
      "two.tsv:2");
}

TEST_F(HeadExperiments, make_relations_between_what_is_read_and_what_is_written) {
  const LoadedModel loaded = thrones();
  const SentencePair pair = default_sentences().front();
  const auto words_of = [](const std::string& text) { return text::words(text); };
  const std::string source(words_of(pair.source).front());
  const std::string target(words_of(pair.target).back());
  const std::string path = folder_.put("pairs.tsv", pair.source + "\t" + pair.target + "\n");
  const RelationExamples made = make_relation(
      threads_, files_, loaded, {.from = target, .to = source, .data = {.data = path}});
  ASSERT_EQ(made.relation.cross.size(), 1u);
  const models::Batch row = heads::example_at(made.examples[0], 0);
  const text::Tokenizer tokenizer = need_tokenizer(files_, loaded);
  const heads::PositionPair& cross = made.relation.cross[0];
  EXPECT_EQ(tokenizer.token(row.targets.data<int64_t>()[cross.query]), target)
      << "the row that writes it";
  EXPECT_EQ(tokenizer.token(row.source_ids.data<int64_t>()[cross.key]), source);
  // Between two words that are written, at the rows that read them; between two that are read.
  const std::string first(words_of(pair.target).front());
  const RelationExamples written = make_relation(
      threads_, files_, loaded, {.from = target, .to = first, .data = {.data = path}});
  ASSERT_FALSE(written.relation.decoder.empty());
  for (const heads::PositionPair& one : written.relation.decoder) {
    EXPECT_EQ(tokenizer.token(row.ids.data<int64_t>()[one.query]), target);
    EXPECT_EQ(tokenizer.token(row.ids.data<int64_t>()[one.key]), first);
  }
  const std::string last(words_of(pair.source).back());
  const RelationExamples read =
      make_relation(threads_, files_, loaded, {.from = last, .to = source, .data = {.data = path}});
  ASSERT_FALSE(read.relation.encoder.empty());
  for (const heads::PositionPair& one : read.relation.encoder) {
    EXPECT_EQ(tokenizer.token(row.source_ids.data<int64_t>()[one.query]), last);
    EXPECT_EQ(tokenizer.token(row.source_ids.data<int64_t>()[one.key]), source);
  }
}

TEST_F(HeadExperiments, know_the_relation_that_a_task_is_made_of) {
  models::Seq2SeqConfig config = models::small_seq2seq();
  config.vocab_size = data::generated_task("reverse")->tokenizer().size();
  config.max_position_embeddings = 32;
  models::Seq2Seq model(config);
  models::fill(model, 3);
  const LoadedModel loaded = load_named_model(files_, saved("random", model));
  const RelationExamples made =
      make_relation(threads_, files_, loaded, {.data = {.task = "reverse", .examples = 10}});
  const std::vector<models::Batch> rows = singles(made.examples);
  ASSERT_EQ(rows.size(), 10u);
  size_t pairs = 0;
  for (const heads::PositionPair& pair : made.relation.cross) {
    const models::Batch& row = rows[static_cast<size_t>(pair.example)];
    EXPECT_EQ(row.targets.data<int64_t>()[pair.query], row.source_ids.data<int64_t>()[pair.key]);
    EXPECT_EQ(pair.query + pair.key, row.source_ids.size(1) - 1);
  }
  for (const models::Batch& row : rows) pairs += static_cast<size_t>(row.source_ids.size(1));
  EXPECT_EQ(made.relation.cross.size(), pairs);
  expect_refused(
      ErrorKind::usage,
      [&] { make_relation(threads_, files_, numbers(), {.data = {.task = "numbers"}}); },
      "reverse and copy");
}

struct LearntAtLeast {
  double exact_match;
  double weight;
};

void expect_carried(const FoundRelation& relation, const LearntAtLeast& least) {
  const heads::FoundHeads& found = relation.found;
  EXPECT_GT(*found.baseline.metric, least.exact_match) << "it has learnt the task";
  ASSERT_FALSE(found.together.empty());
  for (const std::string& head : found.together)
    EXPECT_NE(head.find(".cross."), std::string::npos) << head;
  EXPECT_GT(*found.heads[0].weight, least.weight);
  EXPECT_LT(found.heads[0].high, 0.5 * *found.heads[0].weight);
  EXPECT_LT(*found.together_measured.metric, 0.1 * *found.baseline.metric)
      << "without them the task is broken";
  EXPECT_GT(found.together_measured.loss, found.baseline.loss + 1);
}

// What a model with a layer on each side has learnt of it in some seconds.
TEST_F(HeadExperiments, find_the_heads_that_reverse) {
  train_model(threads_, files_,
              {.folder = folder_ / "reverse",
               .values = train_values({{"task", "reverse"},
                                       {"n_layer", "1"},
                                       {"n_head", "2"},
                                       {"n_embd", "64"},
                                       {"d_ff", "64"},
                                       {"dropout", "0"},
                                       {"batch_size", "32"},
                                       {"max_iters", "1200"},
                                       {"eval_interval", "600"},
                                       {"learning_rate", "6e-3"},
                                       {"warmup_iters", "50"}})});
  const LoadedModel loaded = load_named_model(files_, folder_ / "reverse");
  const RelationRequest request{.data = {.task = "reverse", .examples = 64}};
  const FoundRelation found = find_model_heads(threads_, files_, loaded, request);
  expect_carried(found, {.exact_match = 0.3, .weight = 0.25});
  for (size_t i = 1; i < found.found.heads.size(); ++i)
    EXPECT_GE(found.found.heads[i - 1].weight, found.found.heads[i].weight) << "the best first";
  // Its gate closed, which is another way to take the best away.
  const HeadExamples examples = make_head_examples(files_, loaded, request.data);
  const heads::FoundHead& best = found.found.heads[0];
  const auto without = heads::measure_model(
      threads_, *loaded.model, examples.batches,
      {.metric = examples.metric, .without = heads::parse_head_names(best.head, "found")});
  EXPECT_NEAR(best.ablated->loss, without->loss, 1e-5);
  EXPECT_EQ(best.ablated->metric, without->metric);
  // The other way round, from the first to the first, is nobody's.
  RelationExamples copied = make_relation(threads_, files_, loaded, request);
  for (heads::PositionPair& pair : copied.relation.cross) pair.key = pair.query;
  const heads::FoundHeads other =
      heads::find_heads(threads_, *loaded.model, copied.examples, copied.relation);
  EXPECT_LT(*other.heads[0].weight, 0.5 * *found.found.heads[0].weight);
}

using LongHeadExperiments = HeadExperiments;

TEST_F(LongHeadExperiments, find_the_heads_that_reverse) {
  train_model(threads_, files_,
              {.folder = folder_ / "reverse",
               .values = train_values({{"task", "reverse"},
                                       {"n_layer", "2"},
                                       {"n_head", "4"},
                                       {"n_embd", "64"},
                                       {"batch_size", "64"},
                                       {"max_iters", "3000"},
                                       {"eval_interval", "1000"},
                                       {"learning_rate", "2e-3"}})});
  const LoadedModel loaded = load_named_model(files_, folder_ / "reverse");
  expect_carried(find_model_heads(threads_, files_, loaded, {.data = {.examples = 64}}),
                 {.exact_match = 0.9, .weight = 0.5});
}

}  // namespace
}  // namespace headlight::recipes
