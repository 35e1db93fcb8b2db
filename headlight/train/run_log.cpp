// Reading back what an interrupted run wrote, and writing it whole.
#include "headlight/train/run_log.h"

#include "headlight/train/curves.h"

namespace headlight::train {
namespace {

constexpr uint64_t kLargestLog = uint64_t{1} << 30;

void add_point(const io::Json& event, std::string_view key, std::vector<LogPoint>& points) {
  const io::Json *step = event.find("step"), *loss = event.find(key);
  if (step && step->integer() && loss && loss->number())
    points.push_back({*step->integer(), *loss->number()});
}

io::Json parse_event(std::string_view line, const std::string& where) {
  io::Json event = io::parse_json(line, where);
  const io::Json* step = event.find("step");
  if (step && step->integer()) return event;
  throw base::Error(base::ErrorKind::bad_input, "log", where,
                    "is not an event with a step; without this file the run goes on all the same");
}

// A run that goes on says so again.
bool is_end(const io::Json& event) {
  const io::Json* name = event.find("event");
  return name && name->text() && *name->text() == "done";
}

}  // namespace

RunLog::RunLog(base::FileSystem& files, const std::string& folder, int64_t last_step)
    : files_(files), folder_(folder) {
  const std::string path = folder + "/log.jsonl";
  if (!base::exists(files, path)) return;
  const std::string text = base::read_all(*base::open_input(files, path), kLargestLog);
  int64_t line = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const io::Json event = parse_event(std::string_view(text).substr(begin, end - begin),
                                       path + " line " + std::to_string(++line));
    if (*event.find("step")->integer() <= last_step && !is_end(event)) add(event);
    begin = end + 1;
  }
}

void RunLog::add(const io::Json& event) {
  lines_ += io::json_text(event) + "\n";
  add_point(event, "train_loss", training_);
  add_point(event, "valid_loss", validation_);
}

void RunLog::save() {
  base::write_file(files_, folder_ + "/log.jsonl", lines_);
  base::write_file(files_, folder_ + "/curves.svg", curves_svg(training_, validation_));
}

}  // namespace headlight::train
