// Greedy outputs against what they should be.
#include "headlight/recipes/exact_match.h"

#include <algorithm>

#include "headlight/infer/infer.h"

namespace headlight::recipes {
namespace {

// `progress`: told the share of these pairs that is done.
ExamCount count_right(autograd::Context& context, const models::Model& model,
                      const data::PairSet& pairs, ranks::Group& group,
                      std::function<void(double share)> progress) {
  const ranks::Range own = group.own_part(pairs.size());
  std::vector<std::vector<int64_t>> sources;
  for (int64_t i = own.first; i < own.end; ++i) sources.push_back(pairs.source(i));
  const auto outputs =
      infer::greedy_outputs(context, model, sources, {.progress = std::move(progress)});
  double right = 0;
  for (int64_t i = own.first; i < own.end; ++i)
    right += outputs[static_cast<size_t>(i - own.first)].ids == pairs.target(i) ? 1 : 0;
  ExamCount count{.cases = pairs.size()};
  for (const double each : group.gather(std::span(&right, 1)))
    count.right += static_cast<int64_t>(each);
  return count;
}

ExamForm& form_of(std::vector<ExamForm>& forms, const data::TaskCases& cases,
                  const text::Tokenizer& tokenizer) {
  for (ExamForm& form : forms) {
    if (form.kind == cases.kind && form.form == cases.form) return form;
  }
  const int64_t last = cases.pairs.size() - 1;
  return forms.emplace_back(
      ExamForm{cases.kind, cases.form, tokenizer.decode(cases.pairs.source(last))});
}

void add(const ExamCount& count, ExamCount& to) {
  to.right += count.right;
  to.cases += count.cases;
}

std::vector<data::ExamPart> exam_of(const data::GeneratedTask& task, ExamScope scope) {
  constexpr int64_t kHeldOutOfExam = 1000;  // of each form
  if (scope == ExamScope::whole) return task.exam(kHeldOutOfExam);
  return {{"held_out", task.held_out(kHeldOutOfExam)}};
}

int64_t cases_of(const std::vector<data::ExamPart>& exam) {
  int64_t count = 0;
  for (const data::ExamPart& part : exam) {
    for (const data::TaskCases& cases : part.forms) count += cases.pairs.size();
  }
  return count;
}

}  // namespace

ExactMatch exact_match(base::ThreadPool& threads, const models::Model& model,
                       const data::GeneratedTask& task, const ExamOptions& options) {
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena};
  ranks::Group alone;
  ranks::Group& group = options.group == nullptr ? alone : *options.group;
  ExactMatch result;
  ExamCount all;
  std::vector<std::pair<std::string, ExamCount>> kinds;
  const std::vector<data::ExamPart> exam = exam_of(task, options.scope);
  const int64_t asked = cases_of(exam);
  double done = 0;
  for (const data::ExamPart& part : exam) {
    for (const data::TaskCases& cases : part.forms) {
      if (cases.pairs.size() == 0) continue;
      const ExamCount count = count_right(context, model, cases.pairs, group, [&](double share) {
        if (!options.progress) return;
        const double answered = done + share * static_cast<double>(cases.pairs.size());
        options.progress(answered / static_cast<double>(asked));
      });
      done += static_cast<double>(count.cases);
      if (!cases.form.empty())
        form_of(result.forms, cases, task.tokenizer()).parts.emplace_back(part.name, count);
      if (&part != &exam.front()) continue;
      add(count, all);
      if (kinds.empty() || kinds.back().first != cases.kind)
        kinds.emplace_back(cases.kind, ExamCount{});
      add(count, kinds.back().second);
    }
  }
  result.all = all.share();
  for (const auto& [kind, count] : kinds) {
    if (!kind.empty()) result.kinds.emplace_back(kind, count.share());
  }
  return result;
}

io::Json::Object exact_match_json(const ExactMatch& result) {
  io::Json::Object facts{{"exact_match", result.all}};
  for (const auto& [kind, share] : result.kinds) facts.emplace_back("exact_match_" + kind, share);
  return facts;
}

io::Json::Array exam_forms_json(const ExactMatch& result) {
  io::Json::Array forms;
  for (const ExamForm& form : result.forms) {
    io::Json::Object facts{{"language", form.kind}, {"form", form.form}, {"example", form.example}};
    for (const auto& [part, count] : form.parts) {
      facts.emplace_back(part, io::Json::Object{{"right", count.right}, {"cases", count.cases}});
    }
    forms.emplace_back(std::move(facts));
  }
  return forms;
}

}  // namespace headlight::recipes
