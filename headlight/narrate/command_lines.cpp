// Parts of lines, and which of them give way.
#include "headlight/narrate/command_lines.h"

#include <algorithm>
#include <cmath>

#include "headlight/narrate/text_layout.h"
#include "headlight/text/text.h"

namespace headlight::narrate {
namespace {

constexpr std::string_view kPartGap = "  ";

// A part of a line; where the line is too long, the highest number goes first, and 0 stays.
struct LinePart {
  std::string text;
  int gives_way = 0;
};

int64_t columns_of(const std::vector<LinePart>& parts) {
  int64_t columns = 0;
  for (const LinePart& part : parts) {
    columns +=
        (columns == 0 ? 0 : static_cast<int64_t>(kPartGap.size())) + text::columns(part.text);
  }
  return columns;
}

std::string fitted(std::vector<LinePart> parts, int64_t width) {
  std::erase_if(parts, [](const LinePart& part) { return part.text.empty(); });
  while (columns_of(parts) > width) {
    const auto first = std::ranges::max_element(parts, {}, &LinePart::gives_way);
    if (first == parts.end() || first->gives_way == 0) break;
    parts.erase(first);
  }
  std::string line;
  for (const LinePart& part : parts) line.append(line.empty() ? "" : kPartGap).append(part.text);
  return cut_to(line, width);
}

// 25 as "25%", or "%25".
std::string percent_text(const Catalogue& catalogue, double percent, int digits) {
  return catalogue.text("language.percent", {{"number", catalogue.number(percent, digits)}});
}

std::string bar_text(double share, int64_t cells) {
  std::string text;
  for (int64_t cell = 0; cell < cells; ++cell) {
    text += share * static_cast<double>(cells) > static_cast<double>(cell) ? "█" : "░";
  }
  return text;
}

// As long as there is room for, and none where it would say little.
std::string bar_beside(const std::vector<LinePart>& others, double share, int64_t width) {
  constexpr int64_t kLongest = 20;
  constexpr int64_t kShortest = 6;
  const int64_t room =
      std::min(kLongest, width - columns_of(others) - static_cast<int64_t>(kPartGap.size()));
  return room < kShortest ? "" : bar_text(share, room);
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

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines = recipes::split_words(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace

std::string count_text(const Catalogue& catalogue, double count) {
  double unit = 1;
  std::string written = "#";
  // "1000=# K; 1000000=# M": the largest that is not larger.
  for (const std::string& entry : recipes::split_words(catalogue.text("command.counts"), ';')) {
    const size_t equals = entry.find('=');
    const auto begin = entry.find_first_not_of(' ');
    const double size =
        io::parse_number<double>(std::string_view(entry).substr(begin, equals - begin)).value_or(0);
    // What would be rounded up to it, too.
    if (size == 0 || std::round(count) < size) continue;
    unit = size;
    written = entry.substr(equals + 1);
  }
  const double shown = count / unit;
  const int digits = unit > 1 && shown < 9.95 ? 1 : 0;
  return written.replace(written.find('#'), 1, catalogue.number(shown, digits));
}

std::string size_text(const Catalogue& catalogue, uint64_t bytes) {
  constexpr uint64_t kKibi = 1 << 10;
  if (bytes < kKibi * kKibi) return std::to_string((bytes + kKibi - 1) / kKibi) + " KiB";
  std::string text = base::memory_text(bytes);
  if (const size_t point = text.find('.'); point != std::string::npos) {
    text.replace(point, 1, catalogue.text("language.decimal"));
  }
  return text;
}

std::string time_text(double seconds) {
  constexpr double kLongest = 1e9;
  const auto total = static_cast<int64_t>(std::llround(std::clamp(seconds, 0.0, kLongest)));
  const auto two = [](int64_t number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  if (total < 3600) return std::to_string(total / 60) + ":" + two(total % 60);
  return std::to_string(total / 3600) + ":" + two(total / 60 % 60) + ":" + two(total % 60);
}

std::string progress_line(const Catalogue& catalogue, const std::string& what,
                          std::optional<double> share, double seconds, int64_t width) {
  // Earlier than this one cannot tell how long it will take.
  constexpr double kLeastShare = 0.001;
  std::vector<LinePart> parts = {{visible(what) + " …", 1}};
  if (share && *share >= kLeastShare) {
    parts.push_back({percent_text(catalogue, std::floor(*share * 100), 0)});
    parts.push_back(
        {catalogue.text("command.progress.left", {{"time", time_text(seconds / *share - seconds)}}),
         2});
    parts.insert(parts.begin() + 1, {bar_beside(parts, *share, width), 3});
  } else {
    parts.push_back({time_text(seconds)});
  }
  return fitted(std::move(parts), width);
}

std::string suggestions_text(const Catalogue& catalogue, const std::vector<Suggestion>& suggestions,
                             int64_t width) {
  std::string text = wrapped(catalogue.text("command.next"), width);
  for (const Suggestion& one : suggestions) {
    text += wrapped_command(one.command, width, "  ") + wrapped(one.what, width, "      ");
  }
  return text;
}

std::string TrainingLines::loss_text(std::string_view key, double loss) const {
  return text(key, {{"loss", catalogue_.number(loss, 4)}});
}

// With a sign between them, in as few lines as they need.
std::vector<std::string> TrainingLines::in_lines(const std::vector<std::string>& parts) const {
  constexpr std::string_view kSign = " · ";
  std::vector<std::string> lines;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    const int64_t columns =
        lines.empty() ? width_ + 1
                      : text::columns(lines.back()) + text::columns(kSign) + text::columns(part);
    if (columns <= width_) {
      lines.back().append(kSign).append(part);
    } else {
      for (const std::string& line : lines_of(wrapped(part, width_))) lines.push_back(line);
    }
  }
  return lines;
}

std::vector<std::string> TrainingLines::start(const recipes::TrainStart& event,
                                              const std::string& folder) const {
  const auto count = [&](std::string_view key, int64_t number) {
    return text(key, {{"count", count_text(catalogue_, static_cast<double>(number))}});
  };
  std::vector<std::string> lines =
      in_lines({count("command.train.parameters", event.parameters),
                event.train_tokens > 0 ? count("command.train.tokens", event.train_tokens)
                                       : text("command.train.made_up", {}),
                text("command.train.about", {{"time", time_text(event.estimated_seconds)}})});
  const std::vector<std::string> more = in_lines(
      {event.step > 0 ? text("command.train.after", {{"step", std::to_string(event.step)}}) : "",
       text("command.train.steps", {{"count", std::to_string(event.steps)}}),
       event.epochs > 0
           ? text("command.train.epochs", {{"count", catalogue_.number(event.epochs, 1)}})
           : "",
       text("command.train.memory", {{"size", decimal(event.memory)}}),
       text("command.train.folder", {{"folder", visible(folder)}})});
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

std::vector<std::string> TrainingLines::ranks(const recipes::TrainStart& event,
                                              const std::string& alone) const {
  std::vector<std::string> lines =
      in_lines({text("command.train.ranks", {{"count", std::to_string(event.ranks)}}),
                text("command.train.shards", {{"count", std::to_string(event.shards)}}),
                event.memory_saved.empty()
                    ? ""
                    : text("command.train.memory_saved", {{"size", decimal(event.memory_saved)}})});
  for (const std::string& line : with_command(text("command.train.alone", {}), alone))
    lines.push_back(line);
  return lines;
}

std::string TrainingLines::decimal(std::string size) const {
  if (const size_t point = size.find('.'); point != std::string::npos)
    size.replace(point, 1, catalogue_.text("language.decimal"));
  return size;
}

std::string TrainingLines::step(const recipes::TrainStep& event,
                                const std::vector<double>& losses) const {
  const double share = static_cast<double>(event.step) / static_cast<double>(event.max_iters);
  std::vector<LinePart> parts = {
      {std::to_string(event.step) + "/" + std::to_string(event.max_iters)},
      {loss_text("command.progress.loss", event.train_loss)},
      {sparkline(losses), 3},
      {text("command.progress.rate", {{"count", count_text(catalogue_, event.tokens_per_second)}}),
       2},
      {text("command.progress.left", {{"time", time_text(event.seconds_left)}}), 1}};
  std::erase_if(parts, [](const LinePart& part) { return part.text.empty(); });
  parts.insert(parts.begin(), {bar_beside(parts, share, width_), 4});
  return fitted(std::move(parts), width_);
}

std::vector<std::string> TrainingLines::evaluation(const recipes::TrainEvaluation& event) const {
  const std::string at = text("command.train.at", {{"step", std::to_string(event.step)},
                                                   {"steps", std::to_string(event.max_iters)}});
  std::vector<LinePart> parts = {{at}};
  if (event.train_loss)
    parts.push_back({loss_text("command.train.train_loss", *event.train_loss), 1});
  parts.push_back({loss_text("command.train.valid_loss", event.valid_loss)});
  parts.push_back(
      {text("command.progress.rate", {{"count", count_text(catalogue_, event.tokens_per_second)}}),
       3});
  if (event.seconds_left) {
    parts.push_back({text("command.progress.left", {{"time", time_text(*event.seconds_left)}}), 2});
  }
  std::vector<std::string> lines = {fitted(std::move(parts), width_)};
  if (!event.sample.empty()) lines.push_back(cut_to("  " + visible(event.sample), width_));
  return lines;
}

std::vector<std::string> TrainingLines::with_command(const std::string& sentence,
                                                     const std::string& command) const {
  std::vector<std::string> lines = lines_of(wrapped(sentence, width_));
  for (std::string& line : lines_of(wrapped_command(command, width_, "  "))) {
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> TrainingLines::done(const recipes::TrainDone& event,
                                             const End& end) const {
  std::vector<std::string> parts = {text("command.train.done", {{"time", time_text(end.seconds)}})};
  if (end.train_loss) parts.push_back(loss_text("command.train.train_loss", *end.train_loss));
  parts.push_back(loss_text("command.train.valid_loss", event.valid_loss));
  if (event.best_step != event.step) {
    parts.push_back(
        text("command.train.best", {{"loss", catalogue_.number(event.best_valid_loss, 4)},
                                    {"step", std::to_string(event.best_step)}}));
  }
  std::vector<std::string> lines = in_lines(parts);
  if (event.exact_match) {
    const auto share = [&](double part) { return percent_text(catalogue_, 100 * part, 1); };
    parts = {text("command.train.exact", {{"share", share(event.exact_match->all)}})};
    for (const auto& [kind, part] : event.exact_match->kinds) {
      parts.push_back(visible(kind) + " " + share(part));
    }
    for (std::string& line : in_lines(parts)) lines.push_back(std::move(line));
  }
  const std::string command = end.program + " " + event.next.command + " " +
                              shell_quoted(end.folder) + " " + event.next.option + " " +
                              shell_quoted(event.next.value) +
                              (event.next.more.empty() ? "" : " ") + event.next.more;
  for (std::string& line : with_command(text("command.train.next", {}), command)) {
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> TrainingLines::interrupted(int64_t step, const End& end) const {
  return with_command(text("command.train.interrupted", {{"step", std::to_string(step)}}),
                      end.program + " train --out " + shell_quoted(end.folder) + " --resume");
}

}  // namespace headlight::narrate
