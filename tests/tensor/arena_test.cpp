// Arena: what is given back is handed out again, and all of it is counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "headlight/base/base.h"
#include "headlight/tensor/tensor.h"

namespace headlight::tensor {
namespace {

bool aligned(const Block& block) { return reinterpret_cast<uintptr_t>(block.get()) % 64 == 0; }

TEST(Arena, hands_out_aligned_memory_of_any_size) {
  Arena arena;
  for (const size_t bytes : {0u, 1u, 63u, 64u, 65u, 1000u, 4097u, 3u << 20}) {
    const Block block = arena.allocate(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(aligned(block)) << bytes;
    std::memset(block.get(), 0x5a, bytes);
  }
}

TEST(Arena, gives_a_returned_block_to_the_next_of_its_size) {
  Arena arena;
  Block block = arena.allocate(1000);
  const std::byte* address = block.get();
  block.reset();
  EXPECT_EQ(arena.allocate(1000).get(), address);
  EXPECT_EQ(arena.allocate(1010).get(), address) << "sizes of one class share blocks";
}

TEST(Arena, never_gives_one_block_to_two) {
  Arena arena;
  std::vector<Block> blocks;
  for (unsigned char i = 0; i < 50; ++i) {
    blocks.push_back(arena.allocate(300));
    std::memset(blocks.back().get(), i, 300);
  }
  for (unsigned char i = 0; i < 50; ++i) {
    for (size_t byte = 0; byte < 300; ++byte) ASSERT_EQ(blocks[i].get()[byte], std::byte{i});
  }
}

TEST(Arena, counts_what_is_used_reserved_and_the_peak) {
  Arena arena;
  EXPECT_EQ(arena.bytes_in_use(), 0u);
  Block first = arena.allocate(1024);
  Block second = arena.allocate(2048);
  EXPECT_EQ(arena.bytes_in_use(), 3072u);
  EXPECT_EQ(arena.bytes_reserved(), 3072u);
  first.reset();
  EXPECT_EQ(arena.bytes_in_use(), 2048u);
  EXPECT_EQ(arena.bytes_reserved(), 3072u) << "what came back is kept";
  EXPECT_EQ(arena.peak_bytes(), 3072u);
  second.reset();
  EXPECT_EQ(arena.bytes_in_use(), 0u);
  EXPECT_EQ(arena.peak_bytes(), 3072u);
}

TEST(Arena, wastes_at_most_an_eighth_of_larger_blocks) {
  for (size_t bytes = 1024; bytes < 100000; bytes = bytes * 11 / 10 + 1) {
    Arena arena;
    const Block block = arena.allocate(bytes);
    EXPECT_GE(arena.bytes_in_use(), bytes);
    EXPECT_LE(arena.bytes_in_use(), bytes + bytes / 8) << bytes;
  }
}

TEST(Arena, gives_a_free_block_of_up_to_twice_the_size) {
  Arena arena;
  Block block = arena.allocate(2048);
  const std::byte* address = block.get();
  block.reset();
  block = arena.allocate(1024);
  EXPECT_EQ(block.get(), address);
  EXPECT_EQ(arena.bytes_in_use(), 2048u);
  block.reset();
  EXPECT_NE(arena.allocate(900).get(), address);
}

TEST(Arena, keeps_no_more_than_it_needed_at_once_however_sizes_change) {
  Arena arena;
  for (size_t step = 0; step < 1000; ++step) {
    std::vector<Block> blocks;
    for (size_t i = 0; i < 20; ++i)
      blocks.push_back(arena.allocate(100 + step * step * 37 % 90000));
  }
  EXPECT_LE(arena.bytes_reserved(), 3 * arena.peak_bytes());
}

TEST(Arena, asks_the_system_for_nothing_in_the_steady_state) {
  Arena arena;
  const auto step = [&] {
    std::vector<Block> blocks;
    for (size_t size = 100; size < 100000; size *= 3) blocks.push_back(arena.allocate(size));
  };
  step();
  const size_t reserved = arena.bytes_reserved();
  for (int repeat = 0; repeat < 10; ++repeat) step();
  EXPECT_EQ(arena.bytes_reserved(), reserved);
  EXPECT_EQ(arena.peak_bytes(), reserved);
}

TEST(Arena, may_die_before_its_blocks) {
  auto arena = std::make_unique<Arena>();
  const Block free_again = arena->allocate(100);
  Block block = arena->allocate(5000);
  arena.reset();
  std::memset(block.get(), 1, 5000);
  EXPECT_EQ(block.get()[4999], std::byte{1});
}

TEST(Arena, is_shared_by_threads) {
  Arena arena;
  std::atomic<int> overwritten = 0;
  std::vector<std::thread> threads;
  for (unsigned char id = 0; id < 4; ++id) {
    threads.emplace_back([&arena, &overwritten, id] {
      for (size_t repeat = 0; repeat < 300; ++repeat) {
        const Block block = arena.allocate(64 + repeat % 5 * 64);
        std::memset(block.get(), id, 64);
        for (size_t byte = 0; byte < 64; ++byte) overwritten += block.get()[byte] != std::byte{id};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overwritten, 0);
  EXPECT_EQ(arena.bytes_in_use(), 0u);
}

TEST(Arena, refuses_what_the_system_cannot_give) {
  Arena arena;
  for (const size_t bytes : {size_t{1} << 62, SIZE_MAX / 2 + 1, SIZE_MAX - 10, SIZE_MAX}) {
    try {
      arena.allocate(bytes);
      ADD_FAILURE() << bytes << " bytes were given";
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::out_of_memory);
      EXPECT_NE(std::string(error.what()).find("bytes were asked for"), std::string::npos);
    }
  }
  EXPECT_EQ(arena.bytes_in_use(), 0u);
  EXPECT_EQ(arena.bytes_reserved(), 0u);
}

TEST(AllocateBlock, gives_aligned_memory_without_an_arena) {
  for (const size_t bytes : {0u, 1u, 5000u, 5u << 20}) {
    const Block block = allocate_block(bytes);
    EXPECT_TRUE(aligned(block)) << bytes;
    std::memset(block.get(), 7, bytes);
  }
  EXPECT_THROW(allocate_block(SIZE_MAX), base::Error);
}

}  // namespace
}  // namespace headlight::tensor
