// What a pass will hold is refused before it is made.
#include <cerrno>

#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

// Of each tensor what it takes: a little more than is free is too much, a little less is not.
TEST(ForwardMemory, counts_logits_traces_and_gradients) {
  struct Little : base::FileSystem {
    int open(const std::string& path, int flags, unsigned permissions) override {
      return path == "/proc/meminfo"              ? FileSystem::open(meminfo, flags, permissions)
             : path.starts_with("/sys/fs/cgroup") ? -ENOENT
                                                  : FileSystem::open(path, flags, permissions);
    }
    std::string meminfo;
  } files;
  const TemporaryFolder folder;
  models::Gpt gpt({.block_size = 64, .vocab_size = 5000, .n_layer = 2, .n_head = 4, .n_embd = 24});
  const models::Batch batch{.ids = models::random_ids({8, 64}, 5000, 1)};
  const auto refused_with = [&](int64_t kib, const ForwardOutputs& outputs) {
    files.meminfo = folder.put("meminfo", "MemAvailable:   " + std::to_string(kib) + " kB\n");
    return refusal_of([&] { check_forward_memory(files, gpt, batch, outputs, "ids.npy"); });
  };
  EXPECT_FALSE(refused_with(1000, {}).kind);
  const int64_t logits = 8 * 64 * 5000 * 4 / 1024;
  EXPECT_FALSE(refused_with(logits + 200, {.logits = true}).kind);
  const Refusal refusal = refused_with(logits - 1, {.logits = true});
  EXPECT_EQ(refusal.kind, ErrorKind::out_of_memory);
  expect_has(refusal.text, "forward (ids.npy): needs 9.8 MiB, 9.7 MiB free; fewer sequences");
  const int64_t scores = 2 * 4 * (8 * 4 * 64 * 64 * 4) / 1024;
  EXPECT_TRUE(refused_with(logits + scores - 1, {.trace = true}).kind);
  const int64_t weights = 5000 * 24 * 4 / 1024;
  EXPECT_TRUE(refused_with(weights - 1, {.gradients = true}).kind);
  EXPECT_FALSE(refused_with(weights + 2000, {.gradients = true}).kind);
}

}  // namespace
}  // namespace headlight::recipes
