// How long the studio's server takes for what its page asks: a worked trace, the terms of a cell,
// the map of 12 x 12 heads over 512 tokens. One line of JSON each: the median of the runs, the
// quarters, the fastest, the time of the processor for each, and the target.
// Usage: bench_studio_server [THREADS]
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "headlight/narrate/narrate.h"

namespace {

using namespace headlight;

constexpr const char* kSentence = "When you play the game of thrones";

double milliseconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

// Of all threads: what a busy machine changes least.
double processor_milliseconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& time) {
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

void report(const char* name, double target, int runs, const std::function<void()>& work) {
  work();
  std::vector<double> times;
  const double before = processor_milliseconds();
  for (int i = 0; i < runs; ++i) times.push_back(milliseconds(work));
  const double processor = (processor_milliseconds() - before) / runs;
  std::ranges::sort(times);
  const auto at = [&](size_t quarter) { return times[quarter * (times.size() - 1) / 4]; };
  std::printf(
      "{\"name\":\"%s\",\"milliseconds\":%.3f,\"low\":%.3f,\"high\":%.3f,\"fastest\":%.3f,"
      "\"processor\":%.3f,\"target\":%.0f,\"runs\":%d}\n",
      name, at(2), at(1), at(3), times.front(), processor, target, runs);
}

// GPT-2's shape with any weights.
std::shared_ptr<const models::Model> gpt2_shaped() {
  auto model = std::make_shared<models::Gpt>(models::GptConfig{
      .block_size = 1024, .vocab_size = 50257, .n_layer = 12, .n_head = 12, .n_embd = 768});
  model->draw(1);
  return model;
}

narrate::ExplainRequest ids_request(int64_t count) {
  narrate::ExplainRequest request;
  request.ids.emplace();
  for (int64_t i = 0; i < count; ++i) request.ids->push_back((i * 7919) % 50257);
  request.continues = 0;
  request.most_weights = int64_t{1} << 24;
  return request;
}

}  // namespace

int main(int count, char** words) {
  base::ThreadPool threads(count > 1 ? std::atoi(words[1]) : base::ThreadPool::available_cores());
  recipes::FilesWithEmbedded files;
  const auto make = [&](const narrate::ExplainRequest& request) {
    return narrate::make_subject(files, request);
  };
  const narrate::ExplainRequest worked{.text = kSentence, .skips_backward = true};
  report("worked trace", 5, 50, [&] {
    const narrate::TraceDocument trace(threads, files, worked, make);
    io::json_text(trace.document());
  });
  report("worked trace with the way back", 5, 50, [&] {
    const narrate::TraceDocument trace(threads, files, {.text = kSentence}, make);
    io::json_text(trace.document());
  });
  const narrate::TraceDocument kept(threads, files, worked, make);
  report("terms of a cell", 16, 200, [&] {
    const explain::Trace& trace = kept.trace(0);
    io::json_text(explain::cell_json(
        trace, explain::explain_cell(trace, explain::parse_cell(trace, "logits[0,5]")), {0, 4096}));
  });
  const std::shared_ptr<const models::Model> model = gpt2_shaped();
  const auto share = [&](const narrate::ExplainRequest& request) {
    return narrate::make_shared_subject(request, "gpt2", model, std::nullopt);
  };
  report("trace of a GPT-2 at 512 tokens", 0, 3, [&] {
    const narrate::TraceDocument trace(threads, files, ids_request(512), share);
    io::json_text(trace.document());
  });
  const narrate::TraceDocument large(threads, files, ids_request(512), share);
  report("terms of a cell of a GPT-2", 16, 20, [&] {
    const explain::Trace& trace = large.trace(0);
    io::json_text(explain::cell_json(
        trace,
        explain::explain_cell(trace,
                              explain::parse_cell(trace, "decoder.5.self.head.3.scores[400,17]")),
        {0, 4096}));
  });
  report("map of 12 x 12 heads at 512 tokens", 1000, 5, [&] {
    const explain::Trace& trace = large.trace(0);
    io::json_text(heads::head_map_json(
        heads::map_heads(threads, trace.recording(), trace.input().batch), narrate::letters_json));
  });
  report("tile of 512 x 512 weights", 0, 20, [&] {
    large.tile(0, "decoder.5.self.head.3.weights", {.most_rows = 128, .most_cols = 128});
  });
  return 0;
}
