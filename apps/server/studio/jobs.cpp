// One thread that works, and a list that all may ask.
#include "apps/server/studio/jobs.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <ctime>
#include <deque>
#include <utility>

#include "apps/server/studio/studio.h"

namespace headlight::server::studio {
namespace {

using io::Json;

constexpr std::string_view kKeptText = "(kept in the job's folder)";

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

// The body without what is kept in files of its own.
Json without_texts(const std::string& body) {
  Json request = io::parse_json(body, "body");
  for (Json::Member& member : *request.object()) {
    const bool is_kept =
        member.first == "data_text" || member.first == "ids_text" || member.first == "targets_text";
    if (is_kept && member.second.text() != nullptr) member.second = kKeptText;
  }
  std::erase_if(*request.object(),
                [](const Json::Member& member) { return member.first == "pairs"; });
  return request;
}

std::string event_line(const JobEvent& event) {
  return "id: " + std::to_string(event.number) + "\n" + event_text(event.data, event.name);
}

// Its number; nothing for a folder that no job of ours has.
std::optional<int64_t> number_of_job(const std::string& id) {
  int64_t number = 0;
  if (id.size() < 2 || id[0] != 'j') return std::nullopt;
  const auto [end, failure] = std::from_chars(id.data() + 1, id.data() + id.size(), number);
  if (failure != std::errc() || end != id.data() + id.size()) return std::nullopt;
  return number;
}

}  // namespace

struct JobStore::Job {
  explicit Job(JobFolder place) : folder(std::move(place)) {}

  JobFolder folder;
  JobFacts facts;
  recipes::JobWork work;
  std::atomic<bool> stops = false;  // it is to save itself and leave
  bool is_removed = false;
  bool has_steps = false;  // a training that has something to save
  std::deque<JobEvent> events;
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

JobStore::~JobStore() {
  stop(std::chrono::steady_clock::time_point::max());
  if (thread_.joinable()) thread_.join();
}

void JobStore::read_folder() {
  for (const std::string& id : base::list_directory(files_, options_.folder)) {
    const std::optional<int64_t> number = number_of_job(id);
    if (!number) continue;
    last_number_ = std::max(last_number_, *number);
    if (JobPointer job = read_job(id)) jobs_.push_back(std::move(job));
  }
  // In the order in which they were begun: j10 is after j9.
  std::ranges::sort(jobs_, {}, [](const JobPointer& job) {
    return std::pair(job->facts.id.size(), job->facts.id);
  });
}

// Nothing for a folder that no job of ours has written.
JobStore::JobPointer JobStore::read_job(const std::string& id) {
  auto job = std::make_shared<Job>(JobFolder(files_, options_.folder, id));
  if (!job->folder.is_there()) return nullptr;
  try {
    job->facts = job->folder.read(id);
    job->folder.read_events([&](JobEvent event) {
      job->facts.events = std::max(job->facts.events, event.number);
      keep_event(*job, std::move(event));
    });
    const std::string written = std::exchange(job->facts.written, "");
    const std::string model = job->folder.path(recipes::kJobModel);
    if (!written.empty() && base::exists(files_, model)) {
      job->facts.written = models_.add(written, model);
    }
    return job;
  } catch (const base::Error&) {
    return nullptr;
  }
}

void JobStore::keep_event(Job& job, JobEvent event) {
  job.event_bytes += event.data.size();
  job.events.push_back(std::move(event));
  while (job.event_bytes > options_.event_bytes && job.events.size() > 1) {
    job.event_bytes -= job.events.front().data.size();
    job.events.pop_front();
  }
}

JobFacts JobStore::add(const std::string& body) {
  if (options_.folder.empty()) {
    throw HttpError({.status = 400,
                     .message = "jobs: the server has no folder to keep them in; start it with "
                                "--work DIR",
                     .code = "no_work_folder"});
  }
  const JobOrder order = read_job_order(body, models_.name_of);
  try {
    recipes::check_job(files_, order.work);
  } catch (const base::Error& error) {
    throw HttpError(fields_of(error, field_of_refusal(error.what())));
  }
  JobFacts facts{.kind = order.kind,
                 .name = order.name,
                 .model = order.model,
                 .created = now_text(),
                 .request = without_texts(body)};
  const std::lock_guard lock(mutex_);
  if (is_stopping_) refuse_busy("the server stops");
  if (jobs_.size() >= options_.jobs) {
    refuse_busy("there are " + std::to_string(jobs_.size()) + " jobs, at most " +
                std::to_string(options_.jobs) + " are kept; delete one");
  }
  facts.id = "j" + std::to_string(++last_number_);
  auto job = std::make_shared<Job>(JobFolder(files_, options_.folder, facts.id));
  job->facts = std::move(facts);
  job->work = order.work;
  job->folder.make();
  const std::pair<std::string_view, const std::string&> kept[] = {
      {recipes::kJobData, order.data_text},
      {recipes::kJobIds, order.ids_text},
      {recipes::kJobTargets, order.targets_text},
      {recipes::kJobPairs, order.pairs_text}};
  for (const auto& [name, text] : kept) {
    if (!text.empty()) job->folder.put(name, text);
  }
  job->folder.save(job->facts);
  jobs_.push_back(job);
  changed_.notify_all();
  return job->facts;
}

std::vector<JobFacts> JobStore::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<JobFacts> all;
  for (auto job = jobs_.rbegin(); job != jobs_.rend(); ++job) all.push_back((*job)->facts);
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
  return find(id)->facts;
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
  return job->facts;
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
  return job->facts;
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
  lock.unlock();
  job->folder.remove();
}

void JobStore::set_state(Job& job, JobState state) {
  job.facts.state = state;
  try {
    job.folder.save(job.facts);
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
  JobEvent told{++job.facts.events, std::string(name), io::json_text(event)};
  job.folder.add(told);
  const std::string line = event_line(told);
  std::erase_if(job.followers, [&](const auto& reply) { return !reply->write_or_drop(line); });
  keep_event(job, std::move(told));
}

// A few times a second; nobody needs them again.
void JobStore::tell_progress(Job& job, double share) {
  const auto now = std::chrono::steady_clock::now();
  job.facts.progress = share;
  job.has_steps = std::holds_alternative<recipes::TrainJob>(job.work);
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
    for (const JobEvent& event : job->events) {
      if (event.number <= after) continue;
      text += event_line(event);
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
    next->has_steps = false;
    at_work_ = next;
    lock.unlock();
    run(next);
    lock.lock();
    at_work_ = nullptr;
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
        recipes::run_job(threads_, files_, job->work, job->folder.path(), listener);
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

void JobStore::begin_stop() {
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
}

bool JobStore::stop(std::chrono::steady_clock::time_point until) {
  begin_stop();
  std::unique_lock lock(mutex_);
  const auto has_ended = [&] { return at_work_ == nullptr; };
  if (changed_.wait_until(lock, until, has_ended)) return true;
  if (!at_work_->has_steps) return false;
  changed_.wait(lock, has_ended);
  return true;
}

}  // namespace headlight::server::studio
