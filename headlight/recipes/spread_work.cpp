// Pieces in rounds: in each round every rank does a run of pieces, then all know them all.
#include "headlight/recipes/spread_work.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "headlight/recipes/experiment_state.h"

namespace headlight::recipes {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSecondsOfRound = 1;  // about: what is finished is told after each
constexpr double kMostPieces = 1 << 20;

// What a rank has done in a round.
struct RoundPart {
  bool is_whole = true;  // it was not told to stop
  double seconds = 0;
  std::vector<std::vector<double>> pieces = {};  // from its first one on
};

std::string bytes_of(const RoundPart& part) {
  std::vector<double> numbers = {part.is_whole ? 1.0 : 0.0, part.seconds,
                                 static_cast<double>(part.pieces.size())};
  for (const std::vector<double>& piece : part.pieces) {
    numbers.push_back(static_cast<double>(piece.size()));
    numbers.insert(numbers.end(), piece.begin(), piece.end());
  }
  std::string bytes(numbers.size() * sizeof(double), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

RoundPart part_of(const std::string& bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  RoundPart part{.is_whole = numbers[0] != 0, .seconds = numbers[1]};
  auto at = numbers.begin() + 3;
  for (auto left = static_cast<size_t>(numbers[2]); left > 0; --left) {
    const auto size = static_cast<int64_t>(*at++);
    part.pieces.emplace_back(at, at + size);
    at += size;
  }
  return part;
}

class SpreadPieces {
 public:
  // `watch`: of this rank alone.
  SpreadPieces(ranks::Group& group, int64_t count, heads::Watch watch, const heads::Pieces& pieces)
      : group_(group), count_(count), watch_(std::move(watch)), pieces_(pieces) {}

  bool run() {
    while (first_ < count_) {
      const int64_t size = std::min(count_ - first_, each_ * group_.count());
      if (!run_round(size)) return false;
      first_ += size;
    }
    return true;
  }

 private:
  // The first ranks have one more, where they are not equally many; a single one is the first's.
  int64_t begin_of(int rank, int64_t size) const {
    const int64_t ranks = group_.count();
    return first_ + size / ranks * rank + std::min<int64_t>(rank, size % ranks);
  }

  RoundPart own_part(int64_t size) {
    RoundPart own;
    const auto share = [this](int64_t done) {
      return static_cast<double>(done) / static_cast<double>(count_);
    };
    const heads::Pieces keeping{.work = pieces_.work,
                                .take = [&own](int64_t, const std::vector<double>& numbers) {
                                  own.pieces.push_back(numbers);
                                }};
    const Clock::time_point start = Clock::now();
    own.is_whole =
        heads::run_pieces_here(begin_of(group_.rank(), size), begin_of(group_.rank() + 1, size),
                               watch_.part(share(first_), share(first_ + size)), keeping);
    own.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return own;
  }

  bool run_round(int64_t size) {
    const std::vector<std::string> all = group_.gather(bytes_of(own_part(size)));
    bool is_whole = true;
    double seconds = 0;
    for (int rank = 0; rank < group_.count(); ++rank) {
      const RoundPart part = part_of(all[static_cast<size_t>(rank)]);
      int64_t index = begin_of(rank, size);
      for (const std::vector<double>& numbers : part.pieces) pieces_.take(index++, numbers);
      is_whole = is_whole && part.is_whole;
      seconds = std::max(seconds, part.seconds);
    }
    const double of_each = seconds / static_cast<double>(each_);
    each_ = static_cast<int64_t>(
        std::clamp(kSecondsOfRound / std::max(of_each, 1e-9), 1.0, kMostPieces));
    return is_whole;
  }

  ranks::Group& group_;
  int64_t count_;
  heads::Watch watch_;
  const heads::Pieces& pieces_;
  int64_t first_ = 0;  // of the round
  int64_t each_ = 1;   // pieces of a rank in it
};

}  // namespace

heads::Watch spread_over(ranks::Group& group, const heads::Watch& watch) {
  if (group.is_alone()) return watch;
  heads::Watch spread{.progress = watch.progress};
  if (watch.interrupted) {
    spread.interrupted = [&group, own = watch.interrupted] { return group.any(own()); };
  }
  spread.spread = [&group, own = watch.interrupted](int64_t count, const heads::Watch& all,
                                                    const heads::Pieces& pieces) {
    return SpreadPieces(group, count, {.progress = all.progress, .interrupted = own}, pieces).run();
  };
  return spread;
}

void check_same_request(ranks::Group& group, base::FileSystem& files, const LoadedModel& loaded,
                        const SharedRequest& request) {
  if (group.is_alone()) return;
  std::string names;  // whose values can be compared where all have the same
  std::vector<ranks::SharedFact> options, sums;
  const auto add_name = [&](const std::string& name) {
    names += (names.empty() ? "" : ", ") + name;
  };
  const auto add_sum = [&](const std::string& of, const std::string& sum) {
    sums.push_back({"the checksum of " + of, sum, "every machine needs the same files"});
  };
  for (const auto& [name, value] : request.asked) {
    add_name(name);
    options.push_back({name, io::json_text(value)});
  }
  for (const auto& [name, sum] : request.read) {
    add_name(name);
    add_sum(name, io::json_text(sum));
  }
  add_sum("the model", model_sum(*loaded.model));
  add_sum("its tokenizer", tokenizer_sum(files, loaded));
  ranks::check_same(group, {{"what is asked for", names}}, base::ErrorKind::usage);
  ranks::check_same(group, options, base::ErrorKind::usage);
  ranks::check_same(group, sums, base::ErrorKind::bad_input);
}

}  // namespace headlight::recipes
