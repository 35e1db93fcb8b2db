// The loop: steps, evaluations and checkpoints until a run is done.
#pragma once

#include <functional>

#include "headlight/train/checkpoint.h"

namespace headlight::train {

struct LoopOptions {
  int64_t max_iters = 0;
  int64_t eval_interval = 0;  // steps between evaluations, each of which is saved; 0: at the end
  int64_t patience = 0;       // evaluations without a better one before it stops; 0: any number
};

// What happens, told as it happens. All may be empty.
struct LoopEvents {
  std::function<void(const StepResult&)> step = {};
  std::function<void()> evaluating = {};  // before it, since it may take a while
  std::function<void(int64_t step, double valid_loss)> evaluation = {};
  // Before a checkpoint is written: what is kept beside it is never behind it.
  std::function<void(int64_t step)> saving = {};
  std::function<void(int64_t step)> checkpoint = {};
  // Asked after each step and before each batch of an evaluation; true: save and leave.
  std::function<bool()> interrupted = {};
};

enum class Outcome { finished, no_more_progress, interrupted };

// Goes on from where the trainer stands; a run that was over is still over. The last step is always
// evaluated and saved. Throws what steps and saves throw; the last checkpoint is then as it was.
Outcome run_loop(Trainer& trainer, Checkpoints& checkpoints, const LoopOptions& options,
                 const LoopEvents& events);

}  // namespace headlight::train
