// Sampler: which id follows, by the logits of a row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headlight::infer {

// In this order, as Hugging Face defines them: the repetition penalty, the temperature, then what
// is kept of the ids by top-k, top-p and min-p, and the draw among the rest.
struct SamplingOptions {
  // Logits of ids that the sequence already holds are divided by it where positive, multiplied by
  // it where negative. 1: none.
  float repetition_penalty = 1;
  float temperature = 0;  // divides the logits; 0: the highest is taken (the lowest id of equals)
  int64_t top_k = 0;      // ids with the k highest logits, equals of the k-th too; 0: all
  float top_p = 1;  // the fewest ids, likeliest first, whose probabilities sum to p or more; 1: all
  float min_p = 0;  // ids at least p times as likely as the likeliest; 0: all
  uint64_t seed = 0;
};

// Ids of the `count` highest logits, the highest first; of equals the lowest id first. All of them,
// where there are fewer.
std::vector<int64_t> top_ids(std::span<const float> logits, size_t count);

// Thread-safe.
class Sampler {
 public:
  // Throws Error(bad_input) for options out of range.
  explicit Sampler(const SamplingOptions& options);

  // An id that may be drawn, and the probability of that; all of them together make 1.
  struct Candidate {
    int64_t id = 0;
    double probability = 0;
  };
  // `history` are the ids that the sequence holds, the prompt's too. Throws Error(failed) for
  // logits with NaN or +infinity among them, or with nothing above -infinity.
  std::vector<Candidate> candidates(std::span<const float> logits,
                                    std::span<const int64_t> history) const;

  // What becomes of each id's logit on the way to its draw.
  struct Stages {
    std::vector<float> penalized = {};  // after the repetition penalty
    std::vector<float> tempered = {};   // divided by the temperature; as they are at temperature 0
    // How many ids each left, and which: bits 1 (top-k), 2 (top-p) and 4 (min-p) of `kept`. At
    // temperature 0 they keep all but none is drawn besides the highest.
    int64_t top_k = 0;
    int64_t top_p = 0;
    int64_t min_p = 0;
    std::vector<uint8_t> kept = {};
    std::vector<double> drawn_with = {};  // as candidates() has it; 0 for those that are cut

    static constexpr uint8_t kTopK = 1, kTopP = 2, kMinP = 4;
  };
  // Throws as candidates() does.
  Stages stages(std::span<const float> logits, std::span<const int64_t> history) const;

  // Which draw it is: the draw depends on these and the seed alone.
  struct Draw {
    uint64_t sequence = 0;
    uint64_t position = 0;
  };
  int64_t choose(std::span<const float> logits, std::span<const int64_t> history,
                 const Draw& draw) const;

  const SamplingOptions& options() const noexcept { return options_; }

 private:
  SamplingOptions options_;
};

}  // namespace headlight::infer
