// The rules of the house as functions over the sources. Each gives one sentence per breach,
// "file:line: what is wrong"; none: all is well.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::architecture {

struct Source {
  std::string path;  // from the root, with '/'
  std::string text;
};

struct Exception {
  std::string path;
  std::string reason;
};

using Sources = std::vector<Source>;
using Findings = std::vector<std::string>;

// All text files of the project, sorted by path.
Sources read_sources(const std::filesystem::path& root);

// Includes point downwards, other modules and programs are entered by their doors, insides of
// kernels stay inside. headlight/headlight.h includes every door, and no module includes it.
Findings check_includes(const Sources& sources);
// DEPENDS in headlight/*/CMakeLists.txt is allowed by the order and covers what is included.
Findings check_links(const Sources& sources);
// Files of at most 500 lines, doors of at most 250. An exception that is not needed is a finding
// too.
Findings check_sizes(const Sources& sources, const std::vector<Exception>& exceptions);
// A program stays small beside the library: each of apps/, and each room of the server, has at most
// 66 sources and 15 % of the lines of both.
Findings check_programs(const Sources& sources);
// Every source opens with a comment, every header is guarded.
Findings check_openings(const Sources& sources);
// No unfinished work and no names that say nothing.
Findings check_words(const Sources& sources);
// The engine does not print, exit or abort.
Findings check_silence(const Sources& sources);
// No path of somebody's machine in any file.
Findings check_paths(const Sources& sources);
// Who uses models neither names one of these types nor compares what type() gives.
Findings check_model_types(const Sources& sources, const std::vector<std::string_view>& types);

// Above the engine only explain/operations names the steps inside operations ("masked_scores").
Findings check_fine_steps(const Sources& sources);

}  // namespace headlight::architecture
