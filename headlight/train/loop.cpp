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
    // A run that is resumed may stand where an evaluation is due.
    while (true) {
      if (is_evaluation_due()) {
        evaluate();
        save();
      }
      const Progress& progress = trainer_.progress();
      if (options_.patience > 0 && progress.evaluations_since_best >= options_.patience)
        return Outcome::no_more_progress;
      if (progress.step >= options_.max_iters) return Outcome::finished;
      const StepResult result = trainer_.step();
      if (events_.step) events_.step(result);
      if (events_.interrupted && events_.interrupted()) {
        save();
        return Outcome::interrupted;
      }
    }
  }

 private:
  bool is_evaluation_due() const {
    const Progress& progress = trainer_.progress();
    if (progress.step == progress.evaluated_step) return false;
    return progress.step >= options_.max_iters ||
           (options_.eval_interval > 0 && progress.step % options_.eval_interval == 0);
  }

  void evaluate() {
    if (events_.evaluating) events_.evaluating();
    const double loss = trainer_.evaluate();
    if (events_.evaluation) events_.evaluation(trainer_.progress().step, loss);
  }

  void save() {
    const int64_t step = trainer_.progress().step;
    if (events_.saving) events_.saving(step);
    checkpoints_.save(trainer_);
    if (events_.checkpoint) events_.checkpoint(step);
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
