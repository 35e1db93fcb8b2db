// The rules about the text of files: sizes, openings, words, silence, paths.
#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "tests/architecture/modules.h"
#include "tests/architecture/rules.h"
#include "tests/architecture/source.h"

namespace headlight::architecture {
namespace {

constexpr size_t kFileLines = 500;
constexpr size_t kDoorLines = 250;
constexpr size_t kProgramFiles = 66;
constexpr size_t kProgramShare = 15;  // in 100

std::string place(const Source& source, size_t at) {
  const auto line = 1 + std::count(source.text.begin(),
                                   source.text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  return source.path + ":" + std::to_string(line) + ": ";
}

// A finding for each place where one of the words stands in `text`, which has the lines of the
// source's.
template <class Words>
void find_words(const Source& source, std::string_view text, const Words& words,
                const std::string& complaint, Findings& findings) {
  for (const std::string_view word : words) {
    for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
      const size_t end = at + word.size();
      const bool starts = !is_word_character(word.front()) || starts_word(text, at);
      const bool ends =
          end == text.size() || !is_word_character(word.back()) || !is_word_character(text[end]);
      if (starts && ends) {
        findings.push_back(place(source, at) + std::string(word) + " " + complaint);
      }
    }
  }
}

// Whether a name, in any of the spellings, has a part that says nothing about what is inside.
bool is_empty_name(std::string name) {
  static const std::set<std::string> words = {"util",   "utils",   "utility", "utilities", "common",
                                              "helper", "helpers", "manager", "misc"};
  std::string part;
  name += '_';
  for (const char c : name) {
    const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (upper || std::isalnum(static_cast<unsigned char>(c)) == 0) {
      if (words.contains(part)) return true;
      part.clear();
    }
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      part += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return false;
}

void find_empty_names(const Source& source, Findings& findings) {
  if (is_empty_name(source.path)) findings.push_back(source.path + ":1: the name says nothing");
  const std::string code = code_of(source.text);
  for (const std::string_view keyword : {"namespace ", "class ", "struct "}) {
    for (size_t at = code.find(keyword); at != code.npos; at = code.find(keyword, at + 1)) {
      const size_t begin = at + keyword.size();
      const size_t end = std::min(code.find_first_of(" {;<\n", begin), code.size());
      const std::string name = code.substr(begin, end - begin);
      if (is_empty_name(name)) findings.push_back(place(source, at) + name + " says nothing");
    }
  }
}

}  // namespace

Sources read_sources(const std::filesystem::path& root) {
  namespace fs = std::filesystem;
  static const std::set<std::string> kinds = {".h",    ".cpp", ".txt", ".cmake", ".in",  ".md",
                                              ".json", ".svg", ".sh",  ".ts",    ".mjs", ""};
  Sources sources;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::end(entry); ++entry) {
    const std::string name = entry->path().filename().string();
    const bool hidden = name.starts_with(".") && name != ".ci";
    const bool is_foreign = name == "corpus" || name == "node_modules" || name == "dist";
    if (entry->is_directory() && (hidden || name.starts_with("build") || is_foreign)) {
      entry.disable_recursion_pending();
    }
    if (hidden || !entry->is_regular_file() || !kinds.contains(entry->path().extension().string()))
      continue;
    std::ifstream file(entry->path(), std::ios::binary);
    sources.push_back({fs::relative(entry->path(), root).generic_string(),
                       std::string(std::istreambuf_iterator<char>(file), {})});
  }
  std::sort(sources.begin(), sources.end(),
            [](const Source& a, const Source& b) { return a.path < b.path; });
  return sources;
}

Findings check_sizes(const Sources& sources, const std::vector<Exception>& exceptions) {
  Findings findings;
  std::set<std::string> excused;
  for (const Exception& exception : exceptions) excused.insert(exception.path);
  for (const Source& source : sources) {
    if (!is_cpp(source.path)) continue;
    const size_t limit = is_door(source.path) ? kDoorLines : kFileLines;
    const size_t lines = lines_of(source.text).size();
    if (lines <= limit || excused.erase(source.path) != 0) continue;
    findings.push_back(source.path + ":" + std::to_string(lines) + ": more than " +
                       std::to_string(limit) + " lines");
  }
  for (const std::string& path : excused) {
    findings.push_back(path + ":1: is an exception from the sizes and needs none");
  }
  return findings;
}

Findings check_programs(const Sources& sources) {
  struct Program {
    size_t files = 0;
    size_t lines = 0;
  };
  std::map<std::string, Program> programs;
  size_t all_lines = 0;
  for (const Source& source : sources) {
    const bool is_app = source.path.starts_with("apps/");
    if (!is_cpp(source.path) || !(is_app || source.path.starts_with("headlight/"))) continue;
    const size_t lines = lines_of(source.text).size();
    all_lines += lines;
    if (!is_app) continue;
    Program& program = programs[program_of(source.path)];
    ++program.files;
    program.lines += lines;
  }
  Findings findings;
  for (const auto& [name, program] : programs) {
    if (program.files > kProgramFiles) {
      findings.push_back(name + ":1: has " + std::to_string(program.files) +
                         " sources, more than " + std::to_string(kProgramFiles));
    }
    if (100 * program.lines > kProgramShare * all_lines) {
      findings.push_back(name + ":1: has " + std::to_string(program.lines) + " of " +
                         std::to_string(all_lines) + " lines, more than " +
                         std::to_string(kProgramShare) + " %");
    }
  }
  return findings;
}

Findings check_openings(const Sources& sources) {
  Findings findings;
  for (const Source& source : sources) {
    if (!is_cpp(source.path)) continue;
    if (!source.text.starts_with("// ")) {
      findings.push_back(source.path + ":1: does not open with a comment on what is here");
    }
    if (!source.path.ends_with(".h")) continue;
    // What Highway compiles once per instruction set is guarded once per instruction set.
    const bool once = source.text.find("\n#pragma once\n") != std::string::npos;
    const bool per_target = source.text.find("HWY_TARGET_TOGGLE") != std::string::npos;
    if (!once && !(per_target && source.path.ends_with("-inl.h"))) {
      findings.push_back(source.path + ":1: has no #pragma once");
    }
  }
  return findings;
}

Findings check_words(const Sources& sources) {
  // Written in halves, so that this file does not find itself.
  static const std::array<std::string, 4> unfinished = {
      "TO"
      "DO",
      "FIX"
      "ME",
      "XX"
      "X",
      "HA"
      "CK"};
  Findings findings;
  for (const Source& source : sources) {
    find_words(source, source.text, unfinished, "marks unfinished work", findings);
    if (is_cpp(source.path)) find_empty_names(source, findings);
  }
  return findings;
}

Findings check_silence(const Sources& sources) {
  static const std::array<std::string_view, 16> loud = {
      "std::cout", "std::cerr",  "std::clog",  "printf(",    "fprintf(", "vprintf(",
      "puts(",     "putchar(",   "perror(",    "exit(",      "_exit(",   "_Exit(",
      "abort(",    "terminate(", "fmt::print", "quick_exit("};
  Findings findings;
  for (const Source& source : sources) {
    if (!is_cpp(source.path) || !source.path.starts_with("headlight/")) continue;
    find_words(source, code_of(source.text), loud, "has no place in the engine", findings);
  }
  return findings;
}

Findings check_paths(const Sources& sources) {
  static const std::array<std::string, 4> places = {
      "/wo"
      "rk/",
      "/ho"
      "me/",
      "/ro"
      "ot/",
      "/t"
      "mp/"};
  Findings findings;
  for (const Source& source : sources) {
    find_words(source, source.text, places, "is a path of one machine", findings);
  }
  return findings;
}

}  // namespace headlight::architecture
