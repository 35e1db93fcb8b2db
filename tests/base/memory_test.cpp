// How much memory is left, as the system's files say it.
#include "headlight/base/memory.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "headlight/base/file.h"

namespace headlight::base {
namespace {

using Contents = std::map<std::string, std::string>;

// A system with these files and no others.
struct FakeSystem : FileSystem {
  explicit FakeSystem(Contents contents) : files(std::move(contents)) {}
  int open(const std::string& path, int, unsigned) override {
    const auto found = files.find(path);
    return found == files.end() ? -ENOENT : static_cast<int>(std::distance(files.begin(), found));
  }
  int close(int) override { return 0; }
  int64_t read(int file, uint64_t, std::span<std::byte> into) override {
    const std::string& text = std::next(files.begin(), file)->second;
    std::memcpy(into.data(), text.data(), text.size());
    return static_cast<int64_t>(text.size());
  }
  Contents files;
};

constexpr const char* kMemory = "MemTotal: 4000 kB\nMemFree: 10 kB\nMemAvailable:    2000 kB\n";

TEST(Memory, is_what_the_kernel_calls_available) {
  FakeSystem system(Contents{{"/proc/meminfo", kMemory}});
  EXPECT_EQ(available_memory(system), 2000u * 1024);
}

TEST(Memory, is_less_where_a_control_group_limits_it) {
  FakeSystem second(Contents{{"/proc/meminfo", kMemory},
                             {"/sys/fs/cgroup/memory.max", "5000\n"},
                             {"/sys/fs/cgroup/memory.current", "3000\n"}});
  EXPECT_EQ(available_memory(second), 2000u);
  FakeSystem first(Contents{{"/proc/meminfo", kMemory},
                            {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000\n"},
                            {"/sys/fs/cgroup/memory/memory.usage_in_bytes", "6000\n"}});
  EXPECT_EQ(available_memory(first), 0u);
  FakeSystem without(Contents{{"/proc/meminfo", kMemory},
                              {"/sys/fs/cgroup/memory.max", "max\n"},
                              {"/sys/fs/cgroup/memory.current", "3000\n"}});
  EXPECT_EQ(available_memory(without), 2000u * 1024);
}

TEST(Memory, is_without_bound_where_the_system_does_not_say) {
  FakeSystem silent(Contents{});
  EXPECT_EQ(available_memory(silent), UINT64_MAX);
}

TEST(Memory, of_this_machine_is_some) { EXPECT_GT(available_memory(real_files()), 1u << 20); }

TEST(Memory, reads_well) {
  EXPECT_EQ(memory_text(0), "0.0 MiB");
  EXPECT_EQ(memory_text(1536 << 10), "1.5 MiB");
  EXPECT_EQ(memory_text((uint64_t{123} << 30) / 10), "12.2 GiB");
  EXPECT_EQ(memory_text(UINT64_MAX), "17179869183.9 GiB");
}

}  // namespace
}  // namespace headlight::base
