// Watch: what long work tells and asks, and who else does pieces of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace headlight::heads {

struct Watch;

// Work in pieces that do not depend on each other. All that a piece finds out is in its numbers:
// whoever has them knows what the process knows that did it.
struct Pieces {
  // Of one piece; nothing when it was told to stop by the watch that it is given.
  std::function<std::optional<std::vector<double>>(int64_t index, const Watch& watch)> work;
  // Told what each has given, in the order of the pieces.
  std::function<void(int64_t index, const std::vector<double>& numbers)> take;
};

// Where several processes run the same experiment: each does some of `count` pieces, the first
// process the first of them, and takes them all. False when any of them was told to stop: then some
// are missing.
using Spread = std::function<bool(int64_t count, const Watch& watch, const Pieces& pieces)>;

// Long work tells the share that is done, from 0 to 1, and asks whether it is to stop. Where it is
// spread over several processes, all of them ask at the same time and get the same answer, but in
// pieces, which have a watch of their own.
struct Watch {
  std::function<void(double share)> progress = {};
  std::function<bool()> interrupted = {};
  Spread spread = {};  // empty: all of it is done here

  void tell(int64_t done, int64_t all) const {
    if (progress && all > 0) progress(static_cast<double>(done) / static_cast<double>(all));
  }
  bool stops() const { return interrupted && interrupted(); }
  // Of work that is the part [begin, end] of a whole.
  Watch part(double begin, double end) const;
  // Of work that tells nothing.
  Watch quiet() const { return {.interrupted = interrupted, .spread = spread}; }
};

// Does the pieces, and takes them all; false when it was told to stop.
bool run_pieces(int64_t count, const Watch& watch, const Pieces& pieces);
// Pieces [first, end) one after the other in this process.
bool run_pieces_here(int64_t first, int64_t end, const Watch& watch, const Pieces& pieces);

}  // namespace headlight::heads
