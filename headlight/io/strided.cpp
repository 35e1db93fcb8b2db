// Elements are visited in the order in which they lie in the file, so that each of its pieces is
// read once, whatever the order of the axes is.
#include "headlight/io/strided.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace headlight::io {
namespace {

constexpr uint64_t kWindowBytes = uint64_t{1} << 16;

struct GatherAxis {
  int64_t size;
  int64_t from;  // elements of the file from one to the next
  int64_t to;    // elements of the result
};

std::vector<GatherAxis> axes_by_stride(const StoredArray& array) {
  std::vector<GatherAxis> axes;
  int64_t to = 1;
  for (int axis = array.shape.rank() - 1; axis >= 0; --axis) {
    axes.push_back({array.shape[axis], array.strides[static_cast<size_t>(axis)], to});
    to *= array.shape[axis];
  }
  std::ranges::stable_sort(axes, std::ranges::greater(), &GatherAxis::from);
  return axes;
}

// A piece of a file that moves forward.
class Window {
 public:
  explicit Window(const base::Input& input) : input_(input), bytes_(kWindowBytes) {}

  const std::byte* at(uint64_t offset, size_t size) {
    if (offset < begin_ || offset + size > end_) {
      begin_ = offset;
      end_ = std::min(input_.size(), offset + kWindowBytes);
      input_.read(begin_, std::span(bytes_).first(end_ - begin_));
    }
    return bytes_.data() + (offset - begin_);
  }

 private:
  const base::Input& input_;
  std::vector<std::byte> bytes_;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
};

}  // namespace

std::vector<std::byte> gather(const base::Input& input, const StoredArray& array) {
  std::vector<std::byte> result(array.bytes());
  if (result.empty()) return result;
  const std::vector<GatherAxis> axes = axes_by_stride(array);
  const size_t size = size_of(array.element);
  Window window(input);
  std::array<int64_t, tensor::Shape::kMaxRank> index{};
  int64_t from = 0;
  int64_t to = 0;
  for (size_t axis = axes.size() + 1; axis > 0;) {
    std::memcpy(result.data() + static_cast<size_t>(to) * size,
                window.at(array.offset + static_cast<uint64_t>(from) * size, size), size);
    // The next place: the last axis that has one, and all after it from their start.
    for (axis = axes.size(); axis > 0; --axis) {
      const GatherAxis& one = axes[axis - 1];
      int64_t& at = index[axis - 1];
      if (++at < one.size) {
        from += one.from;
        to += one.to;
        break;
      }
      from -= (at - 1) * one.from;
      to -= (at - 1) * one.to;
      at = 0;
    }
  }
  return result;
}

}  // namespace headlight::io
