// Many requests at once: who begins when, what is told, what fails, what is given back.
#include <malloc.h>

#include "headlight/heads/heads.h"
#include "tests/infer/random_cases.h"
#include "tests/infer/served.h"

namespace headlight::infer {
namespace {

TEST_F(Requests, tell_the_text_of_generate_as_it_is_certain) {
  const std::string alphabet = "abcdefgh";
  const std::string_view texts[] = {alphabet};
  const text::Tokenizer tokenizer = text::char_tokenizer(texts, {});
  const models::Gpt model = scripted_gpt(tokenizer.encode("abcdefgh"), tokenizer.size());
  autograd::Context context = inference_context();
  Served served(model);
  for (const std::vector<std::string>& stops :
       {std::vector<std::string>{}, {"cde"}, {"zz", "gh"}, {"ba", "fa"}}) {
    served.add({.prompt = {.ids = {0}},
                .ending = {.stop_texts = stops, .tokenizer = &tokenizer},
                .continuations = 2});
  }
  served.finish(context);
  EXPECT_EQ(served.answers[2].continuations[1].text, "ab");
  EXPECT_EQ(served.answers[2].continuations[1].reason, StopReason::stop_text);
  for (const auto& [number, answer] : served.answers) {
    expect_alone(model, served.requests[number], answer);
  }
}

TEST_F(Requests, with_no_new_ids_end_at_once_or_after_the_prompt_is_scored) {
  models::Gpt model(models::small_gpt());
  fill(model, 1);
  autograd::Context context = inference_context();
  Served served(model);
  const Ids prompt = random_list(9, 17, 1);
  served.add({.prompt = {prompt}, .ending = {.max_new_tokens = 0}, .continuations = 2});
  served.add({.prompt = {prompt},
              .ending = {.max_new_tokens = 0},
              .top_log_probabilities = 3,
              .prompt_log_probabilities = true});
  served.finish(context);
  EXPECT_FALSE(served.answers[1].prompt.has_value());
  for (const auto& [number, answer] : served.answers) {
    EXPECT_EQ(answer.continuations[0].reason, StopReason::limit);
    expect_alone(model, served.requests[number], answer);
  }
}

// A long prompt is read in pieces; who is being written gets an id in every step meanwhile, and a
// short prompt does not wait until the long one is through.
TEST_F(Requests, do_not_wait_for_a_long_prompt) {
  const auto model = long_gpt();
  fill(*model, 2);
  autograd::Context context = inference_context();
  Served served(*model, {.prompt_ids = 20});
  const auto request = [&](size_t prompt, int64_t tokens) {
    return GenerationRequest{.prompt = {random_list(prompt, 30, prompt)},
                             .ending = {.max_new_tokens = tokens, .stop_ids = Ids{}}};
  };
  const uint64_t first = served.add(request(3, 100));
  served.step(context);
  const uint64_t slow = served.add(request(390, 2));
  const uint64_t quick = served.add(request(4, 3));
  for (int step = 0; step < 20; ++step) {
    const std::vector<RequestEvent> events = served.step(context);
    EXPECT_TRUE(std::ranges::any_of(
        events, [&](const RequestEvent& event) { return event.request == first; }));
    EXPECT_EQ(served.answers[quick].is_done, step >= 3);
    EXPECT_TRUE(served.answers[slow].tokens[0].empty());
  }
  served.step(context);
  EXPECT_EQ(served.answers[slow].tokens[0].size(), 1U);
  served.finish(context);
  for (const auto& [number, answer] : served.answers) {
    expect_alone(*model, served.requests[number], answer);
  }
}

TEST_F(Requests, with_short_prompts_begin_in_the_same_step) {
  const auto model = long_gpt();
  fill(*model, 2);
  autograd::Context context = inference_context();
  Served served(*model, {.prompt_ids = 32});
  for (size_t i = 0; i < 6; ++i) served.add({.prompt = {random_list(3 + i % 3, 30, i)}});
  EXPECT_EQ(served.step(context).size(), 6U);
}

TEST_F(Requests, begin_in_the_order_in_which_they_came) {
  models::Gpt model(models::small_gpt());
  fill(model, 1);
  autograd::Context context = inference_context();
  Served served(model, {.sequences = 3, .waiting = 4});
  const auto add = [&](int64_t continuations, int64_t tokens) {
    return served.add({.prompt = {{1, 2}},
                       .ending = {.max_new_tokens = tokens, .stop_ids = Ids{}},
                       .continuations = continuations});
  };
  add(2, 6);
  add(3, 2);  // does not fit yet
  add(1, 2);  // would fit, but comes after
  served.step(context);
  EXPECT_EQ(served.batch.load().waiting, 2);
  EXPECT_EQ(served.batch.load().writing, 2);
  served.finish(context);
  for (const auto& [number, answer] : served.answers) EXPECT_TRUE(answer.is_done) << number;
}

TEST_F(Requests, that_fail_leave_the_others_alone) {
  models::Gpt model({.block_size = 40,
                     .vocab_size = 10,
                     .n_layer = 1,
                     .n_head = 2,
                     .n_embd = 8,
                     .tied_head = false});
  fill(model, 1);
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    if (!parameter->name().ends_with("wte.weight")) continue;
    Tensor numbers = parameter->change();
    std::fill_n(numbers.mutable_data<float>() + 7 * 8, 8, NAN);  // of id 7
  }
  autograd::Context context = inference_context();
  Served served(model);
  const Ending ending{.max_new_tokens = 12, .stop_ids = Ids{7}};
  const auto add = [&](const Ids& prompt, bool scores, int64_t continuations) {
    return served.add({.prompt = {prompt},
                       .ending = ending,
                       .continuations = continuations,
                       .prompt_log_probabilities = scores});
  };
  const uint64_t good = add({1, 2, 3}, true, 1);
  const uint64_t bad = add({1, 7, 3}, false, 2);
  const uint64_t scored_bad = add({7, 2, 3}, true, 1);
  served.step(context);
  const uint64_t late = add({4, 2}, false, 1);
  served.finish(context);
  expect_has(served.answers[bad].error, "not finite");
  expect_has(served.answers[scored_bad].error, "not a number");
  for (const uint64_t number : {good, late}) {
    expect_alone(model, served.requests[number], served.answers[number]);
  }
}

size_t heap_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// In every state: waiting, in the middle of the prompt, being written; with continuations.
TEST_F(Requests, give_their_memory_back_when_they_are_dropped) {
  const auto model = long_gpt();
  fill(*model, 2);
  autograd::Context context = inference_context();
  Served served(*model, {.sequences = 5, .waiting = 6, .prompt_ids = 30});
  Numbers numbers(3);
  const auto drop_many = [&](int count) {
    for (int dropped = 0; dropped < count;) {
      if (!served.batch.is_full()) {
        served.add({.prompt = {random_list(static_cast<size_t>(numbers.from(1, 300)), 30, 1)},
                    .ending = {.max_new_tokens = 90, .stop_ids = Ids{}},
                    .continuations = numbers.from(1, 3)});
      }
      if (numbers.coin()) served.step(context);
      const auto index = numbers.from(0, static_cast<int64_t>(served.answers.size()) - 1);
      const uint64_t number = std::next(served.answers.begin(), index)->first;
      if (served.drop(number)) ++dropped;
      served.requests.erase(number);
    }
    while (!served.answers.empty()) served.drop(served.answers.begin()->first);
    served.requests.clear();
    served.expect_empty();
  };
  drop_many(300);  // the arena and the packed weights are there now
  const size_t before = heap_in_use();
  const size_t arena_before = arena_.bytes_in_use();
  drop_many(3000);
  EXPECT_EQ(arena_.bytes_in_use(), arena_before);
  EXPECT_LE(heap_in_use(), before + (64U << 10));
  EXPECT_FALSE(served.batch.drop(12345678));
  EXPECT_TRUE(served.batch.step(context).empty());
}

TEST_F(Requests, that_can_never_fit_are_refused_with_the_numbers) {
  models::Gpt model({.block_size = 256, .vocab_size = 9, .n_layer = 2, .n_head = 2, .n_embd = 8});
  fill(model, 1);
  // A tile of 128 keys and values of 2 layers, 2 heads of width 4: 128 * 2 * 2 * 4 * 2 * 4 bytes.
  constexpr uint64_t kTile = 16384;
  RequestBatch batch(model, {.sequences = 3, .waiting = 1, .cache_bytes = 4 * kTile});
  const auto asked = [](int64_t tokens, int64_t continuations) {
    return GenerationRequest{.prompt = {{1, 2, 3}},
                             .ending = {.max_new_tokens = tokens},
                             .continuations = continuations};
  };
  EXPECT_EQ(batch.bytes_needed(asked(126, 1)), kTile);
  EXPECT_EQ(batch.bytes_needed(asked(127, 1)), 2 * kTile);
  EXPECT_EQ(batch.bytes_needed(asked(kNoLimit, 2)), 4 * kTile);
  EXPECT_EQ(batch.bytes_needed(asked(0, 1)), 0U);
  const auto error = [&](const GenerationRequest& request,
                         base::ErrorKind kind = base::ErrorKind::bad_input) {
    return error_of([&] { batch.add(request); }, kind);
  };
  expect_has(error(asked(kNoLimit, 3), base::ErrorKind::out_of_memory),
             "3 sequences of up to 256 ids may need 98304 bytes of keys and values, at most 65536");
  expect_has(error(asked(5, 4)), "4 are more than the 3 sequences");
  expect_has(error(asked(5, 0)), "continuations): 0 cannot be");
  expect_has(error(asked(-1, 1)), "-1 new ids cannot be");
  expect_has(error({.prompt = {{1, 9}}}), "id 9 is not in the model's vocabulary of 9");
  expect_has(error({.prompt = {Ids(257, 1)}}), "has 257 ids, the model's context is 256");
  expect_has(error({.prompt = {{1}, {2}}}), "source): a decoder alone takes none");
  expect_has(error({.prompt = {{1}}, .sampling = {.temperature = -1}}), "temperature");
  expect_has(error({.prompt = {{1}}, .top_log_probabilities = -1}), "-1 cannot be");
  EXPECT_TRUE(batch.is_idle());
  batch.add(asked(5, 3));
  batch.add(asked(5, 1));
  EXPECT_TRUE(batch.is_full());
  expect_has(error(asked(5, 1), base::ErrorKind::failed), "queue): all 1 places are taken");
  const models::Seq2Seq translator(models::small_seq2seq());
  RequestBatch translations(translator);
  expect_has(error_of([&] { translations.add({.prompt = {{1}}}); }), "source): is missing");
  const models::Bert bert(models::small_bert());
  expect_has(error_of([&] { RequestBatch refused(bert); }), "does not write text");
  expect_has(error_of([&] { RequestBatch refused(model, {.sequences = 0}); }), "0 sequences");
}

// What a step's Context changes holds for all of a batch.
TEST_F(Requests, of_a_batch_share_the_heads_that_are_switched_off) {
  models::Gpt model(models::small_gpt());
  fill(model, 1);
  heads::HeadsOff off({{.place = "decoder.0.self", .head = 1}}, model);
  autograd::Context context = inference_context();
  context.intervention = &off;
  Served served(model);
  const Ids prompt = random_list(5, 17, 1);
  served.add({.prompt = {prompt}});
  served.add({.prompt = {random_list(3, 17, 2)}});
  served.finish(context);
  const Continuation alone = generate(context, model, {{prompt}}, {}).front();
  expect_same(served.answers[1].continuations[0], alone);
  context.intervention = nullptr;
  EXPECT_NE(generate(context, model, {{prompt}}, {}).front().log_probabilities,
            alone.log_probabilities);
}

}  // namespace
}  // namespace headlight::infer
