// GeneratingLoop: what the generating thread does between two looks at its queue. One thread uses
// it.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>

#include "apps/server/openai/generating_thread.h"

namespace headlight::server::openai {

class GeneratingLoop {
 public:
  // References outlive it. `forget` is told of each work once, when the loop lets go of it.
  struct Setting {
    const models::Model& model;
    base::ThreadPool& threads;
    const GeneratingLimits& limits;
    GenerationMetrics& metrics;
    std::function<void(const QueuedWork&)> forget;
  };
  explicit GeneratingLoop(Setting setting);

  void take(std::vector<QueuedWork>& arrivals);
  bool is_idle() const { return generations_.empty() && turns_.empty(); }
  // Lets go of what is cancelled, begins what has a place, and moves everything by one id.
  void step();
  void fail_all(const std::exception_ptr& problem);

 private:
  // A work of which some groups of continuations are in the batch and others are still to begin.
  struct Generation {
    QueuedWork queued;
    size_t next_part = 0;
    int64_t next_continuation = 0;  // of that part
    size_t groups = 0;              // in the batch
    bool has_begun = false;
    bool has_token = false;

    bool has_more() const { return next_part < queued.work->parts.size(); }
  };
  using Place = std::list<Generation>::iterator;
  struct Group {
    Place generation;
    size_t part = 0;
    int64_t first_continuation = 0;
    int64_t open = 0;  // continuations that go on
  };

  void drop_cancelled();
  void begin_groups();
  bool begin_next(Place place);
  int64_t group_size(infer::GenerationRequest& request, int64_t left) const;
  void run_batch();
  void run_turn();
  void tell(const infer::RequestEvent& event);
  void close(std::map<uint64_t, Group>::iterator group);
  void fail(Place place, const std::exception_ptr& problem);
  // Takes it out of the batch and forgets it.
  void remove(Place place);
  void observe_end(const QueuedWork& queued);
  void publish();

  Setting setting_;
  tensor::Arena arena_;
  autograd::Context context_;
  std::unique_ptr<infer::RequestBatch> batch_;  // once there is something to write
  std::list<Generation> generations_;           // the next one to begin a group first
  std::map<uint64_t, Group> groups_;            // by their number in the batch
  int64_t sequences_ = 0;                       // in the batch
  std::deque<QueuedWork> turns_;
};

}  // namespace headlight::server::openai
