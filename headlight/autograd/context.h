// Context: all that an operation needs besides its inputs. There are no globals; two Contexts know
// nothing of each other.
#pragma once

#include <cstdint>
#include <string_view>

#include "headlight/kernels/kernels.h"

namespace headlight::autograd {

class Intervention;
class Observer;
class Tape;

// The whole state of the random numbers: what is drawn depends on seed, step, the name of the place
// that draws, and the number of the sequence. A part of a batch draws what it would draw in the
// whole one.
struct RandomState {
  uint64_t seed = 0;
  uint64_t step = 0;
  int64_t first_sequence = 0;  // of the whole batch
};

// What was done on top of the run itself.
struct Statistics {
  int64_t scores_reconstructed = 0;  // scores computed again for an observer
};

// Made with designated initialisers:
//   Context context{.threads = pool, .arena = arena, .tape = &tape};
// What it points to is the caller's and outlives it. One thread uses a Context at a time.
struct Context {
  base::ThreadPool& threads;
  tensor::Arena& arena;
  Tape* tape = nullptr;                  // null: nothing is recorded
  Observer* observer = nullptr;          // null: nobody looks
  Intervention* intervention = nullptr;  // null: nothing is changed
  RandomState random = {};
  bool training = false;  // dropout happens only in training
  Statistics statistics = {};

  kernels::Execution execution() const { return {threads, arena}; }
  // The key of the draws at `place` in this step.
  uint64_t random_key(std::string_view place) const {
    return base::mix(base::mix(random.seed, random.step), base::name_key(place));
  }
};

}  // namespace headlight::autograd
