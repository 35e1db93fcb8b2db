// Files by their endings, and outputs that can be written.
#include "apps/cli/program/places.h"

#include <filesystem>

#include "headlight/io/io.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {

using base::Error;
using base::ErrorKind;

namespace {

struct NamedPath {
  std::string source;  // the option
  std::string path;
};

std::vector<NamedPath> given_paths(const Arguments& arguments,
                                   const std::vector<std::string_view>& options) {
  std::vector<NamedPath> paths;
  for (const std::string_view option : options) {
    if (const auto place = arguments.text(option))
      paths.push_back({arguments.source(option), io::split_place(*place).path});
  }
  return paths;
}

void add_model_files(std::vector<NamedPath>& paths, base::FileSystem& files,
                     const Arguments& arguments, std::string_view operand) {
  const auto model = arguments.text(operand);
  base::FileStatus status;
  // What is not there is told when it is read.
  if (!model || files.path_status(*model, status) < 0) return;
  if (status.kind != base::FileStatus::Kind::directory) {
    paths.push_back({arguments.source(operand), *model});
    return;
  }
  for (const std::string& name : recipes::model_file_names(files, *model)) {
    paths.push_back({arguments.source(operand), *model + "/" + name});
  }
}

// One file under two names, through links or other ways to its directory. Devices are none.
bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  std::error_code problem;
  if (std::filesystem::exists(one, problem)) {
    return std::filesystem::is_regular_file(one, problem) &&
           std::filesystem::equivalent(one, other, problem);
  }
  const auto folder_of = [](const std::filesystem::path& path) {
    return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  };
  return one.filename() == other.filename() &&
         std::filesystem::equivalent(folder_of(one), folder_of(other), problem);
}

void check_differ(const NamedPath& output, const NamedPath& other) {
  const bool is_same_name = output.path == other.path;
  if (!is_same_name && !is_same_file(output.path, other.path)) return;
  throw Error(is_same_name ? ErrorKind::usage : ErrorKind::bad_input, output.source,
              io::in_quotes(output.path),
              "is the file of " + other.source + (is_same_name ? "" : ", " + other.path) +
                  "; give another name");
}

void check_output_place(base::FileSystem& files, const std::string& path) {
  const std::string folder = base::directory_of(path) + "/";  // with it, a file is none
  base::FileStatus status;
  if (files.path_status(folder, status) < 0) {
    throw Error(ErrorKind::failed, "output", path, "there is no directory " + folder);
  }
  if (files.path_status(path, status) >= 0 && status.kind == base::FileStatus::Kind::directory) {
    throw Error(ErrorKind::failed, "output", path, "is a directory");
  }
}

}  // namespace

std::optional<std::string> array_place(const Arguments& arguments, std::string_view option) {
  auto place = arguments.text(option);
  if (place && !io::is_array_place(*place)) {
    throw Error(ErrorKind::usage, arguments.source(option), io::in_quotes(*place),
                "the ending must be .npy, .safetensors, .json or .csv: an array is a file");
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

void check_outputs(base::FileSystem& files, const Arguments& arguments,
                   const FileOptions& options) {
  std::vector<NamedPath> others = given_paths(arguments, options.inputs);
  for (const std::string_view operand : {"model", "full", "pruned"})
    add_model_files(others, files, arguments, operand);
  for (const NamedPath& output : given_paths(arguments, options.outputs)) {
    check_output_place(files, output.path);
    for (const NamedPath& other : others) check_differ(output, other);
    others.push_back(output);
  }
}

}  // namespace headlight::cli
