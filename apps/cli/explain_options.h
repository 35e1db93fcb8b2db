// Options of `headlight explain`: what they say, decided from the command line alone.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/cli/program.h"
#include "headlight/explain/explain.h"

namespace headlight::cli {

enum class ExplainFormat { text, json, html, safetensors };

struct ExplainOptions {
  std::string text;
  std::optional<std::string> target;
  std::string language = "en";
  ExplainFormat format = ExplainFormat::text;
  std::optional<std::string> out;
  std::set<int> steps;             // empty: all
  std::vector<std::string> names;  // of tensors
  std::optional<std::string> cell;
  std::set<int64_t> layers;  // empty: as many as are readable
  bool has_model = false;
  std::optional<std::string> sentences;  // a file
  std::optional<std::string> weights;    // a file
  recipes::WorkedModelOptions worked;
  bool train = false;
  bool backward = false;
  std::set<std::string> variants;  // keys of those asked for: "scale.width", "norm.pre"
  bool special = false;

  // Why a number is what it is, and nothing else.
  bool answers_cell() const { return cell && !backward; }
  bool shows(int step) const { return names.empty() && (steps.empty() || steps.contains(step)); }
};

extern const std::span<const Option> kExplainOptions;
ExplainOptions read_explain_options(const Session& session);

}  // namespace headlight::cli
