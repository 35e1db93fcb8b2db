// What was measured on ranks, as lines and as JSON.
#include <algorithm>
#include <numeric>

#include "apps/cli/bench/machine.h"
#include "apps/cli/bench/ranks.h"
#include "apps/cli/bench/work.h"
#include "apps/cli/program/terminal.h"

namespace headlight::cli {
namespace {

double mean_of(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

io::Json::Array array_of(const std::vector<double>& numbers) {
  return {numbers.begin(), numbers.end()};
}

}  // namespace

std::string text_of(const RankBench& bench, const narrate::Catalogue& catalogue) {
  const int64_t width = columns_of_table();
  const auto number = [&](double value, int digits) {
    return narrate::with_decimal(fixed_text(value, digits), catalogue.decimal());
  };
  std::string text =
      machine_text(catalogue, bench.threads, width) +
      labelled(catalogue.text("bench.ranks"),
               catalogue.text("bench.ranks_and_shards", {{"count", std::to_string(bench.ranks)},
                                                         {"shards", std::to_string(bench.shards)}}),
               width);
  if (bench.exchange) {
    text += labelled(
        catalogue.text("bench.between"),
        catalogue.text("bench.exchange", {{"latency", number(bench.exchange->latency * 1e6, 1)},
                                          {"sums", number(bench.exchange->reduce_scatter / 1e9, 2)},
                                          {"shared", number(bench.exchange->all_gather / 1e9, 2)}}),
        width);
  }
  if (bench.steps.empty()) return text;
  std::vector<std::vector<std::string>> lines = {
      {catalogue.text("bench.work"), catalogue.text("bench.median"), catalogue.text("bench.best"),
       catalogue.text("bench.waiting"), catalogue.text("bench.memory")}};
  for (const MeasuredSteps& each : bench.steps) {
    const double most = *std::ranges::max_element(each.peak);
    lines.push_back(
        {on_ranks(each.size), number(median_of(each.seconds) * 1e3, 2),
         number(*std::ranges::min_element(each.seconds) * 1e3, 2),
         catalogue.text("bench.share", {{"share", number(100 * mean_of(each.waiting), 1)}}),
         number(most / (1 << 20), 0) + " MiB"});
  }
  return text + "\n" + narrate::table_of_numbers(lines, width);
}

io::Json json_of(const RankBench& bench) {
  using Object = io::Json::Object;
  io::Json::Array work;
  for (const MeasuredSteps& each : bench.steps) {
    work.emplace_back(Object{{"name", on_ranks(each.size)},
                             {"parameters", each.parameters},
                             {"sequences", each.size.rows},
                             {"operations", each.size.operations()},
                             {"timings", each.seconds.size()},
                             {"median_seconds", median_of(each.seconds)},
                             {"best_seconds", *std::ranges::min_element(each.seconds)},
                             {"waiting_shares", array_of(each.waiting)},
                             {"peak_bytes", array_of(each.peak)}});
  }
  io::Json between;
  if (bench.exchange) {
    between = Object{{"latency_seconds", bench.exchange->latency},
                     {"reduce_scatter_bytes_per_second", bench.exchange->reduce_scatter},
                     {"all_gather_bytes_per_second", bench.exchange->all_gather}};
  }
  return Object{{"machine", machine_json(bench.threads)},
                {"version", HEADLIGHT_VERSION},
                {"ranks", bench.ranks},
                {"shards", bench.shards},
                {"exchange", std::move(between)},
                {"work", std::move(work)}};
}

}  // namespace headlight::cli
