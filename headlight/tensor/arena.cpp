// Free blocks wait in lists by size class; classes are an eighth of a power of two apart, so at
// most an eighth of a new block is wasted. A free block up to twice as large as needed serves too,
// and free blocks go back to the system when all blocks are twice what was ever in use: a run whose
// shapes change from step to step, as batches of sentences do, must not keep a set of blocks for
// each.
#include "headlight/tensor/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "headlight/base/base.h"

namespace headlight::tensor {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;
// From here on a block is a mapping of its own, which leaves no hole in the heap when it goes. The
// address sanitizer sees the heap alone.
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kOwnMapping = SIZE_MAX;
#else
constexpr size_t kOwnMapping = size_t{128} << 10;
#endif

size_t size_class(size_t bytes) {
  bytes = std::max(bytes, kAlignment);
  const size_t step = std::max(kAlignment, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

[[noreturn]] void refuse(size_t bytes) {
  throw base::Error(base::ErrorKind::out_of_memory, "memory", "",
                    std::to_string(bytes) + " bytes were asked for and the system refused");
}

size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Large ones begin on a huge page and end on a small one: nothing is touched that is not used.
std::byte* map_pages(size_t bytes) {
  const size_t size = rounded_up(bytes, kPage);
  const size_t slack = bytes >= kHugePage ? kHugePage - kPage : 0;
  void* memory =
      mmap(nullptr, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) refuse(bytes);
  auto* begin = static_cast<std::byte*>(memory);
  if (slack == 0) return begin;
  const size_t before = rounded_up(reinterpret_cast<uintptr_t>(memory), kHugePage) -
                        reinterpret_cast<uintptr_t>(memory);
  if (before > 0) munmap(begin, before);
  if (before < slack) munmap(begin + before + size, slack - before);
  madvise(begin + before, size, MADV_HUGEPAGE);
  return begin + before;
}

std::byte* system_allocate(size_t bytes) {
  if (bytes > SIZE_MAX / 2) refuse(bytes);
  if (bytes >= kOwnMapping) return map_pages(bytes);
  void* memory = std::aligned_alloc(kAlignment, rounded_up(bytes, kAlignment));
  if (memory == nullptr) refuse(bytes);
  return static_cast<std::byte*>(memory);
}

// `bytes`: as many as were asked for.
void system_free(std::byte* block, size_t bytes) noexcept {
  if (bytes >= kOwnMapping) {
    munmap(block, rounded_up(bytes, kPage));
  } else {
    std::free(block);
  }
}

}  // namespace

struct Arena::State {
  std::mutex mutex;
  std::map<size_t, std::vector<std::byte*>> free_blocks;
  size_t in_use = 0;
  size_t reserved = 0;
  size_t peak = 0;

  ~State() { release(); }

  void release() {
    for (auto& [bytes, blocks] : free_blocks) {
      for (std::byte* block : blocks) system_free(block, bytes);
      reserved -= bytes * blocks.size();
    }
    free_blocks.clear();
  }

  struct Taken {
    std::byte* block;
    size_t bytes;
  };

  Taken take(size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    Taken taken = take_free(bytes);
    if (taken.block == nullptr) {
      if (reserved > 2 * peak) release();
      taken = {system_allocate(bytes), bytes};
      reserved += bytes;
    }
    in_use += taken.bytes;
    peak = std::max(peak, in_use);
    return taken;
  }

  // The smallest that fits, or none.
  Taken take_free(size_t bytes) {
    for (auto entry = free_blocks.lower_bound(bytes);
         entry != free_blocks.end() && entry->first / 2 <= bytes; ++entry) {
      std::vector<std::byte*>& blocks = entry->second;
      if (blocks.empty()) continue;
      const Taken taken{blocks.back(), entry->first};
      blocks.pop_back();
      return taken;
    }
    return {nullptr, 0};
  }

  void give_back(std::byte* block, size_t bytes) noexcept {
    std::lock_guard<std::mutex> lock(mutex);
    in_use -= bytes;
    try {
      free_blocks[bytes].push_back(block);
    } catch (const std::bad_alloc&) {
      system_free(block, bytes);
      reserved -= bytes;
    }
  }
};

Arena::Arena() : state_(std::make_shared<State>()) {}
Arena::~Arena() = default;

Block Arena::allocate(size_t bytes) {
  const size_t rounded = size_class(bytes);
  if (rounded < bytes) refuse(bytes);
  const State::Taken taken = state_->take(rounded);
  // Should the control block's allocation fail, shared_ptr calls the deleter and the memory is back
  // in its list.
  return Block(taken.block, [state = state_, bytes = taken.bytes](std::byte* block) {
    state->give_back(block, bytes);
  });
}

size_t Arena::bytes_in_use() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->in_use;
}

size_t Arena::bytes_reserved() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->reserved;
}

size_t Arena::peak_bytes() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->peak;
}

Block allocate_block(size_t bytes) {
  const size_t size = std::max(bytes, kAlignment);
  return Block(system_allocate(size), [size](std::byte* block) { system_free(block, size); });
}

void discard(std::byte* begin, size_t bytes) noexcept {
  const auto first = rounded_up(reinterpret_cast<uintptr_t>(begin), kPage);
  const auto last = (reinterpret_cast<uintptr_t>(begin) + bytes) / kPage * kPage;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace headlight::tensor
