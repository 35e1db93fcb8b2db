// Options that name files: what may stand there, decided from the command line or before any work.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/program/arguments.h"
#include "headlight/base/base.h"

namespace headlight::cli {

// The place of an array, by its ending; Error(usage) for another one.
std::optional<std::string> array_place(const Arguments& arguments, std::string_view option);
std::optional<std::string> safetensors_path(const Arguments& arguments, std::string_view option);
// What a command reads and writes, by its options; MODEL, FULL and PRUNED are read too.
struct FileOptions {
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
};
// Before the work is done, and before the first of several files is written: Error(usage) when an
// output would replace an input or another output, Error(bad_input) when only the file system knows
// that it is the same file, and Error(failed) when there is no directory for it.
void check_outputs(base::FileSystem& files, const Arguments& arguments, const FileOptions& options);

}  // namespace headlight::cli
