// Texts as models read them.
#include "tests/explain/support.h"

namespace headlight::explain {
namespace {

using Ids = std::vector<int64_t>;

Ids ids_of(const Tensor& tensor) {
  return {tensor.data<int64_t>(), tensor.data<int64_t>() + tensor.elements()};
}

class Inputs : public ExplainTest {
 protected:
  Input input(const InputText& text) {
    return make_input(*worked_model_.model, worked_model_.tokenizer, text);
  }
  WorkedModel worked_model_ = make_worked_model(default_sentences());
};

TEST_F(Inputs, of_an_encoder_decoder_are_shifted_by_the_start) {
  const Input both = input({.text = "When you play", .target = "you win"});
  EXPECT_EQ(ids_of(both.batch.source_ids), (Ids{4, 5, 6}));
  EXPECT_EQ(ids_of(both.batch.ids), (Ids{1, 5, 11}));
  EXPECT_EQ(ids_of(both.batch.targets), (Ids{5, 11, 2}));
  EXPECT_EQ(both.tokens, (std::vector<std::string>{"<start>", "you", "win"}));
  EXPECT_EQ(both.vocabulary.size(), 29U);
  const Input alone = input({.text = "When you play"});
  EXPECT_EQ(ids_of(alone.batch.ids), (Ids{1}));
  EXPECT_FALSE(alone.batch.targets.defined());
}

TEST_F(Inputs, of_a_gpt_are_to_give_the_next_id) {
  models::Gpt gpt({.block_size = 8, .vocab_size = 29, .n_layer = 1, .n_head = 1, .n_embd = 4});
  const text::Tokenizer& words = worked_model_.tokenizer;
  const Input text = make_input(gpt, words, {.text = "When you play the"});
  EXPECT_EQ(ids_of(text.batch.targets), (Ids{5, 6, 7, -1}));
  const Input target = make_input(gpt, words, {.text = "When you", .target = "play the"});
  EXPECT_EQ(ids_of(target.batch.ids), (Ids{4, 5, 6, 7}));
  EXPECT_EQ(ids_of(target.batch.targets), (Ids{-1, 6, 7, -1}));
  expect_has(
      error_of([&] { make_input(gpt, words, {.text = "you you you you you you you you you"}); }),
      "explain (text): has 9 tokens, the model reads at most 8");
}

TEST_F(Inputs, of_a_gpt_begin_with_what_its_tokenizer_puts_before_a_text) {
  const text::Tokenizer tokenizer = text::parse_tokenizer(
      R"({"pre_tokenizer":{"type":"WhitespaceSplit"},"added_tokens":[{"id":2,"content":"<s>"},)"
      R"({"id":3,"content":"</s>"}],"post_processor":{"type":"BertProcessing","sep":["</s>",3],)"
      R"("cls":["<s>",2]},"model":{"type":"WordLevel","vocab":{"a":0,"b":1}}})",
      "the file");
  models::Gpt gpt({.block_size = 8, .vocab_size = 4, .n_layer = 1, .n_head = 1, .n_embd = 4});
  const Input text = make_input(gpt, tokenizer, {.text = "a b"});
  EXPECT_EQ(ids_of(text.batch.ids), (Ids{2, 0, 1}));
  EXPECT_EQ(ids_of(text.batch.targets), (Ids{0, 1, -1}));
  EXPECT_EQ(text.tokens, (std::vector<std::string>{"<s>", "a", "b"}));
  const Input target = make_input(gpt, tokenizer, {.text = "a", .target = "b"});
  EXPECT_EQ(ids_of(target.batch.ids), (Ids{2, 0, 1}));
  expect_has(error_of([&] { make_input(gpt, tokenizer, {.text = ""}); }), "is empty");
}

TEST_F(Inputs, of_ids_are_those_of_the_text) {
  const Input text = input({.text = "When you play", .target = "you win"});
  const Input ids =
      make_input(*worked_model_.model, nullptr, {.ids = {4, 5, 6}, .target = Ids{5, 11}});
  EXPECT_EQ(ids_of(ids.batch.ids), ids_of(text.batch.ids));
  EXPECT_EQ(ids_of(ids.batch.targets), ids_of(text.batch.targets));
  EXPECT_EQ(ids.tokens, (std::vector<std::string>{"1", "5", "11"}));
  EXPECT_TRUE(ids.vocabulary.empty());
  EXPECT_EQ(
      make_input(*worked_model_.model, &worked_model_.tokenizer, {.ids = {4, 5}}).source_tokens,
      (std::vector<std::string>{"When", "you"}));
  const auto refusal = [&](const InputIds& wrong) {
    return error_of([&] { make_input(*worked_model_.model, nullptr, wrong); });
  };
  expect_has(refusal({.ids = {4, 29}}), "explain (id 29): the model has the ids 0 to 28");
  expect_has(refusal({.ids = {-1}}), "(id -1)");
  expect_has(refusal({.ids = {}}), "(text): is empty");
}

TEST_F(Inputs, with_what_the_model_wrote_know_nothing_to_be_right_there) {
  const Input both = make_input(*worked_model_.model, nullptr,
                                {.ids = {4, 5}, .target = Ids{5, 11}, .target_is_written = true});
  EXPECT_EQ(ids_of(both.batch.ids), (Ids{1, 5, 11}));
  EXPECT_FALSE(both.batch.targets.defined());
  EXPECT_EQ(both.written, 2);
  models::Gpt gpt({.block_size = 8, .vocab_size = 29, .n_layer = 1, .n_head = 1, .n_embd = 4});
  const Input on =
      make_input(gpt, nullptr, {.ids = {4, 5, 6}, .target = Ids{7, 8}, .target_is_written = true});
  EXPECT_EQ(ids_of(on.batch.ids), (Ids{4, 5, 6, 7, 8}));
  EXPECT_EQ(ids_of(on.batch.targets), (Ids{5, 6, -1, -1, -1}));
}

TEST_F(Inputs, that_cannot_be_read_are_refused) {
  expect_has(error_of([&] { input({.text = ""}); }), "explain (text): is empty");
  expect_has(error_of([&] { input({.text = " \n "}); }), "explain (text): is empty");
  expect_has(error_of([&] { input({.text = "When", .target = ""}); }), "(target): is empty");
  expect_has(error_of([&] { input({.text = "When dragons fly dragons"}); }),
             "(text): 2 words are not in the vocabulary: \"dragons\", \"fly\"");
  expect_has(error_of([&] { input({.text = "When", .target = "a b c d e f"}); }),
             "(target): 6 words are not in the vocabulary: \"a\", \"b\", \"c\", \"d\", \"e\", ...");
  std::string many;
  for (int i = 0; i < 10000; ++i) many += "you ";
  expect_has(error_of([&] { input({.text = many}); }),
             "has 10000 tokens, the model reads at most 256");
  models::Bert bert({.vocab_size = 29,
                     .hidden_size = 4,
                     .num_hidden_layers = 1,
                     .num_attention_heads = 1,
                     .intermediate_size = 4});
  expect_has(error_of([&] {
               make_input(bert, worked_model_.tokenizer, {.text = "you", .target = "win"});
             }),
             "(target): the model has no decoder");
}

TEST_F(Inputs, name_the_words_that_are_unknown) {
  EXPECT_EQ(unknown_words(worked_model_.tokenizer, "you  fly and\nfly win"),
            (std::vector<std::string>{"fly", "and"}));
  const std::string special = "<start> you <unk> fly <end>";
  EXPECT_EQ(unknown_words(worked_model_.tokenizer, special),
            (std::vector<std::string>{"<start>", "<unk>", "fly", "<end>"}));
  EXPECT_EQ(unknown_words(worked_model_.tokenizer, special, true), std::vector<std::string>{"fly"});
  EXPECT_EQ(input({.text = "<start> you", .special = true}).source_tokens,
            (std::vector<std::string>{"<start>", "you"}));
}

}  // namespace
}  // namespace headlight::explain
