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
        const bool is_evaluated = evaluate();
        save();
        if (!is_evaluated) return Outcome::interrupted;
      }
      const Progress& progress = trainer_.progress();
      if (options_.patience > 0 && progress.evaluations_since_best >= options_.patience)
        return Outcome::no_more_progress;
      if (progress.step >= options_.max_iters) return Outcome::finished;
      const StepResult result = trainer_.step();
      if (events_.step) events_.step(result);
      if (is_interrupted()) {
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

  bool is_interrupted() const { return events_.interrupted && events_.interrupted(); }

  // False: it was interrupted, and is due again when the run is resumed.
  bool evaluate() {
    struct Interrupted {};
    if (events_.evaluating) events_.evaluating();
    double loss = 0;
    try {
      loss = trainer_.evaluate([this](double) {
        if (is_interrupted()) throw Interrupted();
      });
    } catch (const Interrupted&) {
      return false;
    }
    if (events_.evaluation) events_.evaluation(trainer_.progress().step, loss);
    return true;
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
