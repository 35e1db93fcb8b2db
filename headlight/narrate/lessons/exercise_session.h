// ExerciseSession: exercises one after another, as a conversation of lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/narrate/lessons/exercises.h"

namespace headlight::narrate {

// What it is given must outlive it. All texts are lines, each ended.
class ExerciseSession {
 public:
  ExerciseSession(TextStyle style, const Catalogue& catalogue, const Lesson& lesson,
                  const std::vector<ShownStep>& steps, const std::vector<Exercise>& exercises);

  // What is to be done, and what counts as right.
  std::string introduction() const;
  // Whether there is nothing more to ask.
  bool is_over() const { return next_ == exercises_.size(); }
  // The exercise that is asked now; when it is asked again, nothing.
  std::string question() const;
  // What a line that was typed is answered with. A right number and "?" lead to the next exercise;
  // after anything else the same one is asked.
  std::string reply(std::string_view line);
  // How it went.
  std::string summary() const;

 private:
  std::string reply_to(double number);
  std::string shown_answer() const;
  std::string line(std::string_view key, const std::vector<Placeholder>& values = {}) const;
  void go_on();

  TextStyle style_;
  const Catalogue& catalogue_;
  const Lesson& lesson_;
  const std::vector<ShownStep>& steps_;
  const std::vector<Exercise>& exercises_;
  size_t next_ = 0;
  bool is_second_try_ = false;   // a number was wrong
  bool is_asked_again_ = false;  // something was typed
  int64_t right_at_once_ = 0;
  int64_t right_later_ = 0;
  int64_t shown_ = 0;
};

}  // namespace headlight::narrate
