// Files of a job, written whole or line by line.
#include "apps/server/studio/job_folder.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include "headlight/recipes/recipes.h"

namespace headlight::server::studio {
namespace {

using io::Json;

constexpr std::array<std::string_view, 6> kStates = {"queued", "running", "paused",
                                                     "done",   "failed",  "cancelled"};
constexpr std::string_view kFactsFile = "job.json";
constexpr std::string_view kEventsFile = "events.jsonl";

Json text_or_nothing(const std::string& text) { return text.empty() ? Json() : Json(text); }

std::string text_member(const Json& object, const char* name) {
  const Json* found = object.find(name);
  return found != nullptr && found->text() != nullptr ? *found->text() : "";
}

void append(base::FileSystem& files, const std::string& path, const std::string& text) {
  const int file = files.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  size_t written = 0;
  while (written < text.size()) {
    const int64_t count = files.write(file, std::as_bytes(std::span(text).subspan(written)));
    if (count <= 0) break;
    written += static_cast<size_t>(count);
  }
  files.close(file);
}

// Nothing for a line that is none of ours.
std::optional<JobEvent> event_in(const std::string& line, const std::string& path) {
  try {
    const Json event = io::parse_json(line, path);
    const Json* number = event.find("id");
    const Json* data = event.find("data");
    if (number == nullptr || !number->integer() || data == nullptr) return std::nullopt;
    return JobEvent{*number->integer(), text_member(event, "event"), io::json_text(*data)};
  } catch (const base::Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::string_view name_of(JobState state) { return kStates[static_cast<size_t>(state)]; }

bool is_over(JobState state) {
  return state == JobState::done || state == JobState::failed || state == JobState::cancelled;
}

Json job_json(const JobFacts& facts, bool whole) {
  Json::Object json = {{"id", facts.id},
                       {"kind", facts.kind},
                       {"name", text_or_nothing(facts.name)},
                       {"model", text_or_nothing(facts.model)},
                       {"state", name_of(facts.state)},
                       {"created", facts.created},
                       {"progress", facts.progress},
                       {"error", text_or_nothing(facts.error)},
                       {"written", text_or_nothing(facts.written)},
                       {"events", facts.events}};
  if (whole) {
    json.emplace_back("request", facts.request);
    json.emplace_back("result", facts.result);
  }
  return json;
}

bool JobFolder::is_there() const { return base::exists(files_, path(kFactsFile)); }

void JobFolder::make() const { base::make_directories(files_, path_); }

void JobFolder::save(const JobFacts& facts) const {
  base::write_file(files_, path(kFactsFile), io::json_text(job_json(facts, true)) + "\n");
}

void JobFolder::put(std::string_view name, const std::string& text) const {
  base::write_file(files_, path(name), text);
}

void JobFolder::add(const JobEvent& event) const {
  const Json line = Json::Object{
      {"id", event.number}, {"event", event.name}, {"data", io::parse_json(event.data, "event")}};
  append(files_, path(kEventsFile), io::json_text(line) + "\n");
}

JobFacts JobFolder::read(const std::string& id) const {
  const Json stored = io::read_json(files_, path(kFactsFile));
  JobFacts facts{.id = id};
  facts.kind = text_member(stored, "kind");
  facts.name = text_member(stored, "name");
  facts.model = text_member(stored, "model");
  facts.created = text_member(stored, "created");
  facts.error = text_member(stored, "error");
  facts.written = text_member(stored, "written");
  if (const Json* request = stored.find("request")) facts.request = *request;
  if (const Json* result = stored.find("result")) facts.result = *result;
  if (const Json* share = stored.find("progress")) facts.progress = share->number().value_or(0);
  if (const Json* events = stored.find("events")) facts.events = events->integer().value_or(0);
  const auto state = std::ranges::find(kStates, text_member(stored, "state"));
  facts.state =
      state == kStates.end() ? JobState::failed : static_cast<JobState>(state - kStates.begin());
  if (!is_over(facts.state)) facts.state = JobState::paused;
  return facts;
}

void JobFolder::read_events(const std::function<void(JobEvent)>& take) const {
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  const std::string file = path(kEventsFile);
  if (!base::exists(files_, file)) return;
  const std::string text = base::read_all(*base::open_input(files_, file), kMostBytes);
  for (const std::string& line : recipes::split_words(text, '\n')) {
    if (std::optional<JobEvent> event = event_in(line, file)) take(*std::move(event));
  }
  // So that the next line does not go on where the last one was cut.
  if (!text.empty() && !text.ends_with('\n')) append(files_, file, "\n");
}

void JobFolder::remove() const {
  std::error_code ignored;
  std::filesystem::remove(path(kFactsFile), ignored);
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace headlight::server::studio
