// JobStore: long work in folders of the work folder, one at a time, told to whoever listens.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "apps/server/http/http.h"
#include "apps/server/studio/job_order.h"

namespace headlight::server::studio {

enum class JobState { queued, running, paused, done, failed, cancelled };
std::string_view name_of(JobState state);

// What is known of a job; a copy.
struct JobFacts {
  std::string id = {};
  std::string kind = {};
  std::string name = {};
  std::string model = {};
  JobState state = JobState::queued;
  std::string created = {};  // "2026-11-17T16:02:11Z"
  double progress = 0;
  std::string error = {};    // of one that failed
  std::string written = {};  // the id of the model that it became
  int64_t events = 0;        // so far
  io::Json request = {};
  io::Json result = {};
};
// {"id", "kind", "name", "model", "state", "created", "progress", "error", "written", "events"}
// and, where they are wanted, "request" and "result".
io::Json job_json(const JobFacts& facts, bool whole);

// Thread-safe. A job's folder holds job.json, events.jsonl, data.txt and what the work writes; each
// file is whole at any time. What was at work when the server ended is paused when it begins again.
class JobStore {
 public:
  struct Options {
    std::string folder = {};          // empty: there are no jobs
    size_t jobs = 64;                 // more is 503
    uint64_t event_bytes = 16 << 20;  // of each job that are kept in memory; the first leave
  };
  // `add_model`: told of each folder that a job has written, with the id it is to have; gives the
  // id that it has. `remove_model`: of a job that is deleted.
  struct Models {
    std::function<std::string(const std::string& id)> name_of;
    std::function<std::string(const std::string& id, const std::string& folder)> add;
    std::function<void(const std::string& id)> remove;
  };
  // Reads what is in the folder.
  JobStore(base::ThreadPool& threads, base::FileSystem& files, Options options, Models models);
  ~JobStore();  // stops
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;

  // Throws HttpError 400 for a body that is none and without a folder, 503 when there are too many.
  JobFacts add(const std::string& body);
  std::vector<JobFacts> list() const;  // the newest first
  // These throw HttpError 404, and 409 for a job in another state.
  JobFacts at(const std::string& id) const;
  JobFacts pause(const std::string& id);
  JobFacts resume(const std::string& id);
  void remove(const std::string& id);

  // Writes the job's events after number `after`, then those that come, until the job ends or the
  // client goes. The first part may wait for the client.
  void follow(const std::string& id, int64_t after, const std::shared_ptr<Reply>& reply);

  // Interrupts what is at work, which saves itself, and waits for it.
  void stop();

 private:
  struct Event {
    int64_t number = 0;
    std::string name = {};
    std::string data = {};  // JSON
  };
  struct Job;
  using JobPointer = std::shared_ptr<Job>;

  void read_folder();
  JobPointer read_job(const std::string& id);
  JobPointer find(const std::string& id) const;
  JobFacts facts_of(const Job& job) const;
  void read_events(Job& job);
  void keep_event(Job& job, Event event);
  void save(const Job& job);
  void tell(Job& job, std::string_view name, const io::Json& event);
  void tell_progress(Job& job, double share);
  void set_state(Job& job, JobState state);
  void work();
  void run(const JobPointer& job);
  void finish(Job& job, const recipes::JobResult& result);
  std::string path_of(const Job& job) const;

  base::ThreadPool& threads_;
  base::FileSystem& files_;
  Options options_;
  Models models_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<JobPointer> jobs_;
  int64_t last_number_ = 0;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace headlight::server::studio
