// JobFolder: what is kept of a job on the disk, so that it outlives the server.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "headlight/base/base.h"
#include "headlight/io/io.h"

namespace headlight::server::studio {

enum class JobState { queued, running, paused, done, failed, cancelled };
std::string_view name_of(JobState state);
// Nothing more happens by itself.
bool is_over(JobState state);

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

struct JobEvent {
  int64_t number = 0;
  std::string name = {};
  std::string data = {};  // JSON
};

// job.json, which is whole at any time, events.jsonl, to which lines are added, and what the work
// itself writes.
class JobFolder {
 public:
  // `jobs`: the folder of all jobs. Nothing is made or read here.
  JobFolder(base::FileSystem& files, const std::string& jobs, const std::string& id)
      : files_(files), path_(jobs + "/" + id) {}

  const std::string& path() const { return path_; }
  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Whether the job was made here; what a process that was killed has left of a new one is none.
  bool is_there() const;
  void make() const;

  // Throws Error(failed) and the like: the disk may be full.
  void save(const JobFacts& facts) const;
  void put(std::string_view name, const std::string& text) const;
  // What cannot be written is left out: the job goes on without it.
  void add(const JobEvent& event) const;

  // As it was saved; what was at work then is paused. Throws Error(bad_input).
  JobFacts read(const std::string& id) const;
  // In order; a line that a killed process has left half-written is none, and ends there.
  void read_events(const std::function<void(JobEvent)>& take) const;

  // First the file that says that there is a job.
  void remove() const;

 private:
  base::FileSystem& files_;
  std::string path_;
};

}  // namespace headlight::server::studio
