// The rules about who sees whom: include lines and CMake's link lines.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "tests/architecture/modules.h"
#include "tests/architecture/rules.h"
#include "tests/architecture/source.h"

namespace headlight::architecture {
namespace {

bool is_inside_of_kernels(std::string_view path) {
  return path.ends_with("-inl.h") || path.starts_with("headlight/kernels/simd/") ||
         path.starts_with("headlight/kernels/reference/");
}

// What is wrong with `path` including `included`; empty when nothing is. Tests may look everywhere.
std::string wrong_include(const std::string& path, const std::string& included) {
  const std::string from = module_of(path);
  const std::string to = module_of(included);
  if (from == to) return "";
  const bool in_engine = path.starts_with("headlight/");
  if (!included.starts_with("headlight/")) {
    // A program may stand on another, by its door.
    const bool is_forbidden =
        in_engine || (included.starts_with("apps/") && !is_program_door(included));
    return is_forbidden ? from + " may not include " + included : "";
  }
  if (is_umbrella(included))
    return in_engine ? included + " is for programs; include the doors of modules" : "";
  if (!is_module(to)) return "there is no module " + to + " in the order of modules";
  if (in_engine && !is_umbrella(path) && !modules_below(from).contains(to))
    return from + " may not include " + to;
  if (is_inside_of_kernels(included)) return included + " is for kernels and tests only";
  if (!is_door(included))
    return included + " is not a door; include headlight/" + to + "/" + to + ".h";
  return "";
}

// The words after DEPENDS in a call of headlight_module.
std::set<std::string> declared_dependencies(const std::string& text) {
  std::set<std::string> words;
  const size_t call = text.find("headlight_module(");
  if (call == std::string::npos) return words;
  std::istringstream arguments(text.substr(call, text.find(')', call) - call));
  bool reading = false;
  for (std::string word; arguments >> word;) {
    if (word == "DEPENDS" || word == "LIBRARIES") {
      reading = word == "DEPENDS";
    } else if (reading) {
      words.insert(word);
    }
  }
  return words;
}

// Finds the doors that the header of all doors leaves out.
void find_missing_doors(const Sources& sources, Findings& findings) {
  for (const Source& umbrella : sources) {
    if (!is_umbrella(umbrella.path)) continue;
    std::set<std::string> included;
    for (const Include& include : includes_of(umbrella.text)) included.insert(include.path);
    for (const Source& source : sources) {
      if (is_door(source.path) && !included.contains(source.path))
        findings.push_back(umbrella.path + ":1: does not include " + source.path);
    }
  }
}

}  // namespace

Findings check_includes(const Sources& sources) {
  Findings findings;
  for (const Source& source : sources) {
    if (!is_cpp(source.path) || source.path.starts_with("tests/")) continue;
    if (source.path.starts_with("headlight/") && !is_umbrella(source.path) &&
        !is_module(module_of(source.path))) {
      findings.push_back(source.path + ":1: " + module_of(source.path) +
                         " is not in the order of modules");
    }
    for (const Include& include : includes_of(source.text)) {
      const std::string wrong = wrong_include(source.path, include.path);
      if (wrong.empty()) continue;
      findings.push_back(source.path + ":" + std::to_string(include.line) + ": " + wrong);
    }
  }
  find_missing_doors(sources, findings);
  return findings;
}

Findings check_links(const Sources& sources) {
  std::map<std::string, std::set<std::string>> declared;
  std::map<std::string, std::set<std::string>> included;
  for (const Source& source : sources) {
    const std::string module = module_of(source.path);
    if (!source.path.starts_with("headlight/") || !is_module(module)) continue;
    if (source.path.ends_with("/CMakeLists.txt")) {
      declared[module] = declared_dependencies(source.text);
    } else if (is_cpp(source.path)) {
      for (const Include& include : includes_of(source.text)) {
        const std::string other = module_of(include.path);
        if (other != module && is_module(other)) included[module].insert(other);
      }
    }
  }
  Findings findings;
  for (const auto& [module, dependencies] : declared) {
    const std::string file = "headlight/" + module + "/CMakeLists.txt:1: ";
    std::set<std::string> linked = dependencies;
    for (const std::string& dependency : dependencies) {
      linked.merge(modules_below(dependency));
      if (modules_below(module).contains(dependency)) continue;
      findings.push_back(file + module + " may not depend on " + dependency);
    }
    for (const std::string& needed : included[module]) {
      if (linked.contains(needed)) continue;
      findings.push_back(file + module + " includes " + needed + " and does not depend on it");
    }
  }
  return findings;
}

}  // namespace headlight::architecture
