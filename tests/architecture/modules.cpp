// The one table of the order, and names of modules from paths.
#include "tests/architecture/modules.h"

#include <map>
#include <vector>

namespace headlight::architecture {
namespace {

const std::map<std::string, std::vector<std::string>>& order() {
  static const std::map<std::string, std::vector<std::string>> table = {
      {"base", {}},
      {"tensor", {"base"}},
      {"kernels", {"tensor"}},
      {"autograd", {"kernels"}},
      {"nn", {"autograd"}},
      {"optim", {"nn"}},
      {"models", {"nn", "io"}},
      {"io", {"tensor"}},
      {"text", {"io"}},
      {"data", {"text"}},
      {"ranks", {"tensor"}},
      {"train", {"models", "optim", "data", "ranks"}},
      {"infer", {"models", "optim", "text"}},
      {"explain", {"models", "optim", "text"}},
      {"heads", {"models", "optim", "data"}},
      {"recipes", {"train", "infer", "heads"}},
      {"narrate", {"explain", "recipes", "heads"}},
  };
  return table;
}

}  // namespace

bool is_module(const std::string& name) { return order().contains(name); }

std::set<std::string> modules_below(const std::string& module) {
  std::set<std::string> below;
  const auto entry = order().find(module);
  if (entry == order().end()) return below;
  for (const std::string& direct : entry->second) {
    below.insert(direct);
    below.merge(modules_below(direct));
  }
  return below;
}

std::string module_of(std::string_view path) {
  const size_t first = path.find('/');
  const std::string_view top = path.substr(0, first);
  if (first == std::string_view::npos || (top != "headlight" && top != "apps"))
    return std::string(top);
  const size_t second = path.find('/', first + 1);
  return std::string(top == "apps" ? path.substr(0, second)
                                   : path.substr(first + 1, second - first - 1));
}

bool is_door(std::string_view path) {
  const std::string module = module_of(path);
  return path == "headlight/" + module + "/" + module + ".h";
}

bool is_program_door(std::string_view path) {
  const std::string program = module_of(path);
  return program.starts_with("apps/") && path == program + "/" + program.substr(5) + ".h";
}

std::string program_of(std::string_view path) {
  const std::string program = module_of(path);
  if (program != "apps/server") return program;
  const size_t end = path.find('/', program.size() + 1);
  return std::string(path.substr(0, end == std::string_view::npos ? program.size() : end));
}

bool is_umbrella(std::string_view path) { return path == "headlight/headlight.h"; }

}  // namespace headlight::architecture
