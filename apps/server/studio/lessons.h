// LessonStore: lessons that were asked for, run once and kept.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "headlight/narrate/narrate.h"

namespace headlight::server::studio {

// Thread-safe. A lesson takes a second or so when it is first asked for.
class LessonStore {
 public:
  explicit LessonStore(base::ThreadPool& threads) : threads_(threads) {}

  // Throws HttpError 404, code "lesson_not_found".
  std::shared_ptr<const narrate::LessonDocument> find(const std::string& name, uint64_t seed);

 private:
  struct Entry {
    std::string name;
    uint64_t seed;
    std::shared_ptr<const narrate::LessonDocument> document;
  };
  base::ThreadPool& threads_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the last asked first
};

}  // namespace headlight::server::studio
