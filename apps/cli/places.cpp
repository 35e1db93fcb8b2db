// Files by their endings, and outputs that can be written.
#include "apps/cli/places.h"

#include <set>

#include "headlight/io/io.h"

namespace headlight::cli {

using base::Error;
using base::ErrorKind;

std::optional<std::string> array_place(const Arguments& arguments, std::string_view option) {
  auto place = arguments.text(option);
  if (place && !io::is_array_place(*place)) {
    throw Error(ErrorKind::usage, arguments.source(option), io::in_quotes(*place),
                "the ending must be .npy, .safetensors, .json or .csv");
  }
  return place;
}

std::optional<std::string> safetensors_path(const Arguments& arguments, std::string_view option) {
  auto path = arguments.text(option);
  if (path && !path->ends_with(".safetensors")) {
    throw Error(ErrorKind::usage, arguments.source(option), io::in_quotes(*path),
                "the ending must be .safetensors");
  }
  return path;
}

void check_outputs_differ(std::initializer_list<std::optional<std::string>> places) {
  std::set<std::string> paths;
  for (const auto& place : places) {
    if (!place || paths.insert(io::split_place(*place).path).second) continue;
    throw Error(ErrorKind::usage, "output files", io::in_quotes(*place),
                "two outputs would go to the same file");
  }
}

void check_output_place(base::FileSystem& files, const std::optional<std::string>& place) {
  if (!place) return;
  const std::string path = io::split_place(*place).path;
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  base::FileStatus status;
  if (files.path_status(folder, status) < 0) {
    throw Error(ErrorKind::failed, "output", path, "there is no directory " + folder);
  }
  if (files.path_status(path, status) >= 0 && status.kind == base::FileStatus::Kind::directory) {
    throw Error(ErrorKind::failed, "output", path, "is a directory");
  }
}

}  // namespace headlight::cli
