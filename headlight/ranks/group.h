// Group: the ranks of a run as those see it who work in one of them. All ranks call the same
// functions in the same order.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headlight/base/base.h"
#include "headlight/ranks/messenger.h"
#include "headlight/ranks/shares.h"

namespace headlight::ranks {

// One process alone, or one of a power of two. Everything that it gives is the same on all ranks. A
// call throws Error(failed) when a rank has gone.
class Group {
 public:
  Group() = default;  // alone
  // Throws Error(usage) when the number of ranks is no power of two. The messenger must outlive it.
  explicit Group(Messenger& messenger);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const noexcept { return messenger_ == nullptr ? 0 : messenger_->rank(); }
  int count() const noexcept { return messenger_ == nullptr ? 1 : messenger_->count(); }
  bool is_alone() const noexcept { return count() == 1; }
  bool is_first() const noexcept { return rank() == 0; }
  std::string name_of(int rank) const;
  // How many are on this one's machine.
  int ranks_here() const { return messenger_ == nullptr ? 1 : messenger_->ranks_here(); }

  // Everybody's numbers in the order of ranks; all give equally many.
  std::vector<double> gather(std::span<const double> mine);
  // Everybody's text in the order of ranks.
  std::vector<std::string> gather(const std::string& mine);
  // The first rank's text, and its numbers.
  std::string from_first(const std::string& text);
  void from_first(std::span<float> numbers);
  // From one rank to another; the others do nothing.
  void pass(int from, int to, std::span<float> numbers);
  // Whether it is so on any rank.
  bool any(bool mine);

  // Of `count` pieces of independent work, those of this rank: runs that differ by at most one.
  Range own_part(int64_t count) const;

  // Between two ranks, at the same time; either side may be empty.
  void exchange(int peer, std::span<const std::byte> out, std::span<std::byte> in);
  Messenger& messenger() { return *messenger_; }

  // Seconds spent waiting for others and for bytes, since the start.
  double seconds_waited() const noexcept { return seconds_waited_; }
  void wait(const Messenger::Handle& handle);

 private:
  Messenger* messenger_ = nullptr;
  double seconds_waited_ = 0;
};

// A fact that has to be the same on all ranks.
struct SharedFact {
  std::string name;         // "the version of the program"
  std::string value;        // short; long ones as a checksum
  std::string advice = {};  // what to do when it differs
};
// Throws an Error of this kind that names the fact, the rank and both values where they differ.
void check_same(Group& group, const std::vector<SharedFact>& facts, base::ErrorKind kind);

}  // namespace headlight::ranks
