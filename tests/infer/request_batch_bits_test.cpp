// Requests that come and go at random, of every kind of model: each answer is the one it is alone.
#include "tests/infer/random_cases.h"
#include "tests/infer/served.h"
#include "tests/nn/block_model.h"

namespace headlight::infer {
namespace {

std::unique_ptr<models::Model> random_block_model(Numbers& numbers, uint64_t seed) {
  const auto design = [&] {
    switch (numbers.from(0, 4)) {
      case 0:
        return nn::rotary_and_grouped();
      case 1:
        return nn::parallel_and_partial();
      case 2:
        return nn::with_slopes();
      case 3:
        return nn::with_buckets();
      default:
        return nn::with_windows();
    }
  };
  auto model = std::make_unique<nn::BlockModel>(design());
  nn::fill_in(model->parameters(), seed);
  return model;
}

// The same model without some of its heads, in some attentions without any.
std::unique_ptr<models::Model> randomly_pruned(Numbers& numbers, const models::Model& model,
                                               uint64_t seed) {
  models::HeadsLeft left;
  for (const nn::MultiHeadAttention* attention : models::attentions_of(model)) {
    std::vector<int64_t>& heads = left[attention->options().place];
    for (int64_t head = 0; head < attention->options().heads; ++head) {
      if (numbers.coin()) heads.push_back(head);
    }
  }
  auto pruned = model.with_heads(left);
  nn::fill_in(pruned->parameters(), seed);
  return pruned;
}

std::unique_ptr<models::Model> random_model(Numbers& numbers, uint64_t seed) {
  const int64_t kind = numbers.from(0, 6);
  std::unique_ptr<models::Model> model;
  if (kind <= 1) model = random_gpt(numbers);
  if (kind == 2 || kind == 3) model = random_seq2seq(numbers);
  if (kind == 4) model = long_gpt();
  if (kind >= 5) return random_block_model(numbers, seed);
  fill(*model, seed);
  if (kind == 1 || kind == 3) return randomly_pruned(numbers, *model, seed);
  return model;
}

GenerationRequest random_request(Numbers& numbers, const models::Model& model) {
  const GenerateOptions options = random_options(numbers, model);
  GenerationRequest request{.sampling = options.sampling,
                            .ending = options.ending,
                            .continuations = numbers.from(0, 2) == 0 ? numbers.from(2, 3) : 1,
                            .first_sequence = static_cast<uint64_t>(numbers.from(0, 1000)),
                            .top_log_probabilities = numbers.coin() ? 0 : numbers.from(1, 5),
                            .prompt_log_probabilities = numbers.from(0, 2) == 0};
  const auto draw = [&](int64_t count, int64_t vocabulary) {
    return random_list(static_cast<size_t>(count), vocabulary,
                       static_cast<uint64_t>(numbers.from(0, 1 << 30)));
  };
  request.prompt.ids = draw(numbers.from(1, model.context_length()), model.vocab_size());
  if (model.capabilities().translates) {
    request.prompt.source =
        draw(numbers.from(1, model.context_length()), model.source_vocab_size());
  }
  if (numbers.from(0, 9) == 0) request.ending.max_new_tokens = 0;
  if (numbers.from(0, 9) == 0) request.ending.max_new_tokens = kNoLimit;
  return request;
}

class RandomRequests : public Requests {
 protected:
  // Requests come and go at random between steps on one, two or three threads.
  void serve_at_random(uint64_t seed, size_t count) {
    Numbers numbers(seed);
    const auto model = random_model(numbers, seed);
    Served served(*model, {.sequences = numbers.from(3, 8),
                           .waiting = static_cast<int64_t>(count),
                           .cache_bytes = numbers.coin() ? 1ULL << 30 : 1ULL << 20,
                           .prompt_ids = numbers.from(1, 40)});
    base::ThreadPool three_threads(3);
    size_t added = 0;
    for (int step = 0; step < 5000 && (added < count || !served.batch.is_idle()); ++step) {
      for (; added < count && numbers.from(0, 3) == 0; ++added) {
        served.add(random_request(numbers, *model));
      }
      if (!served.answers.empty() && numbers.from(0, 12) == 0) {
        auto dropped = served.answers.begin();
        std::advance(dropped, numbers.from(0, static_cast<int64_t>(served.answers.size()) - 1));
        const uint64_t number = dropped->first;
        if (dropped->second.is_done) {
          EXPECT_FALSE(served.batch.drop(number));
        } else {
          EXPECT_TRUE(served.drop(number));
        }
      }
      base::ThreadPool* pools[] = {&one_thread_, &threads_, &three_threads};
      autograd::Context context{.threads = *pools[numbers.from(0, 2)], .arena = arena_};
      served.step(context);
    }
    served.expect_empty();
    for (const auto& [number, answer] : served.answers) {
      SCOPED_TRACE("request " + std::to_string(number));
      expect_alone(*model, served.requests[number], answer);
    }
  }
};

using LongRandomRequests = RandomRequests;

TEST_F(RandomRequests, are_answered_as_alone_whoever_comes_and_goes) {
  for (uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE("case " + std::to_string(seed));
    serve_at_random(seed, 12);
  }
}

TEST_F(LongRandomRequests, are_answered_as_alone_whoever_comes_and_goes) {
  for (uint64_t seed = 1000; seed < 1600 && !HasFailure(); ++seed) {
    SCOPED_TRACE("case " + std::to_string(seed));
    serve_at_random(seed, 40);
  }
}

}  // namespace
}  // namespace headlight::infer
