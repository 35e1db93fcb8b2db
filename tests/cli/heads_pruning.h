// Runs of `headlight heads gates`, `prune`, `curve` and `bench` on a model that takes no time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "headlight/io/io.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/program.h"
#include "tests/cli/train_runs.h"

namespace headlight::test {

// Enough lines for some to be measured on: every 20th.
inline std::string many_pairs() {
  std::string lines;
  for (int i = 0; i < 14; ++i) {
    lines +=
        "When you play the game of thrones\tyou win or you die\n"
        "When the sun rises over the sea\tthe boats come home\n"
        "When winter comes to the north\tthe wolves sing at night\n";
  }
  return lines;
}

// The model thrones has 6 heads: encoder.0.self, decoder.0.self and decoder.0.cross with 2 each.
class HeadsPruning : public testing::Test {
 protected:
  // A folder's name that is new each time.
  std::string new_folder() { return folder_ / ("new" + std::to_string(number_++)); }

  Words gates(const Words& more = {}) {
    return Words{"heads", "gates",   "thrones", "--data", pairs_,      "--penalty",
                 "0.02",  "--steps", "8",       "--out",  new_folder()} +
           more;
  }
  Words prune(const Words& more = {}) {
    return Words{"heads",    "prune",  "thrones", "--keep", "0.5",       "--by",
                 "gradient", "--data", pairs_,    "--out",  new_folder()} +
           more;
  }
  Words curve(const Words& more = {}) const {
    return Words{"heads",     "curve",           "thrones",         "--data", pairs_,
                 "--methods", "gradient,random", "--random-orders", "3",      "--finetune",
                 "2",         "--shares",        "0,0.5,1"} +
           more;
  }
  Words bench(const Words& more = {}) {
    if (half_.empty()) {
      half_ = folder_ / "half";
      run({"heads", "prune", "thrones", "--heads-off",
           "encoder.0.self.0,decoder.0.self.1,decoder.0.cross.1", "--out", half_, "--quiet"});
    }
    return Words{"heads", "bench",    "thrones", half_,       "--batches",
                 "1,2",   "--tokens", "4,8",     "--seconds", "0.01"} +
           more;
  }
  std::vector<Words> all_commands() {
    return {gates(), prune({"--finetune", "2"}), curve(), bench()};
  }

  static ProgramRun run(const Words& words) {
    ProgramRun run = run_program(words);
    EXPECT_EQ(run.code, 0) << run.errors;
    return run;
  }
  static io::Json json_of(const Words& words) {
    return io::parse_json(run(words + Words{"--json"}).output, "output");
  }
  static std::string out_of(const Words& words) { return *(std::ranges::find(words, "--out") + 1); }
  static std::string text_of(const std::string& path) {
    return base::read_all(*base::open_input(base::real_files(), path), 1 << 20);
  }
  Words files_in_folder() const {
    Words names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "."))
      names.push_back(entry.path().filename());
    return names;
  }

  TemporaryFolder folder_;
  std::string pairs_ = folder_.put("pairs.tsv", many_pairs());
  std::string half_;
  int number_ = 0;
};

}  // namespace headlight::test
