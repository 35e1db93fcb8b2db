// Questions about logits in words: what is read from a text, what is answered, what is refused.
#include <cmath>

#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

class LogitQuestions : public testing::Test {
 protected:
  LogitQuestions() : stories_(load("stories")), thrones_(load("thrones")) {}

  // A model with its tokenizer.
  struct Subject {
    LoadedModel loaded;
    std::optional<text::Tokenizer> tokenizer;

    const models::Model& model() const { return *loaded.model; }
    const text::Tokenizer* words() const { return tokenizer ? &*tokenizer : nullptr; }
  };

  Subject load(const std::string& name) {
    Subject subject{load_named_model(files_, name), {}};
    subject.tokenizer = find_tokenizer(files_, subject.loaded);
    return subject;
  }

  // A model that fills masks, with random numbers.
  Subject masks() {
    models::Bert model(models::small_bert());
    models::fill(model, 13);
    models::save_model(files_, folder_.path(), model);
    base::write_file(files_, folder_ / "vocab.txt",
                     "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nsmall\nhouse\nred\n##s\n[\n]\nmask\n");
    return load(folder_.path());
  }

  AttributeAnswer ask(const Subject& subject, const AttributeRequest& request) {
    return attribute(threads_, subject.model(), subject.words(), request);
  }
  void expect_unanswered(const Subject& subject, const AttributeRequest& request,
                         const std::string& text) {
    expect_refused(
        ErrorKind::bad_input, [&] { ask(subject, request); }, text);
  }
  void expect_unpatched(const Subject& subject, const PatchRequest& request,
                        const std::string& text) {
    expect_refused(
        ErrorKind::bad_input, [&] { patch(threads_, subject.model(), subject.words(), request); },
        text);
  }

  FilesWithEmbedded files_;
  TemporaryFolder folder_;
  base::ThreadPool threads_{2};
  Subject stories_;
  Subject thrones_;
};

TEST_F(LogitQuestions, are_about_the_word_after_the_prompt_unless_another_position_is_named) {
  const AttributeRequest request{
      .text = {.prompt = "Anna has three apples."}, .word = " She", .against = " He"};
  const AttributeAnswer last = ask(stories_, request);
  const auto count = static_cast<int64_t>(last.prompt.tokens.size());
  EXPECT_EQ(last.prompt.position, count - 1);
  AttributeRequest earlier = request;
  earlier.text.at = 1;
  EXPECT_EQ(ask(stories_, earlier).prompt.position, 1);
  EXPECT_NE(ask(stories_, earlier).attribution.measured, last.attribution.measured);
  earlier.text.at = count - 1;
  EXPECT_EQ(ask(stories_, earlier).attribution.measured, last.attribution.measured);
  double largest = 0;
  for (const heads::AttributedPart& part : last.attribution.parts) {
    largest = std::max(largest, std::abs(part.value));
  }
  EXPECT_LE(std::abs(last.attribution.rounding), 1e-4 * largest);
}

TEST_F(LogitQuestions, read_a_prompt_as_it_is_continued) {
  const text::Tokenizer tokenizer = text::parse_tokenizer(
      R"({"pre_tokenizer":{"type":"WhitespaceSplit"},"added_tokens":[{"id":2,"content":"<s>"}],)"
      R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}},)"
      R"({"Sequence":{"id":"A"}}],"special_tokens":{"<s>":{"ids":[2]}}},)"
      R"("model":{"type":"WordLevel","vocab":{"a":0,"b":1}}})",
      "the file");
  models::Gpt gpt({.block_size = 8, .vocab_size = 3, .n_layer = 1, .n_head = 1, .n_embd = 4});
  models::fill(gpt, 1);
  const AttributeAnswer answer =
      attribute(threads_, gpt, &tokenizer, {.text = {.prompt = "a b"}, .word = "a"});
  EXPECT_EQ(answer.prompt.tokens, (std::vector<std::string>{"<s>", "a", "b"}));
  EXPECT_EQ(answer.prompt.position, 2);
}

TEST_F(LogitQuestions, say_when_a_word_is_several_tokens_and_mean_the_first) {
  const text::Tokenizer& tokenizer = *stories_.tokenizer;
  const std::string word = "Annabelle";
  const std::vector<int64_t> ids = tokenizer.encode(word);
  ASSERT_GT(ids.size(), 1u);
  const AttributeAnswer answer = ask(stories_, {.text = {.prompt = "Anna has"}, .word = word});
  EXPECT_EQ(answer.word.id, ids.front());
  EXPECT_EQ(answer.word.tokens, static_cast<int64_t>(ids.size()));
  EXPECT_EQ(answer.word.token, tokenizer.decode(std::vector<int64_t>{ids.front()}));
  const io::Json json = attribute_json(answer, &tokenizer);
  EXPECT_EQ(json.find("word")->find("tokens")->integer(), static_cast<int64_t>(ids.size()));
  EXPECT_TRUE(json.find("against")->is_null());
}

TEST_F(LogitQuestions, are_answered_as_the_contract_of_the_command_has_it) {
  const AttributeAnswer answer =
      ask(stories_, {.text = {.prompt = "Anna has three"}, .word = " apples", .lens = true});
  const io::Json json = attribute_json(answer, stories_.words());
  EXPECT_EQ(json.find("measured")->number(), answer.attribution.measured);
  EXPECT_EQ(json.find("sum")->number(), answer.attribution.sum);
  ASSERT_EQ(json.find("parts")->array()->size(), answer.attribution.parts.size());
  EXPECT_EQ(*json.find("parts")->array()->at(2).find("part")->text(), "decoder.0.self.0");
  EXPECT_TRUE(json.find("parts")->array()->at(2).find("value")->number());
  EXPECT_EQ(json.find("at")->integer(), answer.prompt.position);
  EXPECT_EQ(json.find("tokens")->array()->size(), answer.prompt.tokens.size());
  EXPECT_EQ(json.find("lens")->find("layers")->array()->size(), 4u);
  EXPECT_EQ(json.find("source_tokens"), nullptr);
  const heads::LensLayer& last = answer.lens->layers.back();
  EXPECT_NEAR(last.word.logit, answer.attribution.measured, 0);
  EXPECT_EQ(last.words.size(), 5u);
}

TEST_F(LogitQuestions, of_an_encoder_decoder_have_a_source_and_what_was_written_so_far) {
  const AttributeRequest request{
      .text = {.prompt = "you win or", .source = "When you play the game of thrones"},
      .word = "you",
      .against = "die",
      .lens = true};
  const AttributeAnswer answer = ask(thrones_, request);
  EXPECT_EQ(answer.prompt.tokens.size(), 4u);  // <start> before them
  EXPECT_EQ(answer.prompt.source_tokens.size(), 7u);
  EXPECT_EQ(answer.prompt.position, 3);
  EXPECT_GT(answer.attribution.measured, 0);  // it learned to say so
  EXPECT_EQ(answer.lens->layers.back().words.front().id, answer.word.id);
  const io::Json json = attribute_json(answer, thrones_.words());
  EXPECT_EQ(json.find("source_tokens")->array()->size(), 7u);
  AttributeRequest first = request;
  first.text.prompt = "";
  EXPECT_EQ(ask(thrones_, first).prompt.position, 0);
}

TEST_F(LogitQuestions, of_a_model_that_fills_masks_are_about_the_masked_word) {
  const Subject bert = masks();
  const AttributeAnswer answer =
      ask(bert, {.text = {.prompt = "a [MASK] house"}, .word = "small", .against = "red"});
  const std::vector<std::string> tokens = {"[CLS]", "a", "[MASK]", "house", "[SEP]"};
  EXPECT_EQ(answer.prompt.tokens, tokens);
  EXPECT_EQ(answer.prompt.position, 2);
  ASSERT_EQ(answer.attribution.gains.size(), 1u);
  EXPECT_EQ(
      ask(bert, {.text = {.prompt = "a small house", .at = 2}, .word = "red"}).prompt.position, 2);
  expect_unanswered(bert, {.text = {.prompt = "a small house"}, .word = "red"},
                    "attribute (prompt): has 0 times [MASK], and the model fills masks: hide one "
                    "word, or give the position with --at");
  expect_unanswered(bert, {.text = {.prompt = "a [MASK] [MASK]"}, .word = "red"},
                    "has 2 times [MASK]");
  // Other texts of special tokens stay text, unless they are to be special.
  expect_unanswered(bert, {.text = {.prompt = "a [SEP] [MASK]"}, .word = "red"},
                    "not in the vocabulary");
  EXPECT_EQ(ask(bert, {.text = {.prompt = "a [SEP] [MASK]"}, .word = "red", .special = true})
                .prompt.tokens.size(),
            5u);
}

TEST_F(LogitQuestions, of_a_model_without_a_tokenizer_are_in_ids) {
  models::Gpt model(models::small_gpt());
  models::fill(model, 4);
  const AttributeAnswer answer = attribute(
      threads_, model, nullptr, {.text = {.prompt = "3,1,2"}, .word = "5", .against = "6"});
  EXPECT_EQ(answer.prompt.tokens, (std::vector<std::string>{"3", "1", "2"}));
  EXPECT_EQ(answer.word.id, 5);
  const auto refused = [&](const std::string& prompt, const std::string& word) {
    return refusal_of([&] {
             attribute(threads_, model, nullptr, {.text = {.prompt = prompt}, .word = word});
           })
        .text;
  };
  expect_has(refused("3,x", "5"), "\"x\" is no id: the model has no tokenizer and takes ids");
  expect_has(refused("3,17", "5"), "attribute (prompt): id 17 is none of the model's");
  expect_has(refused("3", "17"), "has the id 17, the model predicts 0 to 16");
}

TEST_F(LogitQuestions, that_cannot_be_meant_are_refused) {
  const PromptText text{.prompt = "Anna has"};
  expect_unanswered(stories_, {.text = {.prompt = ""}, .word = "a"},
                    "attribute (prompt): is empty");
  expect_unanswered(stories_, {.text = text, .word = ""}, "attribute (word): is empty");
  expect_unanswered(stories_, {.text = text, .word = " a", .against = " a"}, "are the same token");
  expect_unanswered(stories_, {.text = {.prompt = "Anna has", .at = 99}, .word = "a"},
                    "attribute (position 99): there are ");
  expect_unanswered(stories_, {.text = {.prompt = "Anna has", .at = -1}, .word = "a"},
                    "attribute (position -1)");
  expect_unanswered(stories_, {.text = {.prompt = "a", .source = "b"}, .word = "a"},
                    "attribute (source): the model has no encoder");
  expect_unanswered(thrones_, {.text = {.prompt = "you"}, .word = "win"},
                    "attribute (source): is missing");
  expect_unanswered(thrones_, {.text = {.prompt = "you", .source = "When it"}, .word = "win"},
                    "attribute (source): 1 word is not in the vocabulary: \"it\"");
  expect_unanswered(thrones_, {.text = {.prompt = "you", .source = "When you"}, .word = "cat"},
                    "attribute (word): 1 word is not in the vocabulary");
  std::string longer;
  for (int i = 0; i < 200; ++i) longer += "Anna has ";
  expect_unanswered(stories_, {.text = {.prompt = longer}, .word = "a"},
                    "tokens, the model reads at most 96");
}

TEST_F(LogitQuestions, about_two_texts_are_answered_by_head_and_position) {
  const PatchRequest request{.clean = "Anna has three apples.",
                             .corrupt = "Anna has two apples.",
                             .word = " three",
                             .against = " two"};
  const auto answer = patch(threads_, stories_.model(), stories_.words(), request);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->clean.tokens.size(), answer->corrupt.tokens.size());
  const size_t heads = 3 * 4;
  EXPECT_EQ(answer->patching.heads.size(), heads);
  EXPECT_EQ(answer->patching.places.size(), heads * answer->clean.tokens.size());
  const io::Json json = patch_json(*answer);
  EXPECT_EQ(json.find("clean")->number(), answer->patching.clean);
  EXPECT_EQ(json.find("corrupt")->number(), answer->patching.corrupt);
  EXPECT_EQ(*json.find("direction")->text(), "clean_into_corrupt");
  EXPECT_TRUE(json.find("correlation")->number());
  const io::Json& first = json.find("heads")->array()->front();
  EXPECT_EQ(*first.find("head")->text(), "decoder.0.self.0");
  EXPECT_EQ(first.find("position")->integer(), 0);
  EXPECT_TRUE(first.find("restored")->number());
  EXPECT_TRUE(first.find("estimated")->number());
  EXPECT_EQ(json.find("clean_tokens")->array()->size(), answer->clean.tokens.size());
}

TEST_F(LogitQuestions, about_two_sources_patch_the_heads_of_both_stacks) {
  const PatchRequest request{.clean = "When you play the game of thrones",
                             .corrupt = "When the sun rises over the sea",
                             .prompt = "",
                             .word = "you",
                             .against = "the"};
  const auto answer = patch(threads_, thrones_.model(), thrones_.words(), request);
  ASSERT_TRUE(answer);
  EXPECT_GT(answer->patching.clean, answer->patching.corrupt);
  // Two heads each: the encoder's at seven words of the source, the decoder's two attentions at
  // one.
  EXPECT_EQ(answer->patching.places.size(), 2u * 7 + 2 * 2 * 1);
  EXPECT_EQ(patch_json(*answer).back().first, "corrupt_source_tokens");
}

TEST_F(LogitQuestions, about_two_texts_that_do_not_fit_together_are_refused) {
  expect_unpatched(stories_,
                   {.clean = "Anna has three apples.",
                    .corrupt = "Anna has three apples. She gives",
                    .word = " a",
                    .against = " b"},
                   "patch (tokens): the clean text has ");
  expect_unpatched(thrones_, {.clean = "When you play", .corrupt = "When you", .word = "you"},
                   "patch (tokens): the clean text has 3 and the corrupted one 2; the same number "
                   "is needed");
  expect_unpatched(stories_,
                   {.clean = "Anna has", .corrupt = "Anna has", .word = " a", .against = " b"},
                   "nothing is lost that a head could restore");
  expect_unpatched(
      stories_,
      {.clean = "Anna has", .corrupt = "Anna has", .prompt = "x", .word = " a", .against = " b"},
      "patch (prompt): ");
  const Subject bert = masks();
  expect_unpatched(bert, {.clean = "a [MASK] house", .corrupt = "a house [MASK]", .word = "red"},
                   "patch (mask): stands at position 2 of the clean and at 3 of the corrupted");
  EXPECT_TRUE(patch(threads_, bert.model(), bert.words(),
                    {.clean = "a [MASK] house", .corrupt = "red [MASK] house", .word = "small"}));
}

TEST_F(LogitQuestions, of_a_model_that_predicts_nothing_are_refused) {
  models::BertConfig config = models::small_bert();
  config.masked_words = false;
  models::Bert bare(config);
  models::fill(bare, 1);
  expect_refused(
      ErrorKind::bad_input,
      [&] { attribute(threads_, bare, nullptr, {.text = {.prompt = "1,2"}, .word = "3"}); },
      "attribute (bert): the model predicts no words");
}

}  // namespace
}  // namespace headlight::recipes
