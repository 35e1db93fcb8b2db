// One thread that works, and a list that all may ask.
#include "apps/server/studio/jobs.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <filesystem>

#include "apps/server/studio/studio.h"

namespace headlight::server::studio {
namespace {

using io::Json;

constexpr std::array<std::string_view, 6> kStates = {"queued", "running", "paused",
                                                     "done",   "failed",  "cancelled"};
constexpr std::string_view kKeptText = "(kept in the job's folder)";

bool is_over(JobState state) {
  return state == JobState::done || state == JobState::failed || state == JobState::cancelled;
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

Json text_or_nothing(const std::string& text) { return text.empty() ? Json() : Json(text); }

std::string text_member(const Json& object, const char* name) {
  const Json* found = object.find(name);
  return found != nullptr && found->text() != nullptr ? *found->text() : "";
}

// The body without what is kept in files of its own.
Json without_texts(const std::string& body) {
  Json request = io::parse_json(body, "body");
  for (Json::Member& member : *request.object()) {
    if (member.first == "data_text" && member.second.text() != nullptr) member.second = kKeptText;
  }
  std::erase_if(*request.object(),
                [](const Json::Member& member) { return member.first == "pairs"; });
  return request;
}

// A line at the end of a file; what cannot be written is left out, the job goes on without it.
void append_line(base::FileSystem& files, const std::string& path, const std::string& line) {
  const int file = files.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  const std::string whole = line + "\n";
  size_t written = 0;
  while (written < whole.size()) {
    const int64_t count = files.write(file, std::as_bytes(std::span(whole).subspan(written)));
    if (count <= 0) break;
    written += static_cast<size_t>(count);
  }
  files.close(file);
}

std::string event_line(int64_t number, std::string_view name, const std::string& data) {
  return "id: " + std::to_string(number) + "\n" + event_text(data, name);
}

}  // namespace

std::string_view name_of(JobState state) { return kStates[static_cast<size_t>(state)]; }

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

struct JobStore::Job {
  JobFacts facts;
  recipes::JobWork work;
  std::atomic<bool> stops = false;  // it is to save itself and leave
  bool is_removed = false;
  std::deque<Event> events;
  uint64_t event_bytes = 0;
  std::vector<std::shared_ptr<Reply>> followers;
  std::chrono::steady_clock::time_point progress_told = {};
};

JobStore::JobStore(base::ThreadPool& threads, base::FileSystem& files, Options options,
                   Models models)
    : threads_(threads), files_(files), options_(std::move(options)), models_(std::move(models)) {
  if (options_.folder.empty()) return;
  base::make_directories(files_, options_.folder);
  read_folder();
  thread_ = std::thread([this] { work(); });
}

JobStore::~JobStore() { stop(); }

std::string JobStore::path_of(const Job& job) const { return options_.folder + "/" + job.facts.id; }

void JobStore::read_folder() {
  for (const std::string& id : base::list_directory(files_, options_.folder)) {
    int64_t number = 0;
    const auto [end, failure] = std::from_chars(id.data() + 1, id.data() + id.size(), number);
    const bool is_job =
        id.size() > 1 && id[0] == 'j' && failure == std::errc() && end == id.data() + id.size();
    if (!is_job) continue;
    last_number_ = std::max(last_number_, number);
    if (JobPointer job = read_job(id)) jobs_.push_back(std::move(job));
  }
}

// Nothing for a folder that no job of ours has written.
JobStore::JobPointer JobStore::read_job(const std::string& id) {
  const std::string path = options_.folder + "/" + id + "/job.json";
  try {
    const Json stored = io::read_json(files_, path);
    auto job = std::make_shared<Job>();
    JobFacts& facts = job->facts;
    facts.id = id;
    facts.kind = text_member(stored, "kind");
    facts.name = text_member(stored, "name");
    facts.model = text_member(stored, "model");
    facts.created = text_member(stored, "created");
    facts.error = text_member(stored, "error");
    if (const Json* request = stored.find("request")) facts.request = *request;
    if (const Json* result = stored.find("result")) facts.result = *result;
    const auto state = std::ranges::find(kStates, text_member(stored, "state"));
    facts.state =
        state == kStates.end() ? JobState::failed : static_cast<JobState>(state - kStates.begin());
    facts.progress = facts.state == JobState::done ? 1 : 0;
    if (const Json* events = stored.find("events")) facts.events = events->integer().value_or(0);
    if (!is_over(facts.state)) facts.state = JobState::paused;
    read_events(*job);
    const std::string written = text_member(stored, "written");
    const std::string model = options_.folder + "/" + id + "/" + std::string(recipes::kJobModel);
    if (!written.empty() && base::exists(files_, model)) {
      facts.written = models_.add(written, model);
    }
    return job;
  } catch (const base::Error&) {
    return nullptr;
  }
}

// What was told before; a line that a killed process has left half-written is none.
void JobStore::read_events(Job& job) {
  const std::string path = path_of(job) + "/events.jsonl";
  if (!base::exists(files_, path)) return;
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  const std::string text = base::read_all(*base::open_input(files_, path), kMostBytes);
  for (const std::string& line : recipes::split_words(text, '\n')) {
    try {
      const Json event = io::parse_json(line, path);
      const Json* number = event.find("id");
      const Json* data = event.find("data");
      if (number == nullptr || !number->integer() || data == nullptr) continue;
      keep_event(job, {*number->integer(), text_member(event, "event"), io::json_text(*data)});
      job.facts.events = std::max(job.facts.events, *number->integer());
    } catch (const base::Error&) {
      continue;
    }
  }
}

void JobStore::keep_event(Job& job, Event event) {
  job.event_bytes += event.data.size();
  job.events.push_back(std::move(event));
  while (job.event_bytes > options_.event_bytes && job.events.size() > 1) {
    job.event_bytes -= job.events.front().data.size();
    job.events.pop_front();
  }
}

void JobStore::save(const Job& job) {
  Json stored = job_json(job.facts, true);
  base::write_file(files_, path_of(job) + "/job.json", io::json_text(stored) + "\n");
}

JobFacts JobStore::add(const std::string& body) {
  if (options_.folder.empty()) {
    throw HttpError({.status = 400,
                     .message = "jobs: the server has no folder to keep them in; start it with "
                                "--work DIR",
                     .code = "no_work_folder"});
  }
  const JobOrder order = read_job_order(body, models_.name_of);
  about("keys", [&] { recipes::check_job(files_, order.work); });
  auto job = std::make_shared<Job>();
  job->facts = {.kind = order.kind,
                .name = order.name,
                .model = order.model,
                .created = now_text(),
                .request = without_texts(body)};
  job->work = order.work;
  const std::lock_guard lock(mutex_);
  if (is_stopping_) refuse_busy("the server stops");
  if (jobs_.size() >= options_.jobs) {
    refuse_busy("there are " + std::to_string(jobs_.size()) + " jobs, at most " +
                std::to_string(options_.jobs) + " are kept; delete one");
  }
  job->facts.id = "j" + std::to_string(++last_number_);
  base::make_directories(files_, path_of(*job));
  const auto keep = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) base::write_file(files_, path_of(*job) + "/" + std::string(name), text);
  };
  keep(recipes::kJobData, order.data_text);
  keep(recipes::kJobPairs, order.pairs_text);
  save(*job);
  jobs_.push_back(job);
  changed_.notify_all();
  return facts_of(*job);
}

JobFacts JobStore::facts_of(const Job& job) const { return job.facts; }

std::vector<JobFacts> JobStore::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<JobFacts> all;
  for (auto job = jobs_.rbegin(); job != jobs_.rend(); ++job) all.push_back(facts_of(**job));
  return all;
}

JobStore::JobPointer JobStore::find(const std::string& id) const {
  for (const JobPointer& job : jobs_) {
    if (job->facts.id == id) return job;
  }
  refuse_unknown("job", id, "job_not_found");
}

JobFacts JobStore::at(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return facts_of(*find(id));
}

namespace {

[[noreturn]] void refuse_state(const JobFacts& facts, const std::string& wanted) {
  throw HttpError(
      {.status = 409,
       .message = "job (" + facts.id + "): is " + std::string(name_of(facts.state)) + ", " + wanted,
       .code = "job_state"});
}

}  // namespace

JobFacts JobStore::pause(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const JobPointer job = find(id);
  if (job->facts.state == JobState::queued) {
    set_state(*job, JobState::paused);
  } else if (job->facts.state == JobState::running) {
    job->stops = true;
  } else {
    refuse_state(job->facts, "only what runs or waits can be paused");
  }
  return facts_of(*job);
}

JobFacts JobStore::resume(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const JobPointer job = find(id);
  if (job->facts.state != JobState::paused && job->facts.state != JobState::failed) {
    refuse_state(job->facts, "only what is paused or has failed can be resumed");
  }
  // Of a server that ran before: the words are read again.
  const JobOrder order = read_job_order(io::json_text(job->facts.request), models_.name_of);
  job->work = order.work;
  job->facts.error.clear();
  job->stops = false;
  set_state(*job, JobState::queued);
  changed_.notify_all();
  return facts_of(*job);
}

void JobStore::remove(const std::string& id) {
  std::unique_lock lock(mutex_);
  const JobPointer job = find(id);
  job->is_removed = true;
  job->stops = true;
  changed_.wait(lock, [&] { return job->facts.state != JobState::running; });
  std::erase(jobs_, job);
  for (const auto& reply : job->followers) reply->end();
  job->followers.clear();
  if (!job->facts.written.empty()) models_.remove(job->facts.written);
  const std::string folder = path_of(*job);
  lock.unlock();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

void JobStore::set_state(Job& job, JobState state) {
  job.facts.state = state;
  try {
    save(job);
  } catch (const base::Error& error) {
    // The disk may be full; what runs goes on, and says so.
    if (job.facts.error.empty()) job.facts.error = error.what();
  }
  tell(job, "state", job_json(job.facts, false));
  if (!is_over(state)) return;
  for (const auto& reply : job.followers) reply->end();
  job.followers.clear();
}

// With the mutex held.
void JobStore::tell(Job& job, std::string_view name, const Json& event) {
  Event told{++job.facts.events, std::string(name), io::json_text(event)};
  append_line(
      files_, path_of(job) + "/events.jsonl",
      io::json_text(Json::Object{{"id", told.number}, {"event", told.name}, {"data", event}}));
  const std::string line = event_line(told.number, told.name, told.data);
  std::erase_if(job.followers, [&](const auto& reply) { return !reply->write_or_drop(line); });
  keep_event(job, std::move(told));
}

// A few times a second; nobody needs them again.
void JobStore::tell_progress(Job& job, double share) {
  const auto now = std::chrono::steady_clock::now();
  job.facts.progress = share;
  if (now - job.progress_told < std::chrono::milliseconds(200)) return;
  job.progress_told = now;
  const std::string line = event_text(io::json_text(Json::Object{{"progress", share}}), "progress");
  std::erase_if(job.followers, [&](const auto& reply) { return !reply->write_or_drop(line); });
}

void JobStore::follow(const std::string& id, int64_t after, const std::shared_ptr<Reply>& reply) {
  std::unique_lock lock(mutex_);
  const JobPointer job = find(id);
  reply->begin(200, "text/event-stream");
  while (true) {
    std::string text;
    for (const Event& event : job->events) {
      if (event.number <= after) continue;
      text += event_line(event.number, event.name, event.data);
      after = event.number;
      if (text.size() > (uint64_t{256} << 10)) break;
    }
    if (text.empty()) break;
    lock.unlock();
    if (!reply->write(std::move(text))) return;
    lock.lock();
  }
  if (is_over(job->facts.state) || job->is_removed || is_stopping_) {
    reply->end();
    return;
  }
  job->followers.push_back(reply);
}

void JobStore::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    JobPointer next;
    changed_.wait(lock, [&] {
      const auto waits = [](const JobPointer& job) { return job->facts.state == JobState::queued; };
      const auto found = std::ranges::find_if(jobs_, waits);
      if (found != jobs_.end()) next = *found;
      return is_stopping_ || next != nullptr;
    });
    if (is_stopping_) return;
    set_state(*next, JobState::running);
    lock.unlock();
    run(next);
    lock.lock();
    changed_.notify_all();
  }
}

void JobStore::run(const JobPointer& job) {
  const recipes::JobListener listener{.progress =
                                          [&](double share) {
                                            const std::lock_guard lock(mutex_);
                                            tell_progress(*job, share);
                                          },
                                      .event =
                                          [&](std::string_view name, const Json& event) {
                                            const std::lock_guard lock(mutex_);
                                            tell(*job, name, event);
                                          },
                                      .interrupted = [&] { return job->stops.load(); },
                                      .letters = narrate::letters_json};
  const auto fail = [&](const std::string& why) {
    const std::lock_guard lock(mutex_);
    job->facts.error = why;
    set_state(*job, job->is_removed ? JobState::cancelled : JobState::failed);
  };
  try {
    const recipes::JobResult result =
        recipes::run_job(threads_, files_, job->work, path_of(*job), listener);
    const std::lock_guard lock(mutex_);
    finish(*job, result);
  } catch (const std::bad_alloc&) {
    fail("not enough memory");
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

// With the mutex held.
void JobStore::finish(Job& job, const recipes::JobResult& result) {
  if (result.interrupted) {
    set_state(job, job.is_removed ? JobState::cancelled : JobState::paused);
    return;
  }
  job.facts.progress = 1;
  job.facts.result = result.result;
  if (!result.written.empty()) {
    job.facts.written =
        models_.add(job.facts.name.empty() ? job.facts.id : job.facts.name, result.written);
  }
  tell(job, "result", result.result);
  set_state(job, JobState::done);
}

void JobStore::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    for (const JobPointer& job : jobs_) {
      job->stops = true;
      for (const auto& reply : job->followers) reply->end();
      job->followers.clear();
    }
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace headlight::server::studio
