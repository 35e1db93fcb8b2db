// JobStore: long work in folders of the work folder, one at a time, told to whoever listens.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "apps/server/http/http.h"
#include "apps/server/studio/job_folder.h"
#include "apps/server/studio/job_order.h"

namespace headlight::server::studio {

// Thread-safe. What was at work when the server ended is paused when it begins again.
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

  // Interrupts what is at work, which saves itself.
  void begin_stop();
  // The same, and waits for it: for a training until it has saved its last step, for other work no
  // longer than until then. False: that still computes; what it has finished is kept.
  bool stop(std::chrono::steady_clock::time_point until);

 private:
  struct Job;
  using JobPointer = std::shared_ptr<Job>;

  void read_folder();
  JobPointer read_job(const std::string& id);
  JobPointer find(const std::string& id) const;
  void keep_event(Job& job, JobEvent event);
  void tell(Job& job, std::string_view name, const io::Json& event);
  void tell_progress(Job& job, double share);
  void set_state(Job& job, JobState state);
  void work();
  void run(const JobPointer& job);
  void finish(Job& job, const recipes::JobResult& result);

  base::ThreadPool& threads_;
  base::FileSystem& files_;
  Options options_;
  Models models_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<JobPointer> jobs_;
  int64_t last_number_ = 0;
  JobPointer at_work_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace headlight::server::studio
