// When sequences end, what their text is and how it streams, with models that write a script.
#include "tests/infer/support.h"

namespace headlight::infer {
namespace {

text::Tokenizer letters(const std::string& alphabet, const std::vector<std::string>& special = {}) {
  const std::string_view texts[] = {alphabet};
  return text::char_tokenizer(texts, special);
}

class Generate : public ModelTest {
 protected:
  // After a prompt of one id the script is written from its beginning.
  Continuation written(const Ids& script, int64_t vocab_size, const Ending& ending,
                       const OnToken& on_token = {}) {
    const models::Gpt model = scripted_gpt(script, vocab_size);
    autograd::Context context = inference_context();
    return generate(context, model, {{.ids = {0}}}, {.ending = ending}, on_token).front();
  }

  // The script is a text; all that streams is `pieces_`.
  Continuation written(const std::string& script, const Ending& ending) {
    pieces_.clear();
    const Ids ids = ending.tokenizer->encode(script);
    const auto keep = [this](const NewToken& token) {
      EXPECT_EQ(io::valid_utf8_length(token.text), token.text.size());
      pieces_.emplace_back(token.text);
      return true;
    };
    const Continuation result = written(ids, ending.tokenizer->size(), ending, keep);
    std::string joined;
    for (const std::string& piece : pieces_) joined += piece;
    EXPECT_EQ(joined, result.text);
    return result;
  }

  std::vector<std::string> pieces_;
};

TEST_F(Generate, ends_at_the_limit) {
  const Continuation result = written({3, 1, 2, 0, 1}, 4, {.max_new_tokens = 3});
  EXPECT_EQ(result.ids, (Ids{3, 1, 2}));
  EXPECT_EQ(result.reason, StopReason::limit);
  EXPECT_EQ(result.log_probabilities.size(), 3U);
  EXPECT_EQ(result.text, "");
}

TEST_F(Generate, never_writes_what_is_banned) {
  models::Gpt model({.block_size = 32,
                     .vocab_size = 6,
                     .n_layer = 1,
                     .n_head = 1,
                     .n_embd = 8,
                     .special_ids = {.banned = {0, 2, 5}}});
  fill(model, 1);
  const auto expect_not_banned = [](const Continuation& written) {
    EXPECT_EQ(written.ids.size(), 20U);
    for (const int64_t id : written.ids) EXPECT_TRUE(id == 1 || id == 3 || id == 4) << id;
    EXPECT_GT(written.log_probability(), -1000);
  };
  autograd::Context context = inference_context();
  const std::vector<Prompt> prompts = {{.ids = {0}}, {.ids = {2, 5}}};
  const Ending ending{.max_new_tokens = 20};
  for (const bool use_cache : {true, false}) {
    for (const float temperature : {0.0F, 5.0F}) {
      const GenerateOptions options{
          .sampling = {.temperature = temperature}, .ending = ending, .use_cache = use_cache};
      for (const Continuation& one : generate(context, model, prompts, options))
        expect_not_banned(one);
    }
  }
  const BeamOptions beams{.beams = 3, .ending = ending};
  for (const auto& found : beam_search(context, model, prompts, beams)) {
    for (const Hypothesis& one : found) expect_not_banned(one);
  }
}

TEST_F(Generate, ends_where_the_next_id_could_not_be_read) {
  const Continuation result = written({3, 1, 2}, 4, {});
  EXPECT_EQ(result.ids, (Ids{3, 1, 2}));
  EXPECT_EQ(result.reason, StopReason::context);
}

TEST_F(Generate, ends_at_a_stop_id_which_is_not_among_the_ids) {
  const Continuation result = written({3, 1, 2, 0, 1}, 4, {.stop_ids = Ids{2}});
  EXPECT_EQ(result.ids, (Ids{3, 1}));
  EXPECT_EQ(result.reason, StopReason::end);
  EXPECT_EQ(result.log_probabilities.size(), 3U);
  EXPECT_LT(result.log_probability(), 0);
}

TEST_F(Generate, stops_at_the_ends_of_model_and_tokenizer) {
  const text::Tokenizer tokenizer = letters("ab", {"<end>"});
  models::Gpt model = scripted_gpt({1, 0, 2}, 3);
  autograd::Context context = inference_context();
  const Ending ending{.tokenizer = &tokenizer};
  EXPECT_EQ(generate(context, model, {{.ids = {1}}}, {.ending = ending})[0].text, "a");
  models::GptConfig config = models::small_gpt();
  config.special_ids.end = 5;
  models::Gpt other(config);
  fill(other, 3);
  const Continuation free =
      generate(context, other, {{.ids = {1}}}, {.ending = {.stop_ids = Ids{}}})[0];
  const Continuation ended = generate(context, other, {{.ids = {1}}}, {})[0];
  const auto end = std::ranges::find(free.ids, 5);
  EXPECT_EQ(ended.ids, Ids(free.ids.begin(), end));
}

TEST_F(Generate, of_no_new_tokens_is_empty) {
  const Continuation result = written({3, 1, 2}, 4, {.max_new_tokens = 0});
  EXPECT_TRUE(result.ids.empty());
  EXPECT_EQ(result.reason, StopReason::limit);
}

TEST_F(Generate, of_no_prompts_is_nothing) {
  const models::Gpt model = scripted_gpt({0, 1}, 2);
  autograd::Context context = inference_context();
  EXPECT_TRUE(generate(context, model, {}, {}).empty());
}

TEST_F(Generate, cuts_before_a_stop_text_that_lies_across_ids) {
  const text::Tokenizer tokenizer = letters("abcdefgh");
  const Continuation result = written("abcdefgh", {.stop_texts = {"cde"}, .tokenizer = &tokenizer});
  EXPECT_EQ(result.text, "ab");
  EXPECT_EQ(result.reason, StopReason::stop_text);
  EXPECT_EQ(result.ids.size(), 5U);
  EXPECT_EQ(pieces_, (std::vector<std::string>{"a", "b", "", "", ""}));
}

// Bytes that come one by one are shown when it is certain what they are together.
TEST_F(Generate, ends_at_a_stop_text_that_is_a_byte_of_its_own) {
  const text::Tokenizer tokenizer = text::parse_tokenizer(
      R"({"decoder":{"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"Fuse"}]},)"
      R"("model":{"type":"WordLevel","vocab":{"a":0,"<0x0A>":1,"<0xC3>":2,"<0xA9>":3}}})",
      "the file");
  const Ids script = {0, 2, 3, 1, 1, 1, 1, 1};
  const auto stopped_at = [&](const std::string& stop) {
    return written(script, 4, {.stop_texts = {stop}, .tokenizer = &tokenizer});
  };
  EXPECT_EQ(stopped_at("\n").ids.size(), 4U);
  EXPECT_EQ(stopped_at("\n").text, "aé");
  EXPECT_EQ(stopped_at("\n").reason, StopReason::stop_text);
  EXPECT_EQ(stopped_at("\n\n").ids.size(), 5U);
}

TEST_F(Generate, gives_what_it_held_back_when_a_stop_text_does_not_come) {
  const text::Tokenizer tokenizer = letters("abcdx");
  const Continuation result =
      written("aababxcd", {.stop_texts = {"abc", "cde"}, .tokenizer = &tokenizer});
  EXPECT_EQ(result.text, "aababxcd");
  EXPECT_EQ(result.reason, StopReason::context);
  EXPECT_EQ(pieces_, (std::vector<std::string>{"", "a", "", "ab", "", "abx", "", "cd"}));
}

TEST_F(Generate, ends_at_the_stop_text_that_comes_first) {
  const text::Tokenizer tokenizer = letters("abcd\n");
  EXPECT_EQ(written("ab\ncd", {.stop_texts = {"cd", "\n"}, .tokenizer = &tokenizer}).text, "ab");
  EXPECT_EQ(written("abcd", {.stop_texts = {"cd", "bcd"}, .tokenizer = &tokenizer}).text, "a");
  EXPECT_EQ(written("abcd", {.stop_texts = {"a"}, .tokenizer = &tokenizer}).text, "");
}

TEST_F(Generate, finds_a_stop_text_in_the_last_id) {
  const text::Tokenizer tokenizer = letters("abc");
  const Continuation result = written("abc", {.stop_texts = {"c"}, .tokenizer = &tokenizer});
  EXPECT_EQ(result.text, "ab");
  EXPECT_EQ(result.reason, StopReason::stop_text);
}

// A byte-level tokenizer without merges: each id is one byte.
TEST_F(Generate, streams_whole_code_points) {
  const std::string text = "çığ 한국 😀!";
  const std::string_view texts[] = {""};
  const text::Tokenizer bytes = text::train_bpe(texts, {.vocabulary_size = 256});
  ASSERT_EQ(bytes.encode(text).size(), text.size());
  EXPECT_EQ(written(text, {.tokenizer = &bytes}).text, text);
  EXPECT_EQ(pieces_[0], "");
  EXPECT_EQ(pieces_[1], "ç");
  EXPECT_EQ(written(text, {.stop_texts = {"국"}, .tokenizer = &bytes}).text, "çığ 한");
}

TEST_F(Generate, never_ends_with_half_a_code_point) {
  const std::string_view texts[] = {""};
  const text::Tokenizer bytes = text::train_bpe(texts, {.vocabulary_size = 256});
  const Continuation result = written("aç", {.max_new_tokens = 2, .tokenizer = &bytes});
  EXPECT_EQ(result.text, "a\uFFFD");
  EXPECT_EQ(result.ids.size(), 2U);
}

TEST_F(Generate, continues_the_text_of_the_prompt) {
  const std::string_view texts[] = {"one two three"};
  const text::Tokenizer words = text::word_tokenizer(texts);
  const Ids script = words.encode("two three");
  const models::Gpt model = scripted_gpt(script, words.size());
  autograd::Context context = inference_context();
  const auto result =
      generate(context, model, {{.ids = words.encode("one")}}, {.ending = {.tokenizer = &words}});
  EXPECT_EQ(result[0].text, " two three");
}

TEST_F(Generate, of_ids_beyond_the_tokenizer_adds_no_text) {
  const text::Tokenizer tokenizer = letters("ab");
  EXPECT_EQ(written({1, 7, 1}, 9, {.tokenizer = &tokenizer}).text, "bb");
}

TEST_F(Generate, tells_of_each_id_and_ends_when_told) {
  std::vector<int64_t> seen;
  const Continuation result = written({3, 1, 2, 0}, 4, {}, [&](const NewToken& token) {
    EXPECT_EQ(token.prompt, 0U);
    EXPECT_LE(token.log_probability, 0);
    seen.push_back(token.id);
    return seen.size() < 2;
  });
  EXPECT_EQ(seen, (Ids{3, 1}));
  EXPECT_EQ(result.ids, seen);
  EXPECT_EQ(result.reason, StopReason::caller);
}

TEST_F(Generate, of_a_batch_ends_all_when_told) {
  const models::Gpt model = scripted_gpt({3, 1, 2, 0, 1, 1}, 4);
  autograd::Context context = inference_context();
  int told = 0;
  const auto results = generate(context, model, {{.ids = {0}}, {.ids = {1}}, {.ids = {2, 2}}}, {},
                                [&](const NewToken&) { return ++told < 5; });
  EXPECT_EQ(told, 5);
  for (const Continuation& result : results) EXPECT_EQ(result.reason, StopReason::caller);
  EXPECT_EQ(results[0].ids.size() + results[1].ids.size() + results[2].ids.size(), 5U);
}

TEST_F(Generate, without_a_prompt_starts_with_the_id_that_the_model_starts_with) {
  models::GptConfig config = models::small_gpt();
  config.special_ids.begin = 6;
  models::Gpt model(config);
  fill(model, 8);
  autograd::Context context = inference_context();
  expect_same(generate(context, model, {Prompt{}}, {})[0],
              generate(context, model, {{.ids = {6}}}, {})[0]);
}

TEST_F(Generate, refuses_what_cannot_be_read) {
  models::Gpt model(models::small_gpt());  // 12 ids of 17
  fill(model, 1);
  models::Seq2Seq translator(models::small_seq2seq());
  fill(translator, 1);
  autograd::Context context = inference_context();
  const auto message = [&](const models::Model& of, const Prompt& prompt, const Ending& ending) {
    return error_of([&] { generate(context, of, {prompt}, {.ending = ending}); });
  };
  expect_has(message(model, {}, {}),
             "prompt): is empty, and the model has no id to start with; give it a first token");
  expect_has(message(model, {.ids = {1, 17}}, {}), "id 17 is not in the model's vocabulary of 17");
  expect_has(message(model, {.ids = {-1}}, {}), "id -1 is not");
  expect_has(message(model, {.ids = Ids(13, 1)}, {}),
             "(prompt): has 13 ids, the model's context is 12; leave out 1");
  expect_has(message(model, {.ids = {1}, .source = {2}}, {}), "takes none");
  expect_has(message(model, {.ids = {1}}, {.max_new_tokens = -1}), "-1 new ids");
  expect_has(message(model, {.ids = {1}}, {.stop_texts = {"a"}}), "needs a tokenizer");
  const text::Tokenizer tokenizer = letters("ab");
  expect_has(message(model, {.ids = {1}}, {.stop_texts = {""}, .tokenizer = &tokenizer}),
             "must not be empty");
  expect_has(message(model, {.ids = {1}}, {.stop_texts = {"\xff"}, .tokenizer = &tokenizer}),
             "UTF-8");
  expect_has(message(translator, {.ids = {1}}, {}), "source");
  expect_has(message(translator, {.ids = {1}, .source = Ids(17, 1)}, {}),
             "source): has 17 ids, the model's context is 16");
  EXPECT_EQ(message(model, {.ids = Ids(12, 1)}, {}), "");
}

TEST_F(Generate, says_when_the_model_s_numbers_are_not_finite) {
  models::Gpt model = scripted_gpt({0, 1}, 2);
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    if (parameter->name() != "lm_head.weight") continue;
    parameter->assign(Tensor::of({2, 2}, {NAN, NAN, NAN, NAN}));
  }
  autograd::Context context = inference_context();
  const auto expect_failed = [](const auto& run) {
    try {
      run();
      ADD_FAILURE() << "it ran";
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::failed) << error.what();
    }
  };
  expect_failed([&] { generate(context, model, {{.ids = {0}}}, {}); });
  expect_failed([&] { beam_search(context, model, {{.ids = {0}}}, {.beams = 2}); });
}

TEST(Unpadded, finds_the_ids_wherever_the_padding_stands) {
  const Tensor ids = Tensor::of({2, 4}, Ids{0, 0, 7, 8, 5, 6, 7, 0});
  Tensor keep = Tensor::zeros(DType::boolean, {2, 4});
  for (const int i : {2, 3, 4, 5, 6}) keep.mutable_data<bool>()[i] = true;
  EXPECT_EQ(unpadded(ids, keep), (std::vector<Ids>{{7, 8}, {5, 6, 7}}));
  expect_has(error_of([&] { unpadded(ids, keep.slice(1, 0, 3)); }), "[2, 3]");
  expect_has(error_of([&] { unpadded(keep, keep); }), "i64 (B, T)");
  expect_has(error_of([&] { unpadded({}, {}); }), "i64 (B, T)");
}

}  // namespace
}  // namespace headlight::infer
