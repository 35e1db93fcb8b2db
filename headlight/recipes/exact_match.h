// The exam of a task that makes its own data: how many cases a model gets exactly right.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "headlight/data/data.h"
#include "headlight/io/io.h"
#include "headlight/models/models.h"
#include "headlight/ranks/ranks.h"

namespace headlight::recipes {

struct ExamCount {
  int64_t right = 0;
  int64_t cases = 0;

  double share() const { return static_cast<double>(right) / static_cast<double>(cases); }
};

// One of the ways in which cases are written: "en", "hyphens".
struct ExamForm {
  std::string kind;
  std::string form;
  std::string example;                                        // a source
  std::vector<std::pair<std::string, ExamCount>> parts = {};  // "held_out", ...; none without cases
};

// Shares from 0 to 1, of held-out cases.
struct ExactMatch {
  double all = 0;
  std::vector<std::pair<std::string, double>> kinds = {};  // for a task of several kinds: "en", ...
  std::vector<ExamForm> forms = {};                        // the same, and what else was asked
};

enum class ExamScope { held_out, whole };
struct ExamOptions {
  ExamScope scope = ExamScope::held_out;
  std::function<void(double share)> progress = {};  // told the share that is done
  ranks::Group* group = nullptr;                    // ranks that share the cases
};
// Greedy outputs of up to 1000 held-out cases of each form against what they should be; of the
// whole exam, if asked.
ExactMatch exact_match(base::ThreadPool& threads, const models::Model& model,
                       const data::GeneratedTask& task, const ExamOptions& options = {});

// {"exact_match", all} and {"exact_match_en", ...} for each kind.
io::Json::Object exact_match_json(const ExactMatch& result);
// [{"language": "en", "form": "hyphens", "example": "...", "held_out": {"right": 1000, "cases":
// 1000}, ...}, ...]
io::Json::Array exam_forms_json(const ExactMatch& result);

}  // namespace headlight::recipes
