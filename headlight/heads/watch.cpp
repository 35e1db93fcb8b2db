// Pieces one after the other, or spread.
#include "headlight/heads/watch.h"

namespace headlight::heads {

Watch Watch::part(double begin, double end) const {
  Watch inner = quiet();
  if (progress) {
    inner.progress = [outer = progress, begin, end](double share) {
      outer(begin + share * (end - begin));
    };
  }
  return inner;
}

bool run_pieces(int64_t count, const Watch& watch, const Pieces& pieces) {
  return watch.spread ? watch.spread(count, watch, pieces)
                      : run_pieces_here(0, count, watch, pieces);
}

bool run_pieces_here(int64_t first, int64_t end, const Watch& watch, const Pieces& pieces) {
  const auto count = static_cast<double>(end - first);
  for (int64_t i = first; i < end; ++i) {
    if (watch.stops()) return false;
    const auto done = static_cast<double>(i - first);
    Watch own = watch.part(done / count, (done + 1) / count);
    own.spread = {};  // others are elsewhere
    const auto numbers = pieces.work(i, own);
    if (!numbers) return false;
    pieces.take(i, *numbers);
    watch.tell(i + 1 - first, end - first);
  }
  return true;
}

}  // namespace headlight::heads
