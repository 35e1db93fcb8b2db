// Options that name files: what may stand there, decided from the command line or before any work.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "apps/cli/arguments.h"
#include "headlight/base/base.h"

namespace headlight::cli {

// The place of an array, by its ending; Error(usage) for another one.
std::optional<std::string> array_place(const Arguments& arguments, std::string_view option);
std::optional<std::string> safetensors_path(const Arguments& arguments, std::string_view option);
// Error(usage) when two outputs would go to the same file.
void check_outputs_differ(std::initializer_list<std::optional<std::string>> places);

// Error(failed) when the file cannot be written for want of a directory: said before the work is
// done, and before the first of several files is written.
void check_output_place(base::FileSystem& files, const std::optional<std::string>& place);

}  // namespace headlight::cli
