// The order of things in a run.
#include "headlight/train/loop.h"

namespace headlight::train {
namespace {

class Loop {
 public:
  Loop(Trainer& trainer, Checkpoints& checkpoints, const LoopOptions& options,
       const LoopEvents& events)
      : trainer_(trainer), checkpoints_(checkpoints), options_(options), events_(events) {}

  Outcome run() {
    while (trainer_.progress().step < options_.max_iters) {
      const StepResult result = trainer_.step();
      if (events_.step) events_.step(result);
      if (is_evaluated(result.step)) {
        evaluate();
        save();
        if (options_.patience > 0 &&
            trainer_.progress().evaluations_since_best >= options_.patience) {
          return Outcome::no_more_progress;
        }
      }
      if (result.step < options_.max_iters && events_.interrupted && events_.interrupted()) {
        if (!is_evaluated(result.step)) save();
        return Outcome::interrupted;
      }
    }
    return Outcome::finished;
  }

 private:
  bool is_evaluated(int64_t step) const {
    return step == options_.max_iters ||
           (options_.eval_interval > 0 && step % options_.eval_interval == 0);
  }

  void evaluate() {
    const double loss = trainer_.evaluate();
    if (events_.evaluation) events_.evaluation(trainer_.progress().step, loss);
  }

  void save() {
    const auto write = [this] { checkpoints_.save(trainer_); };
    if (events_.saving) {
      events_.saving(write);
    } else {
      write();
    }
    if (events_.checkpoint) events_.checkpoint(trainer_.progress().step);
  }

  Trainer& trainer_;
  Checkpoints& checkpoints_;
  const LoopOptions& options_;
  const LoopEvents& events_;
};

}  // namespace

Outcome run_loop(Trainer& trainer, Checkpoints& checkpoints, const LoopOptions& options,
                 const LoopEvents& events) {
  return Loop(trainer, checkpoints, options, events).run();
}

}  // namespace headlight::train
