// Files in the program, seen as files.
#include "headlight/recipes/embedded.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "headlight/io/io.h"
#include "headlight/recipes/typed_words.h"

namespace headlight::recipes {
namespace {

using base::Error;
using base::ErrorKind;
using base::FileStatus;

constexpr std::string_view kPrefix = "embedded:";
// Descriptors of embedded files, beyond all that a system gives.
constexpr int kFirstNumber = 1 << 30;

bool is_inside(std::string_view path) { return path.starts_with(kPrefix); }

const base::EmbeddedFile* file_at(std::string_view path) {
  const auto& files = embedded_files();
  const auto found =
      std::ranges::find(files, path.substr(kPrefix.size()), &base::EmbeddedFile::path);
  return found == files.end() ? nullptr : &*found;
}

const base::EmbeddedFile& file_of(int number) {
  return embedded_files()[static_cast<size_t>(number - kFirstNumber)];
}

std::vector<std::string> names_in(std::string_view folder) {
  const std::string prefix = std::string(folder.substr(kPrefix.size())) + "/";
  std::vector<std::string> names;
  for (const base::EmbeddedFile& file : embedded_files()) {
    if (file.path.starts_with(prefix)) names.emplace_back(file.path.substr(prefix.size()));
  }
  return names;
}

FileStatus status_of(const base::EmbeddedFile& file) {
  return {.kind = FileStatus::Kind::regular, .size = file.bytes.size(), .permissions = 0444};
}

// A folder beside the one that is not there, whose name was mistyped; empty: none is near. Of a
// place that cannot be listed, nothing is known.
std::string folder_near(base::FileSystem& files, const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string place = slash == path.npos ? "" : path.substr(0, slash + 1);
  std::vector<std::string> names;
  if (files.list(place.empty() ? "." : place, names) < 0) return "";
  std::ranges::sort(names);
  std::vector<std::string_view> folders;
  for (const std::string& name : names) {
    FileStatus status;
    const bool is_folder =
        files.path_status(place + name, status) >= 0 && status.kind == FileStatus::Kind::directory;
    const bool is_model =
        is_folder && files.path_status(place + name + "/config.json", status) >= 0;
    if (is_model) folders.push_back(name);
  }
  const auto near = base::nearest(path.substr(place.size()), folders);
  return near ? place + std::string(*near) : "";
}

// "gpt2" and "openai-community/gpt2", as others fetch them from the network.
bool is_name_elsewhere(std::string_view argument) {
  if (argument.starts_with('.') || argument.starts_with('/') || argument.starts_with('~')) {
    return false;
  }
  constexpr std::string_view kFamilies[] = {"gpt2", "bert-", "distil",  "roberta", "t5-",
                                            "opt-", "llama", "mistral", "qwen",    "gemma"};
  const std::string small = in_small_letters(argument);
  return std::ranges::count(argument, '/') == 1 ||
         std::ranges::any_of(kFamilies, [&](auto family) { return small.starts_with(family); });
}

}  // namespace

std::vector<std::string> embedded_models() {
  std::set<std::string> names;
  for (const base::EmbeddedFile& file : embedded_files())
    names.emplace(file.path.substr(0, file.path.find('/')));
  return {names.begin(), names.end()};
}

std::vector<std::string> embedded_example(std::string_view name) {
  using Words = std::vector<std::string>;
  static const Words kExamples[] = {
      {"translate", "numbers", "--text", "one hundred forty-two"},
      {"generate", "repeats", "--prompt", "ka lo mi tu se ka lo", "--max-new-tokens", "8"},
      {"generate", "stories", "--prompt", "Anna has three apples. She gives"},
      {"translate", "thrones", "--text", "When you play the game of thrones"}};
  const auto found =
      std::ranges::find_if(kExamples, [name](const Words& words) { return words[1] == name; });
  return found == std::end(kExamples) ? Words{"info", std::string(name)} : *found;
}

uint64_t embedded_bytes(std::string_view name) {
  uint64_t bytes = 0;
  for (const base::EmbeddedFile& file : embedded_files()) {
    if (file.path.substr(0, file.path.find('/')) == name) bytes += file.bytes.size();
  }
  return bytes;
}

int FilesWithEmbedded::open(const std::string& path, int flags, unsigned permissions) {
  if (!is_inside(path)) return FileSystem::open(path, flags, permissions);
  if ((flags & O_ACCMODE) != O_RDONLY) return -EROFS;
  const base::EmbeddedFile* file = file_at(path);
  if (file == nullptr) return names_in(path).empty() ? -ENOENT : -EISDIR;
  return kFirstNumber + static_cast<int>(file - embedded_files().data());
}

int FilesWithEmbedded::close(int file) {
  return file >= kFirstNumber ? 0 : FileSystem::close(file);
}

int64_t FilesWithEmbedded::read(int file, uint64_t offset, std::span<std::byte> into) {
  if (file < kFirstNumber) return FileSystem::read(file, offset, into);
  const std::string_view bytes = file_of(file).bytes;
  if (offset >= bytes.size()) return 0;
  const std::span<const std::byte> rest = std::as_bytes(std::span(bytes.substr(offset)));
  const size_t count = std::min(rest.size(), into.size());
  std::ranges::copy(rest.first(count), into.begin());
  return static_cast<int64_t>(count);
}

int FilesWithEmbedded::status(int file, FileStatus& status) {
  if (file < kFirstNumber) return FileSystem::status(file, status);
  status = status_of(file_of(file));
  return 0;
}

int FilesWithEmbedded::path_status(const std::string& path, FileStatus& status) {
  if (!is_inside(path)) return FileSystem::path_status(path, status);
  if (const base::EmbeddedFile* file = file_at(path)) {
    status = status_of(*file);
  } else if (!names_in(path).empty()) {
    status = {.kind = FileStatus::Kind::directory, .permissions = 0555};
  } else {
    return -ENOENT;
  }
  return 0;
}

int FilesWithEmbedded::read_link(const std::string& path, std::string& target) {
  return is_inside(path) ? -EINVAL : FileSystem::read_link(path, target);
}

int FilesWithEmbedded::list(const std::string& path, std::vector<std::string>& names) {
  if (!is_inside(path)) return FileSystem::list(path, names);
  names = names_in(path);
  return names.empty() ? -ENOENT : 0;
}

std::string model_place(base::FileSystem& files, std::string argument) {
  while (argument.size() > 1 && argument.ends_with('/')) argument.pop_back();
  FileStatus status;
  if (files.path_status(argument, status) >= 0) return argument;
  const std::string inside = std::string(kPrefix) + argument;
  if (files.path_status(inside, status) >= 0) return inside;
  base::exists(files, argument);  // throws where it may be there and cannot be seen
  const std::vector<std::string> models = embedded_models();
  std::string names;
  for (const std::string& name : models) names += (names.empty() ? "" : ", ") + name;
  std::string hint =
      base::nearest_hint(argument, std::vector<std::string_view>(models.begin(), models.end()));
  if (const std::string near = folder_near(files, argument); !near.empty()) {
    hint = "; the nearest is " + near;
  } else if (hint.empty() && is_name_elsewhere(argument)) {
    hint = "; nothing is downloaded: give the path of a folder that holds the model";
  }
  throw Error(
      ErrorKind::bad_input, "model", argument,
      "there is no such file or folder; models that come with the program are " + names + hint);
}

std::string model_folder(base::FileSystem& files, std::string argument) {
  const std::string place = model_place(files, std::move(argument));
  FileStatus status;
  const bool is_weights = io::is_checkpoint_path(place) && files.path_status(place, status) >= 0 &&
                          status.kind != FileStatus::Kind::directory;
  return is_weights ? base::directory_of(place) : place;
}

}  // namespace headlight::recipes
