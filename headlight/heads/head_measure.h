// HeadMeasure: what one head looks at, gathered row by row. For heads' own use.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "headlight/heads/head_statistics.h"

namespace headlight::heads {

// A mean over the rows that have a say.
struct RowMean {
  double sum = 0;
  int64_t count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  void add(const RowMean& other) {
    sum += other.sum;
    count += other.count;
  }
  double value() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

// Rows may be of several texts.
class HeadMeasure {
 public:
  explicit HeadMeasure(bool is_self) : is_self_(is_self) {}

  // The keys that the row sees are those whose masked score is not -infinity. `key_counts`: how
  // common each key is, as many as there are keys.
  void add_row(int64_t row, const float* masked_scores, const float* weights,
               std::span<const int64_t> key_counts);

  // The rows of another one, which are of other texts.
  void add(const HeadMeasure& other);
  // All that it has gathered, appended to numbers; and read from there, which moves `at` past it.
  void append_to(std::vector<double>& numbers) const;
  void read_from(const std::vector<double>& numbers, size_t& at);

  // Everything but place, head and output_difference.
  void write(HeadStatistics& to) const;
  int64_t rows() const { return entropy_.count; }
  double confidence() const { return confidence_.value(); }
  // Mean weight of the first key that a row sees.
  double first_share() const { return shares_[kFirst].value(); }

 private:
  static constexpr std::array<HeadRole, 5> kRoles = {
      HeadRole::previous, HeadRole::next, HeadRole::first, HeadRole::self, HeadRole::rarest};
  static constexpr size_t kFirst = 2;  // of the roles

  bool take(HeadRole role, const RowMean& share, HeadStatistics& to) const;
  double selectivity() const;
  std::optional<int64_t> key_of(HeadRole role, int64_t row, const std::vector<int64_t>& seen,
                                std::span<const int64_t> key_counts) const;

  bool is_self_;
  RowMean entropy_, relative_, distance_, confidence_;
  std::array<RowMean, kRoles.size()> shares_;
  std::vector<RowMean> keys_;  // what each key gets of the rows that see it
};

// How often each of these ids stands among them or, where `counts` says it for each id, there.
std::vector<int64_t> id_counts(std::span<const int64_t> ids, const std::vector<int64_t>& counts);

}  // namespace headlight::heads
