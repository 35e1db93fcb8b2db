// Small training runs through the program, and what they leave.
#pragma once

#include <string>
#include <vector>

#include "headlight/io/io.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/program.h"

namespace headlight::test {

using Words = std::vector<std::string>;

inline Words operator+(Words words, const Words& others) {
  words.insert(words.end(), others.begin(), others.end());
  return words;
}

// The smallest copying machine: a run of less than a second.
inline Words small_copy(const std::string& folder, int64_t steps = 30) {
  return {"train",
          "--task",
          "copy",
          "--n_layer",
          "1",
          "--n_embd",
          "16",
          "--n_head",
          "2",
          "--batch_size",
          "8",
          "--max_iters",
          std::to_string(steps),
          "--eval_interval",
          "10",
          "--out",
          folder};
}

// Everything that must be the same after a run that was interrupted: the best model and all that a
// run goes on from.
inline std::string result_of(const TemporaryFolder& folder, const std::string& run,
                             int64_t steps = 30) {
  const std::string number = std::to_string(steps);
  std::string all;
  for (const std::string& name :
       {std::string("model.safetensors"), std::string("config.json"), std::string("tokenizer.json"),
        "checkpoint/model-" + number + ".safetensors",
        "checkpoint/optimizer-" + number + ".safetensors",
        std::string("checkpoint/manifest.json")}) {
    all += name + "\n" + folder.get(run + "/" + name) + "\n";
  }
  return all;
}

// The lines of a log or of --json.
inline std::vector<io::Json> events_of(const std::string& text) {
  std::vector<io::Json> events;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    events.push_back(io::parse_json(text.substr(begin, end - begin), "events"));
    begin = end + 1;
  }
  return events;
}
inline std::vector<io::Json> events_called(const std::string& name, const std::string& text) {
  std::vector<io::Json> events;
  for (io::Json& event : events_of(text)) {
    if (*event.find("event")->text() == name) events.push_back(std::move(event));
  }
  return events;
}

}  // namespace headlight::test
