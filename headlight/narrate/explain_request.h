// What is to be explained, and how it is to be told: decided before anything is computed.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "headlight/narrate/steps.h"
#include "headlight/narrate/text_layout.h"
#include "headlight/recipes/recipes.h"

namespace headlight::narrate {

// A document in a language, or all tensors as a file for other programs.
enum class ExplainFormat { text, json, html, safetensors };

struct ExplainRequest {
  // The model and its text. A model as recipes::load_named_model takes it; without one the worked
  // model is made over the three sentences that come along, or over those of a file.
  std::optional<std::string> model = {};
  std::string text = {};
  std::optional<std::string> target = {};
  // Instead of text and target, of models that need have no tokenizer.
  std::optional<std::vector<int64_t>> ids = {};
  std::optional<std::vector<int64_t>> target_ids = {};
  // How many tokens the model goes on by itself at most, which are read and shown like those given:
  // instead of a target. Absent: on a page some, where no target is known, elsewhere none.
  std::optional<int64_t> continues = {};
  bool special = false;  // texts of special tokens become these
  recipes::WorkedModelOptions worked = {};
  std::optional<std::string> sentences = {};      // a file of the worked model's data set
  std::string encoding = {};                      // of that file where it is not UTF-8
  std::vector<recipes::SentencePair> pairs = {};  // the data set itself, instead of a file
  std::optional<std::string> weights = {};        // a file with numbers of the worked model
  std::optional<std::string> weights_bytes = {};  // what such a file holds, instead of its name
  bool train = false;  // the worked model, which is shown before and after

  // What is told of it.
  std::string program = "headlight";  // how it was started, for commands to type
  bool is_typed = true;               // on a command line, whose options errors name
  std::string language = "en";
  ExplainFormat format = ExplainFormat::text;
  TextStyle style = {};                 // of text
  std::set<Step> steps = {};            // empty: all
  std::vector<std::string> names = {};  // of tensors: these alone
  std::optional<std::string> cell = {};
  std::set<int64_t> layers = {};        // empty: as many as are readable
  bool backward = false;                // the way from the loss to the weight `cell`, or to one
  bool skips_backward = false;          // not even where a page shows it without being asked
  std::set<std::string> variants = {};  // keys of those asked for: "scale.width", "norm.pre"
  // Heads are measured where they have at most so many weights together.
  int64_t most_weights = std::numeric_limits<int64_t>::max();

  // Why a number is what it is, and nothing else.
  bool answers_cell() const { return cell && !backward; }
  bool shows(Step step) const { return names.empty() && (steps.empty() || steps.contains(step)); }
};

// The command that gives the same run again, so that more can be asked of it: `./run explain MODEL
// --text "..." --train`. `written`: how many tokens the model may go on by itself.
std::string explain_command(const ExplainRequest& request, int64_t written = 0);

}  // namespace headlight::narrate
