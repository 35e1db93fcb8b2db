// Telling what happens, in the way that fits whoever listens.
#include "apps/cli/train_report.h"

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

io::Json checkpoint_event(int64_t step) {
  return io::Json::Object{{"event", "checkpoint"}, {"step", step}};
}

}  // namespace

TrainReport::TrainReport(Session& session, const recipes::TrainSettings& settings,
                         const std::string& folder, int64_t first_step)
    : session_(session),
      settings_(settings),
      log_(session.files, folder, first_step),
      is_quiet_(session.arguments.has("quiet")),
      first_step_(first_step) {}

void TrainReport::add(std::string_view event, int64_t step, io::Json::Object facts) {
  io::Json::Object object{{"event", event}, {"step", step}};
  for (auto& fact : facts) object.push_back(std::move(fact));
  const io::Json json(std::move(object));
  log_.add(json);
  print(json);
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

double TrainReport::tokens_per_second() const {
  return seconds_ > 0 ? static_cast<double>(tokens_) / seconds_ : 0;
}

void TrainReport::start(const io::Json::Object& facts) {
  std::string line;
  for (const auto& [name, value] : facts) {
    line += (line.empty() ? "" : ", ") + name + " " +
            (value.text() ? *value.text() : io::json_text(value));
  }
  say(line);
  add("start", first_step_, facts);
}

void TrainReport::step(const train::StepResult& result) {
  tokens_ += result.tokens;
  seconds_ += result.seconds;
  loss_sum_ += result.loss;
  ++steps_;
  const double loss = loss_sum_ / static_cast<double>(steps_);
  if (session_.talkative && !session_.json) draw(result, loss);
  if (result.step % settings_.log_interval != 0 && result.step != settings_.max_iters) return;
  losses_.push_back(loss);
  loss_sum_ = 0;
  steps_ = 0;
  add("step", result.step,
      {{"train_loss", loss},
       {"learning_rate", result.learning_rate},
       {"gradient_norm", result.gradient_norm},
       {"tokens_per_second", std::round(tokens_per_second())}});
}

// The line that replaces itself, ten times a second at most.
void TrainReport::draw(const train::StepResult& result, double loss) {
  const auto now = std::chrono::steady_clock::now();
  if (now - drawn_ < std::chrono::milliseconds(100)) return;
  drawn_ = now;
  const double share = static_cast<double>(result.step) / static_cast<double>(settings_.max_iters);
  const double per_step = seconds_ / static_cast<double>(result.step - first_step_);
  print_progress(bar(share) + " " + std::to_string(result.step) + "/" +
                 std::to_string(settings_.max_iters) + "  loss " + fixed_text(loss, 4) + " " +
                 sparkline(losses_) + "  " + fixed_text(tokens_per_second(), 0) + " tokens/s  " +
                 time_text(per_step * static_cast<double>(settings_.max_iters - result.step)) +
                 " left");
}

void TrainReport::evaluation(int64_t step, double valid_loss, const std::string& sample) {
  const auto& training = log_.training();
  std::string line = "step " + std::to_string(step) + "/" + std::to_string(settings_.max_iters);
  if (!training.empty()) line += "  train loss " + fixed_text(training.back().loss, 4);
  line += "  valid loss " + fixed_text(valid_loss, 4) + "  " + fixed_text(tokens_per_second(), 0) +
          " tokens/s";
  if (step > first_step_ && step < settings_.max_iters) {
    const double per_step = seconds_ / static_cast<double>(step - first_step_);
    line += "  " + time_text(per_step * static_cast<double>(settings_.max_iters - step)) + " left";
  }
  say(line);
  if (!sample.empty()) say("  " + sample);
  add("eval", step,
      {{"valid_loss", valid_loss}, {"tokens_per_second", std::round(tokens_per_second())}});
}

void TrainReport::saving(int64_t step) {
  log_.add(checkpoint_event(step));
  log_.save();
}

void TrainReport::checkpoint(int64_t step) { print(checkpoint_event(step)); }

void TrainReport::done(const io::Json::Object& facts) {
  if (session_.talkative) print_progress("");
  int64_t step = first_step_;
  io::Json::Object rest;
  std::string line = "done";
  for (const auto& [name, value] : facts) {
    if (name == "step") {
      step = *value.integer();
    } else {
      rest.emplace_back(name, value);
      line += "  " + name + " " +
              (value.number() && !value.integer() ? fixed_text(*value.number(), 4)
                                                  : io::json_text(value));
    }
  }
  say(line);
  add("done", step, rest);
  log_.save();
}

}  // namespace headlight::cli
