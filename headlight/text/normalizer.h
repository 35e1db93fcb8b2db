// What is done to a text before it is split. For text's own use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/text/component.h"

namespace headlight::text {

class Normalizer {
 public:
  explicit Normalizer(const Component& component);

  bool does_nothing() const { return steps_.empty(); }
  std::string apply(std::string_view text) const;

 private:
  enum class Step {
    nfc,
    nfd,
    nfkc,
    nfkd,
    lower_case,
    remove_marks,
    remove_nonspacing_marks,
    clean,         // BERT's: no controls, one kind of space
    part_chinese,  // BERT's: spaces around Chinese characters
    replace_text,
    replace_white_space,  // each run of it
    strip_left,
    strip_right,
  };
  struct Change {
    Step step;
    std::string pattern = {};  // of replace_text
    std::string content = {};  // what is put in its place
  };

  void add(const Component& component);
  void add(Step step) { steps_.push_back({step}); }
  void add_bert(const Component& component);
  void add_replace(const Component& component);
  static std::string applied(const Change& change, std::string_view text);

  std::vector<Change> steps_;
};

}  // namespace headlight::text
