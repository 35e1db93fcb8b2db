// Exams, evaluations, decoding: what a trained model is worth.
#include "tests/ranks/thread_link.h"
#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

class AnEvaluation : public testing::Test {
 protected:
  TemporaryFolder folder_;
  FilesWithEmbedded files_;
  base::ThreadPool threads_{1};
};

TEST_F(AnEvaluation, of_numbers_counts_each_language) {
  const LoadedModel numbers = load_named_model(files_, "numbers");
  EXPECT_EQ(evaluation_task(numbers), "translate") << "what it is for, when nobody says";
  const auto task = data::generated_task("numbers");
  double reached = 0;
  int told = 0;
  const ExactMatch result =
      exact_match(threads_, *numbers.model, *task, {.progress = [&](double share) {
                    EXPECT_GT(share, reached);
                    EXPECT_LT(share, reached + 0.02) << "a part of the cases is told by itself";
                    reached = share;
                    ++told;
                  }});
  EXPECT_EQ(reached, 1);
  EXPECT_GT(told, 17 * 4) << "more often than for each form";
  ASSERT_EQ(result.kinds.size(), 4u);
  EXPECT_GT(result.all, 0.99);
  double sum = 0;
  for (const auto& [kind, share] : result.kinds) sum += share / 4;
  EXPECT_NEAR(result.all, sum, 2e-3);
  const io::Json::Object facts = exact_match_json(result);
  EXPECT_EQ(facts.front().first, "exact_match");
  EXPECT_EQ(facts[1].first, "exact_match_" + result.kinds.front().first);
  ASSERT_EQ(result.forms.size(), 17u);
  const io::Json::Array forms = exam_forms_json(result);
  EXPECT_EQ(*forms[0].find("language")->text(), "en");
  EXPECT_EQ(*forms[0].find("form")->text(), "hyphens");
  EXPECT_EQ(*forms[0].find("held_out")->find("cases")->integer(), 1000);
  EXPECT_TRUE(data::read_number_words(*forms[0].find("example")->text()));
  EXPECT_EQ(forms[0].find("tried"), nullptr) << "only held-out cases were asked for";
}

TEST_F(AnEvaluation, of_pairs_has_scores_of_the_translations) {
  const LoadedModel thrones = load_named_model(files_, "thrones");
  std::string text;
  for (const SentencePair& pair : default_sentences())
    text += pair.source + "\t" + pair.target + "\n";
  const std::string path = folder_.put("pairs.tsv", text);
  const Evaluation greedy = evaluate(threads_, files_, thrones, {.data = path});
  EXPECT_EQ(greedy.sentences, 3);
  EXPECT_FALSE(greedy.tokens);
  EXPECT_LT(greedy.loss, 0.1);
  EXPECT_DOUBLE_EQ(greedy.perplexity, std::exp(greedy.loss));
  EXPECT_NEAR(*greedy.bleu, 100, 1e-6);
  EXPECT_NEAR(*greedy.chrf, 100, 1e-6);
  const Evaluation searched = evaluate(threads_, files_, thrones,
                                       {.data = path, .search = infer::SearchOptions{.beams = 3}});
  EXPECT_EQ(searched.loss, greedy.loss);
  EXPECT_NEAR(*searched.bleu, 100, 1e-6);
  std::string names;
  for (const auto& [name, value] : evaluation_json(greedy)) names += name + " ";
  EXPECT_EQ(names, "sentences loss perplexity bleu chrf ");
}

TEST_F(AnEvaluation, on_ranks_is_asked_for_alike) {
  const std::string path = folder_.put("pairs.tsv", "a\tb\nwhen you play\tyou win\n");
  const auto expect = [&](ErrorKind kind, const EvaluationRequest& second, const char* text) {
    const auto evaluate_on_two = [&](ranks::Group& group) {
      FilesWithEmbedded files;
      base::ThreadPool threads(1);
      EvaluationRequest request = group.is_first() ? EvaluationRequest{.data = path} : second;
      request.group = &group;
      evaluate(threads, files, load_named_model(files, "thrones"), request);
    };
    expect_refused(
        kind, [&] { ranks::run_on_threads(2, evaluate_on_two); }, text);
  };
  expect(ErrorKind::usage, {.data = path, .search = infer::SearchOptions{.beams = 8}},
         "what is asked for is task, encoding, beam, length_penalty, data");
  expect(ErrorKind::usage, {.data = path, .encoding = "latin1"}, "encoding is \"latin1\"");
  expect(ErrorKind::usage, {.task = "copy", .data = path}, "task is \"copy\"");
  expect(ErrorKind::bad_input, {.data = folder_.put("other.tsv", "a\tb\n")},
         "the checksum of data is");
}

TEST_F(AnEvaluation, of_text_counts_its_tokens) {
  const LoadedModel stories = load_named_model(files_, "stories");
  const std::string path =
      folder_.put("text.txt", "Anna has three apples. She gives one apple to Tom.\n");
  const Evaluation evaluation = evaluate(threads_, files_, stories, {.data = path});
  EXPECT_GT(*evaluation.tokens, 5);
  EXPECT_GT(evaluation.loss, 0);
  EXPECT_FALSE(evaluation.bleu);
}

TEST_F(AnEvaluation, that_cannot_be_is_refused) {
  const LoadedModel stories = load_named_model(files_, "stories");
  const LoadedModel thrones = load_named_model(files_, "thrones");
  expect_refused(
      ErrorKind::bad_input, [&] { evaluate(threads_, files_, stories, {.task = "translate"}); },
      "task translate needs headlight-seq2seq");
  expect_refused(
      ErrorKind::bad_input, [&] { evaluate(threads_, files_, thrones, {.task = "numbers"}); },
      "tokens, the model 29");
  expect_refused(
      ErrorKind::usage, [&] { evaluate(threads_, files_, stories, {}); }, "data: is missing");
}

TEST_F(AnEvaluation, translates_many_sources_and_leaves_empty_ones_empty) {
  const LoadedModel thrones = load_named_model(files_, "thrones");
  const text::Tokenizer tokenizer = need_tokenizer(files_, thrones);
  tensor::Arena arena;
  autograd::Context context{.threads = threads_, .arena = arena};
  const auto pairs = default_sentences();
  const std::vector<std::vector<int64_t>> sources = {
      tokenizer.encode(pairs[0].source), {}, tokenizer.encode(pairs[2].source)};
  const auto greedy = translate(context, *thrones.model, tokenizer, sources);
  ASSERT_EQ(greedy.size(), 3u);
  EXPECT_EQ(greedy[0].front().text, pairs[0].target);
  EXPECT_EQ(greedy[1].front().text, "");
  EXPECT_EQ(greedy[1].front().reason, infer::StopReason::end);
  EXPECT_EQ(greedy[2].front().text, pairs[2].target);
  const auto searched = translate(context, *thrones.model, tokenizer, sources,
                                  {.search = infer::SearchOptions{.beams = 3}});
  EXPECT_EQ(searched[0].size(), 3u);
  EXPECT_GE(searched[0][0].score, searched[0][1].score);
  const auto cut = translate(context, *thrones.model, tokenizer, sources, {.max_new_tokens = 2});
  EXPECT_EQ(cut[0].front().ids.size(), 2u);
}

TEST(DecodingKeys, have_ranges_and_go_together) {
  GivenValues values;
  EXPECT_EQ(read_sampling_options(values, 3).temperature, 0);
  values.set("top-k", {"5", "top_k"});
  EXPECT_EQ(read_sampling_options(values, 3).temperature, 1) << "a choice of tokens samples";
  EXPECT_EQ(read_sampling_options(values, 3).top_k, 5);
  values.set("top-p", {"1.5", "top_p"});
  expect_refused(
      ErrorKind::usage, [&] { read_sampling_options(values, 3); },
      "top_p (\"1.5\"): must be a number from 0 to 1");
  values.set("length-penalty", {"2", "length_penalty"});
  expect_refused(
      ErrorKind::usage, [&] { read_search_options(values); }, "length_penalty: needs beam");
  values.set("beam", {"4", "beam"});
  EXPECT_EQ(read_search_options(values)->length_penalty, 2);
}

TEST(Information, on_a_model_names_its_heads_and_files) {
  FilesWithEmbedded files;
  const ModelInformation information = information_on(files, load_named_model(files, "thrones"));
  EXPECT_EQ(information.tokenizer, "tokenizer.json");
  EXPECT_EQ(information.vocab_size, 29);
  ASSERT_EQ(information.attentions.size(), 3U);
  const char* places[] = {"encoder.0.self", "decoder.0.self", "decoder.0.cross"};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(information.attentions[i].place, places[i]);
    EXPECT_EQ(information.attentions[i].original, 2);
    EXPECT_EQ(information.attentions[i].heads, (std::vector<int64_t>{0, 1}));
  }
  EXPECT_EQ(*information_json(information).find("parameters")->integer(), information.parameters);
}

}  // namespace
}  // namespace headlight::recipes
