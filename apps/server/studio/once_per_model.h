// OncePerModel: what is measured of a model once, when it is first asked for.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "apps/server/models.h"

namespace headlight::server::studio {

// Thread-safe; who comes while it is measured waits for it, and for no other model. A model that is
// opened anew under an old id is measured anew.
template <class Result>
class OncePerModel {
 public:
  // What `measure` throws is thrown, and the next who asks measures again.
  template <class Measure>
  std::shared_ptr<const Result> of(const std::shared_ptr<const ServedModel>& served,
                                   const Measure& measure) {
    const std::shared_ptr<Entry> entry = entry_of(served);
    const std::lock_guard lock(entry->mutex);
    if (entry->result == nullptr) entry->result = std::make_shared<const Result>(measure());
    return entry->result;
  }

 private:
  struct Entry {
    std::mutex mutex = {};
    std::weak_ptr<const ServedModel> model = {};
    std::shared_ptr<const Result> result = {};
  };

  std::shared_ptr<Entry> entry_of(const std::shared_ptr<const ServedModel>& served) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Entry>& entry = entries_[served->id];
    if (entry == nullptr || entry->model.lock() != served) {
      entry = std::make_shared<Entry>();
      entry->model = served;
    }
    return entry;
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;  // by id
};

}  // namespace headlight::server::studio
