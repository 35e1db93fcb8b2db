// Next words from texts: models that continue, translate and fill masks.
#include "headlight/recipes/next_words.h"

#include "tests/recipes/models_with_files.h"

namespace headlight::recipes {
namespace {

class NextWordsTest : public ModelsWithFiles {
 protected:
  struct Said {
    NextWordsStart start;
    std::vector<NextWord> words;
    NextWordsEnd end;
  };
  Said said(const LoadedModel& loaded, const NextWordsRequest& request) {
    const auto tokenizer = find_tokenizer(files_, loaded);
    Said all;
    const NextWordsListener listener{.start = [&](const NextWordsStart& one) { all.start = one; },
                                     .word =
                                         [&](const NextWord& one) {
                                           all.words.push_back(one);
                                           return true;
                                         }};
    all.end =
        next_words(threads_, *loaded.model, tokenizer ? &*tokenizer : nullptr, request, listener);
    return all;
  }
};

// A model that fills masks, with random numbers.
class MaskedWordsTest : public NextWordsTest {
 protected:
  LoadedModel masks() {
    models::Bert model(models::small_bert());
    models::fill(model, 13);
    const std::string path = saved("masks", model);
    base::write_file(files_, path + "/vocab.txt",
                     "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nsmall\nhouse\nred\n##s\n");
    return load_named_model(files_, path);
  }
};

TEST_F(NextWordsTest, read_texts_and_ids_alike) {
  const LoadedModel model = numbers();
  const Said by_text =
      said(model, {.text = {.prompt = "", .source = "on iki"}, .max_new_tokens = 5});
  EXPECT_EQ(by_text.end.continuation.text, "12");
  const Said by_ids = said(
      model,
      {.ids = std::vector<int64_t>(), .source_ids = by_text.start.source_ids, .max_new_tokens = 5});
  EXPECT_EQ(by_ids.start.ids, by_text.start.ids);
  EXPECT_EQ(by_ids.end.continuation.ids, by_text.end.continuation.ids);
}

TEST_F(MaskedWordsTest, of_a_mask_are_what_stands_there) {
  const LoadedModel bert = masks();
  const Said found = said(bert, {.text = {.prompt = "a [MASK] house"}, .best = 3});
  ASSERT_EQ(found.words.size(), 1u);
  EXPECT_TRUE(found.end.is_mask);
  ASSERT_TRUE(found.start.masked_at);
  EXPECT_EQ(found.words[0].step.position, *found.start.masked_at);
  EXPECT_EQ(found.start.tokens[static_cast<size_t>(*found.start.masked_at)], "[MASK]");
  EXPECT_EQ(found.words[0].step.best.size(), 3u);
  // The logits of a whole run, at that place.
  tensor::Arena arena;
  autograd::Context context{.threads = threads_, .arena = arena};
  const models::Batch batch{
      .ids = tensor::Tensor::of({1, std::ssize(found.start.ids)}, found.start.ids)};
  const tensor::Tensor logits =
      bert.model->logits(context, bert.model->forward(context, batch)).data();
  const int64_t width = logits.size(-1);
  for (const infer::PredictedWord& word : found.words[0].step.best) {
    EXPECT_EQ(word.logit, logits.data<float>()[*found.start.masked_at * width + word.id]);
  }
}

TEST_F(MaskedWordsTest, of_a_mask_have_the_old_ones_beside_them_when_heads_are_off) {
  const LoadedModel bert = masks();
  const NextWordsRequest whole{.text = {.prompt = "a [MASK] house"}, .best = 2};
  NextWordsRequest request = whole;
  request.heads_off = heads::parse_head_names("encoder.0.self.0", "test");
  const Said changed = said(bert, request);
  const Said before = said(bert, whole);
  const std::vector<infer::PredictedWord>& ghosts = changed.words[0].step.unchanged;
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(ghosts[i].id, changed.words[0].step.best[i].id);
  for (const infer::PredictedWord& word : before.words[0].step.best) {
    const auto ghost = std::ranges::find(ghosts, word.id, &infer::PredictedWord::id);
    ASSERT_NE(ghost, ghosts.end());
    EXPECT_EQ(ghost->logit, word.logit);
  }
}

TEST_F(NextWordsTest, refuse_what_the_model_cannot_read_or_does_not_have) {
  const auto refused = [&](const LoadedModel& model, NextWordsRequest request,
                           const std::string& text) {
    expect_refused(
        ErrorKind::bad_input, [&] { said(model, request); }, text);
  };
  refused(numbers(), {.ids = std::vector<int64_t>{1}}, "source");
  refused(stories(), {.ids = std::vector<int64_t>{999'999}}, "999999");
  refused(
      stories(),
      {.text = {.prompt = "Tom"}, .heads_off = heads::parse_head_names("decoder.0.self.99", "x")},
      "heads_off");
  refused(
      stories(),
      {.text = {.prompt = "Tom"}, .attention = heads::parse_head_names("decoder.99.self.0", "x")},
      "attention");
}

}  // namespace
}  // namespace headlight::recipes
