// Decoding of 1, 2, 4, 8 and 16 requests at once by infer::RequestBatch: a GPT of GPT-2's size with
// random weights. Each round measures every number of requests once; medians, quartiles, and the
// ratio to one request in the same round. Usage: bench_serve [ROUNDS [TOKENS [THREADS]]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "headlight/infer/infer.h"

namespace {

using namespace headlight;

constexpr int64_t kPromptIds = 32;

infer::GenerationRequest request(int64_t number, int64_t tokens, int64_t vocabulary) {
  const base::Random random(static_cast<uint64_t>(number));
  infer::GenerationRequest request{
      .sampling = {.temperature = 0.8F, .top_k = 50, .seed = 1},
      .ending = {.max_new_tokens = tokens, .stop_ids = std::vector<int64_t>{}},
      .first_sequence = static_cast<uint64_t>(number)};
  for (uint64_t i = 0; i < kPromptIds; ++i) {
    request.prompt.ids.push_back(
        static_cast<int64_t>(random.below(i, static_cast<uint64_t>(vocabulary))));
  }
  return request;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Speed {
  double decoding = 0;  // tokens per second while all requests are being written
  double whole = 0;     // from the first prompt's first id to the last token
};

Speed measure(autograd::Context& context, const models::Model& model, int64_t requests,
              int64_t tokens) {
  // All prompts are read in the first step.
  infer::RequestBatch batch(
      model,
      {.sequences = requests, .cache_bytes = 4ULL << 30, .prompt_ids = requests * kPromptIds});
  for (int64_t i = 0; i < requests; ++i) batch.add(request(i, tokens, model.vocab_size()));
  const auto start = std::chrono::steady_clock::now();
  batch.step(context);
  const auto all_begun = std::chrono::steady_clock::now();
  size_t written = 0;
  while (!batch.is_idle()) written += batch.step(context).size();
  return {.decoding = static_cast<double>(written) / seconds_since(all_begun),
          .whole = static_cast<double>(requests * tokens) / seconds_since(start)};
}

double quantile(std::vector<double> numbers, double share) {
  std::ranges::sort(numbers);
  const auto last = static_cast<double>(numbers.size() - 1);
  return numbers[static_cast<size_t>(share * last + 0.5)];
}

struct Case {
  int64_t requests;
  std::vector<double> decoding = {}, whole = {}, ratios = {};
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  const int64_t tokens = argc > 2 ? std::atoll(argv[2]) : 64;
  base::ThreadPool threads(argc > 3 ? std::atoi(argv[3]) : base::ThreadPool::available_cores());
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena};
  models::Gpt model(models::GptConfig{});  // 124M parameters
  model.draw(1);
  std::vector<Case> cases = {{1}, {2}, {4}, {8}, {16}};
  for (const Case& each : cases) measure(context, model, each.requests, 4);  // warms up
  for (int round = 0; round < rounds; ++round) {
    for (Case& each : cases) {
      const Speed speed = measure(context, model, each.requests, tokens);
      each.decoding.push_back(speed.decoding);
      each.whole.push_back(speed.whole);
      each.ratios.push_back(speed.decoding / cases[0].decoding.back());
    }
  }
  std::printf("%d threads, %s, prompts of %d ids, %d new tokens, %d rounds\n", threads.size(),
              kernels::simd_target().c_str(), static_cast<int>(kPromptIds),
              static_cast<int>(tokens), rounds);
  std::printf("requests  tokens/s (quartiles)        times one (quartiles)  with prompts\n");
  for (const Case& each : cases) {
    std::printf("%8d  %8.1f (%7.1f - %7.1f)  %6.2f (%5.2f - %5.2f)  %12.1f\n",
                static_cast<int>(each.requests), quantile(each.decoding, 0.5),
                quantile(each.decoding, 0.25), quantile(each.decoding, 0.75),
                quantile(each.ratios, 0.5), quantile(each.ratios, 0.25),
                quantile(each.ratios, 0.75), quantile(each.whole, 0.5));
  }
  return 0;
}
