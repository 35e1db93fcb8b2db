// Models that llama.cpp's gguf-split has cut into several files, "name-00001-of-00003.gguf" and so
// on: each says which of how many it is, and the first has the settings of the whole.
#include <array>
#include <cstdio>

#include "headlight/io/gguf.h"
#include "headlight/io/utf8.h"

namespace headlight::io {
namespace {

using base::Error;
using base::ErrorKind;

constexpr const char* kCount = "split.count";
constexpr const char* kNumber = "split.no";
constexpr const char* kTensorCount = "split.tensors.count";
constexpr int64_t kMostParts = 65'535;

[[noreturn]] void refuse_part(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::bad_input, "gguf", path, why);
}

int64_t count_of(const Gguf& file, const char* key, int64_t least, int64_t most) {
  const Json* value = file.setting(key);
  if (value == nullptr) refuse_part(file.path(), std::string(key) + " is missing");
  const auto count = value->integer();
  if (!count || *count < least || *count > most) {
    refuse_part(file.path(), std::string(key) + " is " + json_text(*value).substr(0, 32) +
                                 ", it must be from " + std::to_string(least) + " to " +
                                 std::to_string(most));
  }
  return *count;
}

int64_t parts_of(const Gguf& file) {
  return file.setting(kCount) == nullptr ? 1 : count_of(file, kCount, 1, kMostParts);
}

std::string ending_of(int64_t part, int64_t parts) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "-%05lld-of-%05lld.gguf",
                static_cast<long long>(part + 1), static_cast<long long>(parts));
  return text.data();
}

// Paths of all parts, by that of the one that has this number.
std::vector<std::string> paths_of(const std::string& path, int64_t number, int64_t parts) {
  const std::string ending = ending_of(number, parts);
  if (!path.ends_with(ending)) {
    refuse_part(path, "it is part " + std::to_string(number + 1) + " of " + std::to_string(parts) +
                          ", so that its name must end with " + ending);
  }
  const std::string beginning = path.substr(0, path.size() - ending.size());
  std::vector<std::string> paths;
  for (int64_t part = 0; part < parts; ++part) paths.push_back(beginning + ending_of(part, parts));
  return paths;
}

void check_presence(base::FileSystem& files, const std::vector<std::string>& paths) {
  std::string first;
  size_t missing = 0;
  for (const std::string& path : paths) {
    if (base::exists(files, path)) continue;
    if (missing++ == 0) first = path;
  }
  if (missing == 0) return;
  refuse_part(paths.front(), std::to_string(missing) + " of its " + std::to_string(paths.size()) +
                                 " parts are missing, the first is " + in_quotes(first));
}

void check_part(const Gguf& part, int64_t number, int64_t parts) {
  const int64_t count = count_of(part, kCount, 1, kMostParts);
  const int64_t own = count_of(part, kNumber, 0, kMostParts);
  if (count == parts && own == number) return;
  refuse_part(part.path(), "it says that it is part " + std::to_string(own + 1) + " of " +
                               std::to_string(count) + ", by its name it is part " +
                               std::to_string(number + 1) + " of " + std::to_string(parts));
}

}  // namespace

Gguf open_gguf(base::FileSystem& files, const std::string& path) {
  Gguf first(base::open_input(files, path));
  const int64_t count = parts_of(first);
  if (count == 1) return first;
  const int64_t number = count_of(first, kNumber, 0, count - 1);
  const std::vector<std::string> paths = paths_of(path, number, count);
  if (number > 0) {
    refuse_part(path, "it is part " + std::to_string(number + 1) + " of " + std::to_string(count) +
                          "; name the first, " + paths.front());
  }
  check_presence(files, paths);
  std::vector<Gguf> parts = {std::move(first)};
  for (int64_t part = 1; part < count; ++part) {
    parts.emplace_back(base::open_input(files, paths[static_cast<size_t>(part)]));
    check_part(parts.back(), part, count);
  }
  Gguf whole(std::move(parts));
  const int64_t tensors = count_of(whole, kTensorCount, 0, INT32_MAX);
  if (tensors != std::ssize(whole.entries())) {
    refuse_part(path, "its parts hold " + std::to_string(whole.entries().size()) + " tensors, " +
                          kTensorCount + " is " + std::to_string(tensors));
  }
  return whole;
}

bool is_gguf_file(base::FileSystem& files, const std::string& path) {
  base::FileStatus status;
  return is_gguf_path(path) &&
         (files.path_status(path, status) < 0 || status.kind != base::FileStatus::Kind::directory);
}

}  // namespace headlight::io
