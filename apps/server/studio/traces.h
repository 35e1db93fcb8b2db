// TraceStore: traces that can be asked by their ids, as many as there is room for.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>

#include "apps/server/models.h"
#include "headlight/narrate/narrate.h"

namespace headlight::server::studio {

// A trace belongs to who holds its mutex.
struct KeptTrace {
  std::string id;
  std::string model;                          // the id of the model; "worked"
  std::shared_ptr<const ServedModel> served;  // null: the worked one
  std::unique_ptr<narrate::TraceDocument> document;
  uint64_t bytes = 0;
  std::mutex mutex;
  std::shared_mutex model_mutex;  // of the model, which some measurements change for a while

  // The run that a request names; the last where it names none. Throws HttpError 400.
  size_t run_at(std::optional<int64_t> run) const;
};

// Thread-safe.
class TraceStore {
 public:
  struct Limits {
    size_t traces = 16;
    uint64_t bytes = uint64_t{1} << 30;
  };
  explicit TraceStore(const Limits& limits);

  const Limits& limits() const { return limits_; }
  // Gives it an id; those that were asked longest ago leave. Throws HttpError 413 for one that is
  // larger than all may be.
  std::shared_ptr<KeptTrace> add(std::unique_ptr<KeptTrace> trace);
  // Throws HttpError 404, code "trace_not_found".
  std::shared_ptr<KeptTrace> find(const std::string& id);
  void remove(const std::string& id);
  uint64_t bytes() const;
  size_t size() const;

 private:
  using Place = std::list<std::shared_ptr<KeptTrace>>::iterator;
  Place place_of(const std::string& id);

  Limits limits_;
  mutable std::mutex mutex_;
  std::list<std::shared_ptr<KeptTrace>> traces_;  // the last asked first
  uint64_t key_;                                  // ids of another server are none of this
  uint64_t count_ = 0;
};

}  // namespace headlight::server::studio
