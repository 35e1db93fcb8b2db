// What Linux says about memory, in a few small files.
#include "headlight/base/memory.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "headlight/base/error.h"
#include "headlight/base/file.h"
#include "headlight/base/file_descriptor.h"

namespace headlight::base {
namespace {

// The first bytes of a file whose size the system does not know beforehand; nothing when it cannot
// be read.
std::string beginning_of(FileSystem& files, const std::string& path) {
  Descriptor file(files, path, O_RDONLY | O_CLOEXEC);
  if (file.number() < 0) return {};
  std::array<std::byte, 4096> bytes;
  const int64_t count = uninterrupted([&] { return files.read(file.number(), 0, bytes); });
  if (count <= 0) return {};
  return {reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(count)};
}

// The number after `label`; nothing when there is none.
std::optional<uint64_t> number_after(std::string_view text, std::string_view label) {
  const size_t at = text.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + label.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  uint64_t number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc()) return std::nullopt;
  return number;
}

uint64_t left_of_limit(FileSystem& files, const std::string& limit, const std::string& used) {
  const auto most = number_after(beginning_of(files, limit), "");
  const auto now = number_after(beginning_of(files, used), "");
  if (!most || !now) return UINT64_MAX;
  return *most > *now ? *most - *now : 0;
}

}  // namespace

uint64_t available_memory(FileSystem& files) {
  uint64_t bytes = UINT64_MAX;
  if (const auto kib = number_after(beginning_of(files, "/proc/meminfo"), "MemAvailable:")) {
    bytes = *kib * 1024;
  }
  const std::string group = "/sys/fs/cgroup/";
  return std::min({bytes, left_of_limit(files, group + "memory.max", group + "memory.current"),
                   left_of_limit(files, group + "memory/memory.limit_in_bytes",
                                 group + "memory/memory.usage_in_bytes")});
}

std::string memory_text(uint64_t bytes) {
  constexpr uint64_t kTenth = 10;
  const bool large = bytes >= uint64_t{1} << 30;
  const uint64_t unit = uint64_t{1} << (large ? 30 : 20);
  const uint64_t tenths = bytes / unit * kTenth + bytes % unit * kTenth / unit;
  return std::to_string(tenths / kTenth) + "." + std::to_string(tenths % kTenth) +
         (large ? " GiB" : " MiB");
}

void check_memory(FileSystem& files, double bytes, const std::string& what,
                  const std::string& where, const std::string& way_out) {
  const uint64_t available = available_memory(files);
  if (bytes <= static_cast<double>(available)) return;
  constexpr double kMost = 9e18;
  const uint64_t needed = bytes < kMost ? static_cast<uint64_t>(bytes) : UINT64_MAX;
  throw Error(ErrorKind::out_of_memory, what, where,
              "needs " + memory_text(needed) + ", " + memory_text(available) + " free" + way_out);
}

}  // namespace headlight::base
