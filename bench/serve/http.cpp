// Throughput of `headlight serve` at 1 to 16 requests at once, through HTTP: a model of GPT-2's
// shape with random weights, or any folder whose model continues ids.
//   bench_serve_http [MODEL] [--tokens 48] [--rounds 5] [--threads N]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "apps/server/server.h"
#include "tests/base/temporary_folder.h"
#include "tests/server/raw_client.h"

namespace headlight {
namespace {

struct BenchOptions {
  std::string model;
  int64_t tokens = 48;
  int rounds = 5;
  int threads = base::ThreadPool::available_cores();
};

BenchOptions read_options(int count, char** words) {
  BenchOptions options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const bool has_value = i + 1 < count;
    const auto value = [&] {
      return has_value ? io::parse_number<int64_t>(words[i + 1]).value_or(0) : 0;
    };
    if (word == "--tokens" && value() > 0) {
      options.tokens = value();
      ++i;
    } else if (word == "--rounds" && value() > 0) {
      options.rounds = static_cast<int>(value());
      ++i;
    } else if (word == "--threads" && value() > 0) {
      options.threads = static_cast<int>(value());
      ++i;
    } else if (!word.starts_with("--") && options.model.empty()) {
      options.model = word;
    } else {
      base::refuse("bench_serve_http", word,
                   "bench_serve_http [MODEL] [--tokens N] [--rounds N] [--threads N]");
    }
  }
  return options;
}

// A folder of GPT-2's shape: 12 layers, 12 heads, width 768, 1,024 tokens, 124 million numbers.
void save_gpt2_shape(base::FileSystem& files, const std::string& folder) {
  models::Gpt model(
      {.block_size = 1024, .vocab_size = 50257, .n_layer = 12, .n_head = 12, .n_embd = 768});
  model.draw(1);
  std::filesystem::create_directory(folder);
  models::save_model(files, folder, model);
}

std::string request_body(const std::string& model, int64_t tokens, int client) {
  // Greedy, so that the end of the text does not cut it short by chance more than it must.
  return io::json_text(
      io::Json::Object{{"model", model},
                       {"prompt", io::Json::Array{1 + client, 2, 3, 4, 5, 6, 7, 8}},
                       {"max_tokens", tokens},
                       {"temperature", 0}});
}

// Tokens that a client got.
int64_t ask_once(uint16_t port, const std::string& body) {
  const test::RawResponse response =
      test::ask(port, test::post(port, "/v1/completions", body), std::chrono::minutes(10));
  if (response.status != 200) base::refuse("bench_serve_http", "answer", response.body);
  const io::Json answer = io::parse_json(response.body, "answer");
  const io::Json* usage = answer.find("usage");
  return usage == nullptr ? 0 : usage->find("completion_tokens")->integer().value_or(0);
}

// Tokens per second of so many clients, each with one request.
double round_of(uint16_t port, const std::string& model, int64_t tokens, int clients) {
  std::vector<std::thread> threads;
  std::vector<int64_t> counts(static_cast<size_t>(clients));
  const auto begin = std::chrono::steady_clock::now();
  for (int client = 0; client < clients; ++client) {
    threads.emplace_back([&counts, &model, port, tokens, client] {
      counts[static_cast<size_t>(client)] = ask_once(port, request_body(model, tokens, client));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  int64_t sum = 0;
  for (const int64_t count : counts) sum += count;
  return static_cast<double>(sum) / time.count();
}

void run_bench(const BenchOptions& options) {
  recipes::FilesWithEmbedded files;
  test::TemporaryFolder folder;
  std::string model = options.model;
  if (model.empty()) {
    model = folder / "gpt2-shape";
    save_gpt2_shape(files, model);
  }
  base::ThreadPool threads(options.threads);
  server::Application application(files, threads, {.models = {model}, .http = {.port = 0}});
  application.start();
  const std::string id = server::Models(files, {model}).ids().front();
  ask_once(application.port(), request_body(id, 4, 0));
  std::printf("%s, %d threads, %lld tokens each, %d rounds\n", kernels::simd_target().c_str(),
              options.threads, static_cast<long long>(options.tokens), options.rounds);
  std::printf("requests  tokens/s    low   high  against one\n");
  const std::vector<int> clients = {1, 2, 4, 8, 16};
  std::vector<std::vector<double>> rates(clients.size());
  // Rounds of all sizes in turn, so that a busy moment of the machine hits none alone.
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < clients.size(); ++i) {
      rates[i].push_back(round_of(application.port(), id, options.tokens, clients[i]));
    }
  }
  double alone = 0;
  for (size_t i = 0; i < clients.size(); ++i) {
    std::ranges::sort(rates[i]);
    const double median = rates[i][rates[i].size() / 2];
    if (i == 0) alone = median;
    std::printf("%8d  %8.1f  %5.1f  %5.1f  %10.2f\n", clients[i], median, rates[i].front(),
                rates[i].back(), median / alone);
  }
}

}  // namespace
}  // namespace headlight

int main(int count, char** words) {
  try {
    headlight::run_bench(headlight::read_options(count, words));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
