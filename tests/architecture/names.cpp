// The rules about names: models are asked what they can do, and one place knows the insides of
// operations.
#include <algorithm>
#include <array>
#include <regex>

#include "tests/architecture/rules.h"
#include "tests/architecture/source.h"

namespace headlight::architecture {
namespace {

// Everything above models but recipes, whose presets and tokenizers bear some of the same names.
bool asks_models(const std::string& path) {
  constexpr std::array<std::string_view, 6> kFolders = {"apps/",
                                                        "headlight/explain/",
                                                        "headlight/heads/",
                                                        "headlight/infer/",
                                                        "headlight/narrate/",
                                                        "headlight/train/"};
  return is_cpp(path) && std::ranges::any_of(kFolders, [&path](std::string_view folder) {
           return path.starts_with(folder);
         });
}

void find_all(const Source& source, const std::string& text, const std::regex& pattern,
              const std::string& complaint, Findings& findings) {
  for (std::sregex_iterator found(text.begin(), text.end(), pattern), end; found != end; ++found) {
    const auto line = 1 + std::count(text.begin(), text.begin() + found->position(), '\n');
    findings.push_back(source.path + ":" + std::to_string(line) + ": " + complaint);
  }
}

}  // namespace

Findings check_model_types(const Sources& sources, const std::vector<std::string_view>& types) {
  static const std::regex comparison(R"(\btype\(\)\s*[!=]=|[!=]=\s*[\w.:>()-]*\btype\(\))");
  Findings findings;
  for (const Source& source : sources) {
    if (!asks_models(source.path)) continue;
    for (const std::string_view type : types) {
      const std::string literal = "\"" + std::string(type) + "\"";
      find_all(source, source.text, std::regex(literal),
               literal + " names a type of models; ask for a capability", findings);
    }
    find_all(source, code_of(source.text), comparison, "compares type(); ask for a capability",
             findings);
  }
  return findings;
}

// Above the engine only explain/operations knows the insides of operations. Lessons show numbers of
// runs of their own, and a trace file has a limit for one tensor.
Findings check_fine_steps(const Sources& sources) {
  constexpr const char* kSteps =
      "[\"'`](\\w+\\.)*\\.?(scaled_scores|capped_scores|masked_scores|row_max|row_sum|weighted_"
      "values|"
      "head_output|root_mean_square|weigh|sum_keys|scale_shift|sinusoid|softmax)[\"'`]";
  static const std::regex names(kSteps);
  constexpr std::string_view kUpper[] = {"headlight/explain/", "headlight/heads/",
                                         "headlight/recipes/", "headlight/narrate/", "apps/"};
  constexpr std::string_view kKnowing[] = {
      "headlight/explain/operations/", "headlight/narrate/lessons/", "headlight/narrate/catalogue/",
      "apps/cli/arrays/named_trace.cpp"};
  Findings findings;
  for (const Source& source : sources) {
    const auto starts = [&](std::string_view folder) { return source.path.starts_with(folder); };
    if (std::ranges::none_of(kUpper, starts) || std::ranges::any_of(kKnowing, starts)) continue;
    if (source.path.find("/embedded/") != std::string::npos) continue;
    find_all(source, source.text, names,
             "names a step inside an operation, which only explain/operations knows", findings);
  }
  return findings;
}

}  // namespace headlight::architecture
