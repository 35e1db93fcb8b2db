// What each attention head looks at, measured.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/io/io.h"
#include "headlight/models/models.h"

namespace headlight::heads {

enum class HeadRole {
  previous,
  next,
  first,
  self,
  rarest,
  one_token,
  uniform,
  induction,  // these two show on repeated texts only: see behaviour.h
  duplicate,
  none
};
std::string_view name_of(HeadRole role);

// Rows that see at least two keys count. A head is `uniform` when its entropy is at least 0.95 of
// the largest possible; or else it has the role whose keys get the largest share of the weights,
// when that share is at least one half: the key before, the key after, the first key, the key
// itself, the rarest key that the row sees, where that is another than the first, or one and the
// same key from all rows. Shares are of rows that see such a key, at least half of all; those of
// previous, next and self are of self-attention only. Of roles with the same share the first one
// named here counts. `measure` is the number that decided: the share, or the entropy's; of `none`
// the largest share.
//
// `selectivity` says how clearly different rows look at different keys: the entropy of the mean row
// less the mean entropy of the rows. It is 0 when all rows look alike, whether at one key or at all
// of them, and largest when each looks at one key of its own.
struct HeadStatistics {
  std::string place;            // "encoder.0.self"
  int64_t head = 0;             // its number, as it was before any was pruned
  double entropy = 0;           // natural logarithm, mean over rows
  double relative_entropy = 0;  // of the largest possible, mean over rows, 0 to 1
  double mean_distance = 0;     // sum of weight * |i - j|, mean over rows
  HeadRole role = HeadRole::none;
  double measure = 0;
  int64_t key = -1;              // of one_token: the position of that key
  double selectivity = 0;        // natural logarithm
  double output_difference = 0;  // the largest |A V - O|: reconstructed weights times values
                                 // against the engine's head output

  std::string name() const { return place + "." + std::to_string(head); }
};

// Of all heads in the recording of a run on this batch, in order. `counts` of each id (e.g. in a
// training text) say what is rare; without them the ids of the text itself are counted. A tie has
// no rarest key.
std::vector<HeadStatistics> head_statistics(base::ThreadPool& threads,
                                            const autograd::Recording& recording,
                                            const models::Batch& batch,
                                            const std::vector<int64_t>& counts = {});

// {"name", "place", "head", "entropy", "relative_entropy", "mean_distance", "role", "measure",
// "key", "selectivity", "output_difference"}; "key" is null but of one_token.
io::Json head_json(const HeadStatistics& head);

}  // namespace headlight::heads
