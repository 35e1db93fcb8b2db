// Telling what happens, in the way that fits whoever listens.
#include "apps/cli/train/report.h"

#include <algorithm>
#include <cmath>

#include "headlight/recipes/recipes.h"

namespace headlight::cli {
namespace {

// 3725 seconds as 1:02:05.
std::string time_text(double seconds) {
  const auto total = static_cast<int64_t>(std::llround(seconds));
  const auto two = [](int64_t number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  const std::string rest = two(total / 60 % 60) + ":" + two(total % 60);
  return total < 3600 ? rest : std::to_string(total / 3600) + ":" + rest;
}

std::string bar(double share) {
  constexpr int kCells = 20;
  std::string text;
  for (int cell = 0; cell < kCells; ++cell) text += share * kCells > cell ? "█" : "░";
  return text;
}

std::string sparkline(const std::vector<double>& values) {
  constexpr std::string_view kLevels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr size_t kCells = 16;
  if (values.empty()) return "";
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  std::string text;
  const size_t cells = std::min(kCells, values.size());
  for (size_t cell = 0; cell < cells; ++cell) {
    const double value = values[cell * (values.size() - 1) / std::max<size_t>(1, cells - 1)];
    const double height = *high > *low ? (value - *low) / (*high - *low) : 0;
    text += kLevels[static_cast<size_t>(height * 7.999)];
  }
  return text;
}

// "task copy, parameters 1024": what an event says besides its name and step, losses in short.
std::string facts_text(const io::Json& event, std::string_view separator, bool in_short) {
  std::string text;
  for (const auto& [name, value] : *event.object()) {
    if (name == "event" || name == "step") continue;
    const bool is_shortened = in_short && value.number() && !value.integer();
    text.append(text.empty() ? "" : separator).append(name).append(" ");
    text += value.text()   ? *value.text()
            : is_shortened ? fixed_text(*value.number(), 4)
                           : io::json_text(value);
  }
  return text;
}

}  // namespace

TrainReport::TrainReport(Session& session)
    : session_(session), is_quiet_(session.arguments.has("quiet")) {}

recipes::TrainListener TrainReport::listener() {
  return {.start = [this](const recipes::TrainStart& event) { start(event); },
          .step = [this](const recipes::TrainStep& event) { step(event); },
          .evaluation = [this](const recipes::TrainEvaluation& event) { evaluation(event); },
          .checkpoint = [this](const recipes::TrainCheckpoint& event) { print(event_json(event)); },
          .done = [this](const recipes::TrainDone& event) { done(event); },
          .wants_samples = session_.talkative};
}

void TrainReport::print(const io::Json& event) {
  if (!session_.json) return;
  session_.output.write(io::json_text(event) + "\n");
  session_.output.flush();
}

void TrainReport::say(const std::string& line) {
  if (session_.json || is_quiet_) return;
  if (session_.talkative) print_progress("");
  print_line(line);
}

void TrainReport::start(const recipes::TrainStart& event) {
  const io::Json json = event_json(event);
  say(facts_text(json, ", ", false));
  print(json);
}

void TrainReport::step(const recipes::TrainStep& event) {
  if (session_.talkative && !session_.json) draw(event);
  if (!event.is_logged) return;
  losses_.push_back(event.train_loss);
  print(event_json(event));
}

// The line that replaces itself, ten times a second at most.
void TrainReport::draw(const recipes::TrainStep& event) {
  const auto now = std::chrono::steady_clock::now();
  if (now - drawn_ < std::chrono::milliseconds(100)) return;
  drawn_ = now;
  const double share = static_cast<double>(event.step) / static_cast<double>(event.max_iters);
  print_progress(bar(share) + " " + std::to_string(event.step) + "/" +
                 std::to_string(event.max_iters) + "  loss " + fixed_text(event.train_loss, 4) +
                 " " + sparkline(losses_) + "  " + fixed_text(event.tokens_per_second, 0) +
                 " tokens/s  " + time_text(event.seconds_left) + " left");
}

void TrainReport::evaluation(const recipes::TrainEvaluation& event) {
  std::string line = "step " + std::to_string(event.step) + "/" + std::to_string(event.max_iters);
  if (event.train_loss) line += "  train loss " + fixed_text(*event.train_loss, 4);
  line += "  valid loss " + fixed_text(event.valid_loss, 4) + "  " +
          fixed_text(event.tokens_per_second, 0) + " tokens/s";
  if (event.seconds_left) line += "  " + time_text(*event.seconds_left) + " left";
  say(line);
  if (!event.sample.empty()) say("  " + event.sample);
  print(event_json(event));
}

void TrainReport::done(const recipes::TrainDone& event) {
  const io::Json json = event_json(event);
  if (session_.talkative) print_progress("");
  say("done  " + facts_text(json, "  ", true));
  print(json);
}

void TrainReport::interrupted(int64_t step) {
  if (session_.talkative) print_progress("");
  if (!is_quiet_)
    print_line("interrupted after step " + std::to_string(step) + "; --resume goes on from here");
  session_.output.flush();
}

}  // namespace headlight::cli
