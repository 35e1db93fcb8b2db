// Habits of people who come from other programs: what they type, and what it is called here.
#pragma once

#include <string>
#include <string_view>

namespace headlight::recipes {

// One of the two is empty; both are when the habit is not known.
struct HabitAnswer {
  std::string_view option = {};  // the same here, without dashes: "learning-rate"
  std::string_view sentence = {};
};

// For an option that `command` does not have, or a key of a configuration file (of "train"). Typed
// with or without dashes before it, `_` and `-` are equal: "--lr", "num_train_epochs", "-m".
HabitAnswer answer_to_option(std::string_view command, std::string_view typed);

// For a word that is no command; empty when it is not known. Commands in it are written
// `headlight info`.
std::string_view answer_to_command(std::string_view typed);

}  // namespace headlight::recipes
