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
constexpr size_t kHugePage = size_t{2} << 20;

size_t size_class(size_t bytes) {
  bytes = std::max(bytes, kAlignment);
  const size_t step = std::max(kAlignment, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

[[noreturn]] void refuse(size_t bytes) {
  throw base::Error(base::ErrorKind::out_of_memory, "memory", "",
                    std::to_string(bytes) + " bytes were asked for and the system refused");
}

std::byte* system_allocate(size_t bytes) {
  const size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
  if (bytes > SIZE_MAX / 2) refuse(bytes);
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) refuse(bytes);
  if (bytes >= kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);
  return static_cast<std::byte*>(memory);
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
      for (std::byte* block : blocks) std::free(block);
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
      std::free(block);
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
  return Block(system_allocate(std::max(bytes, kAlignment)),
               [](std::byte* block) { std::free(block); });
}

}  // namespace headlight::tensor
