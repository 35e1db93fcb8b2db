// Halves go back and forth in pieces, so that one is added while the next is on its way.
#include "headlight/ranks/collectives.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace headlight::ranks {
namespace {

constexpr int64_t kPiece = int64_t{1} << 18;  // numbers of a message: 1 MB

int levels_of(const Group& group) { return std::countr_zero(static_cast<unsigned>(group.count())); }

Range piece_of(const Range& range, int64_t piece) {
  const int64_t first = std::min(range.end, range.first + piece * kPiece);
  return {first, std::min(range.end, first + kPiece)};
}

void copy_to(const std::vector<std::span<float>>& stretches, float* to) {
  for (const std::span<float> stretch : stretches) to = std::ranges::copy(stretch, to).out;
}

// One message in each direction.
class Piece {
 public:
  Piece() = default;
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;
  // Where something has been thrown: the message's memory is in use until it has arrived, or the
  // run is over.
  ~Piece() {
    if (handle_ == nullptr) return;
    try {
      messenger_->wait(handle_);
    } catch (const base::Error&) {
    }
  }

  // Direct where the memory is in one stretch, else through a buffer.
  void start(Group& group, int peer, const Scattered& values, const Range& out, const Range& in,
             bool receive_apart) {
    in_ = values.stretches(in);
    is_direct_ = !receive_apart && in_.size() == 1;
    if (!is_direct_) in_buffer_.resize(static_cast<size_t>(in.size()));
    const std::vector<std::span<float>> sent = values.stretches(out);
    std::span<const float> out_numbers;
    if (sent.size() == 1) {
      out_numbers = sent.front();
    } else {
      out_buffer_.resize(static_cast<size_t>(out.size()));
      copy_to(sent, out_buffer_.data());
      out_numbers = out_buffer_;
    }
    messenger_ = &group.messenger();
    handle_ = messenger_->start(
        peer, std::as_bytes(out_numbers),
        std::as_writable_bytes(is_direct_ ? in_.front() : std::span<float>(in_buffer_)));
  }

  // Calls use(mine, theirs) for what has arrived.
  template <class Use>
  void finish(Group& group, const Use& use) {
    group.wait(handle_);
    handle_.reset();
    if (is_direct_) return;
    std::span<const float> arrived = in_buffer_;
    for (const std::span<float> stretch : in_) {
      use(stretch, arrived.first(stretch.size()));
      arrived = arrived.subspan(stretch.size());
    }
  }

 private:
  std::vector<std::span<float>> in_;
  bool is_direct_ = false;
  std::vector<float> in_buffer_, out_buffer_;
  Messenger* messenger_ = nullptr;
  Messenger::Handle handle_;  // of what is under way
};

// Sends `out` and receives `in`, two pieces at a time.
template <class Use>
void exchange_pieces(Group& group, int peer, const Scattered& values, const Range& out,
                     const Range& in, bool receive_apart, const Use& use) {
  const int64_t pieces = (std::max(out.size(), in.size()) + kPiece - 1) / kPiece;
  std::array<Piece, 2> under_way;
  for (int64_t piece = 0; piece <= pieces; ++piece) {
    if (piece < pieces) {
      under_way[static_cast<size_t>(piece % 2)].start(group, peer, values, piece_of(out, piece),
                                                      piece_of(in, piece), receive_apart);
    }
    if (piece > 0) under_way[static_cast<size_t>((piece - 1) % 2)].finish(group, use);
  }
}

void copy(std::span<float> mine, std::span<const float> theirs) {
  std::ranges::copy(theirs, mine.begin());
}

}  // namespace

void Scattered::add(std::span<float> part) {
  if (part.empty()) return;
  parts_.push_back(part);
  ends_.push_back(size() + static_cast<int64_t>(part.size()));
}

std::vector<std::span<float>> Scattered::stretches(const Range& range) const {
  std::vector<std::span<float>> found;
  auto index = static_cast<size_t>(std::ranges::upper_bound(ends_, range.first) - ends_.begin());
  for (int64_t first = range.first; first < range.end; ++index) {
    const int64_t begin = ends_[index] - static_cast<int64_t>(parts_[index].size());
    const int64_t end = std::min(ends_[index], range.end);
    found.push_back(parts_[index].subspan(static_cast<size_t>(first - begin),
                                          static_cast<size_t>(end - first)));
    first = end;
  }
  return found;
}

void reduce_scatter(Group& group, const Shares& shares, const Scattered& values, const AddTo& add,
                    const HasNothing& has_nothing) {
  for (int level = 0; level < levels_of(group); ++level) {
    const int distance = 1 << level, peer = group.rank() ^ distance;
    const int own_first = group.rank() / distance * distance, peer_first = own_first ^ distance;
    const bool have_i_nothing = has_nothing(own_first, distance);
    const bool has_peer_nothing = has_nothing(peer_first, distance);
    const Range mine = shares.at(group.rank(), level + 1), theirs = shares.at(peer, level + 1);
    const Range out = have_i_nothing ? Range{} : theirs;
    const Range in = has_peer_nothing ? Range{} : mine;
    if (have_i_nothing) {
      exchange_pieces(group, peer, values, out, in, false, copy);
    } else {
      exchange_pieces(group, peer, values, out, in, true, add);
    }
  }
}

void all_gather(Group& group, const Shares& shares, const Scattered& values) {
  for (int level = levels_of(group) - 1; level >= 0; --level) {
    const int peer = group.rank() ^ (1 << level);
    exchange_pieces(group, peer, values, shares.at(group.rank(), level + 1),
                    shares.at(peer, level + 1), false, copy);
  }
}

}  // namespace headlight::ranks
