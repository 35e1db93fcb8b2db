// What ranks tell each other, by exchanges between neighbours at distance 1, 2, 4, ...
#include "headlight/ranks/group.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace headlight::ranks {
namespace {

using base::Error;
using base::ErrorKind;

// The ranks that know a text after it has gone to ranks at distance 1, 2, ... of the first.
bool has_it(int rank, int distance) { return rank < distance; }

}  // namespace

Group::Group(Messenger& messenger) : messenger_(&messenger) {
  const int ranks = messenger.count();
  if (std::has_single_bit(static_cast<unsigned>(ranks))) return;
  const auto below = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  throw Error(ErrorKind::usage, "ranks", std::to_string(ranks),
              "their number must be a power of two, such as " + std::to_string(below) + " or " +
                  std::to_string(2 * below));
}

std::string Group::name_of(int rank) const {
  return messenger_ == nullptr ? "rank " + std::to_string(rank) : messenger_->name_of(rank);
}

void Group::wait(const Messenger::Handle& handle) {
  const auto start = std::chrono::steady_clock::now();
  messenger_->wait(handle);
  seconds_waited_ +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Group::exchange(int peer, std::span<const std::byte> out, std::span<std::byte> in) {
  if (out.empty() && in.empty()) return;
  wait(messenger_->start(peer, out, in));
}

std::vector<double> Group::gather(std::span<const double> mine) {
  const auto each = mine.size();
  std::vector<double> all(each * static_cast<size_t>(count()));
  const auto part = [&](int first, int ranks) {
    return std::span(all).subspan(static_cast<size_t>(first) * each,
                                  static_cast<size_t>(ranks) * each);
  };
  std::ranges::copy(mine, part(rank(), 1).begin());
  // Aligned runs of `distance` ranks know each other's numbers.
  for (int distance = 1; distance < count(); distance *= 2) {
    const int own = rank() / distance * distance, peer_first = own ^ distance;
    exchange(rank() ^ distance, std::as_bytes(part(own, distance)),
             std::as_writable_bytes(part(peer_first, distance)));
  }
  return all;
}

std::vector<std::string> Group::gather(const std::string& mine) {
  const double length = static_cast<double>(mine.size());
  const std::vector<double> lengths = gather(std::span(&length, 1));
  std::vector<std::string> all;
  for (const double size : lengths) all.emplace_back(static_cast<size_t>(size), '\0');
  all[static_cast<size_t>(rank())] = mine;
  for (int distance = 1; distance < count(); distance *= 2) {
    const int own = rank() / distance * distance, peer_first = own ^ distance;
    std::string out, in;
    for (int i = 0; i < distance; ++i) {
      out += all[static_cast<size_t>(own + i)];
      in.resize(in.size() + all[static_cast<size_t>(peer_first + i)].size());
    }
    exchange(rank() ^ distance, std::as_bytes(std::span(out)),
             std::as_writable_bytes(std::span(in)));
    size_t read = 0;
    for (int i = 0; i < distance; ++i) {
      std::string& text = all[static_cast<size_t>(peer_first + i)];
      text = in.substr(read, text.size());
      read += text.size();
    }
  }
  return all;
}

std::string Group::from_first(const std::string& text) {
  if (is_alone()) return text;
  const double length = is_first() ? static_cast<double>(text.size()) : 0;
  std::string result(static_cast<size_t>(gather(std::span(&length, 1)).front()), '\0');
  if (is_first()) result = text;
  for (int distance = 1; distance < count(); distance *= 2) {
    if (has_it(rank(), distance)) {
      exchange(rank() + distance, std::as_bytes(std::span(result)), {});
    } else if (has_it(rank(), 2 * distance)) {
      exchange(rank() - distance, {}, std::as_writable_bytes(std::span(result)));
    }
  }
  return result;
}

void Group::from_first(std::span<float> numbers) {
  for (int distance = 1; distance < count(); distance *= 2) {
    for (int from = 0; from < distance; ++from) pass(from, from + distance, numbers);
  }
}

void Group::pass(int from, int to, std::span<float> numbers) {
  constexpr size_t kAtOnce = size_t{1} << 18;
  if (from == to || (rank() != from && rank() != to)) return;
  for (size_t first = 0; first < numbers.size(); first += kAtOnce) {
    const std::span<float> part = numbers.subspan(first, std::min(kAtOnce, numbers.size() - first));
    if (rank() == from) {
      exchange(to, std::as_bytes(part), {});
    } else {
      exchange(from, {}, std::as_writable_bytes(part));
    }
  }
}

bool Group::any(bool mine) {
  const double flag = mine ? 1 : 0;
  const std::vector<double> all = gather(std::span(&flag, 1));
  return std::ranges::any_of(all, [](double each) { return each != 0; });
}

Range Group::own_part(int64_t all) const {
  return {all * rank() / count(), all * (rank() + 1) / count()};
}

void check_same(Group& group, const std::vector<SharedFact>& facts, ErrorKind kind) {
  for (const SharedFact& fact : facts) {
    const std::vector<std::string> all = group.gather(fact.value);
    for (size_t other = 1; other < all.size(); ++other) {
      if (all[other] == all.front()) continue;
      throw Error(kind, "ranks", group.name_of(static_cast<int>(other)),
                  fact.name + " is " + all[other] + ", " + group.name_of(0) + " has " +
                      all.front() + (fact.advice.empty() ? "" : "; " + fact.advice));
    }
  }
}

}  // namespace headlight::ranks
