// What is done to a text before it is split. For text's own use.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/text/charsmap.h"
#include "headlight/text/component.h"
#include "headlight/text/pattern.h"
#include "headlight/text/sentence_piece_text.h"

namespace headlight::text {

class Normalizer {
 public:
  explicit Normalizer(const Component& component);

  bool does_nothing() const { return steps_.empty(); }
  // Whether a text may lose its first characters.
  bool may_take_from_front() const;
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
    nmt,           // no controls, other spaces as spaces
    replace,
    prepend,
    byte_letters,
    charsmap,
    sentence_piece,
    strip_left,
    strip_right,
  };
  struct Change {
    Step step;
    std::optional<Pattern> pattern = {};
    std::string content = {};  // what is put in its place, or first
    std::optional<Charsmap> charsmap = {};
    std::optional<SentencePieceText> sentence_piece = {};
  };

  void add(const Component& component);
  void add(Step step) { steps_.push_back({step}); }
  void add_bert(const Component& component);
  void add_replace(const Component& component);
  void add_charsmap(const Component& component);
  static bool is_local(const Change& change);
  static std::string applied(const Change& change, std::string_view text, size_t longest);

  std::vector<Change> steps_;
};

}  // namespace headlight::text
