// The order of the modules: who stands on whom.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace headlight::architecture {

// The modules that `module` may see: those it stands on and those they stand on. Empty for a name
// that is no module.
std::set<std::string> modules_below(const std::string& module);
bool is_module(const std::string& name);

// "tensor" for "headlight/tensor/shape.h", "apps/cli" for "apps/cli/main.cpp", else the first
// folder.
std::string module_of(std::string_view path);
// Whether `path` is "headlight/X/X.h".
bool is_door(std::string_view path);
// Whether `path` is "apps/X/X.h".
bool is_program_door(std::string_view path);
// What is counted as one program: "apps/cli", and each folder of the server, "apps/server/http".
std::string program_of(std::string_view path);
// Whether `path` is the header that includes every door, for programs.
bool is_umbrella(std::string_view path);

}  // namespace headlight::architecture
