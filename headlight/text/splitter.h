// How a text is split into pieces that are tokenized one by one. For text's own use.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "headlight/text/component.h"
#include "headlight/text/pattern.h"

namespace headlight::text {

// Takes the pieces in their order.
using PieceTaker = std::function<void(std::string_view)>;

// What becomes of the places that a pattern finds.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

class Splitter {
 public:
  // Without a component the text is one piece.
  explicit Splitter(const Component& component);

  // Whether pieces are bytes of the text: what a byte-level component at the end gives. Elsewhere a
  // byte-level component writes them in its alphabet.
  bool gives_bytes() const { return gives_bytes_; }
  bool is_by_character() const;
  // Whether where a stretch stands in the text makes a difference.
  bool minds_the_beginning() const;
  // Pieces of a stretch of text, none of them empty; `is_beginning`: the text begins with it.
  void split(std::string_view text, bool is_beginning, const PieceTaker& take) const;

 private:
  enum class Kind {
    prefix_space,
    gpt2,
    byte_letters,
    white_space,
    words,
    bert,
    characters,
    digits,
    punctuation,
    pattern,
    metaspace,
  };
  enum class Scheme { always, first, never };
  struct Step {
    Kind kind;
    SplitBehavior behavior = SplitBehavior::isolated;
    bool is_inverted = false;
    std::optional<Pattern> pattern = {};
    // Of metaspace.
    std::string replacement = {};
    Scheme scheme = Scheme::always;
    bool splits = true;
  };
  class Run;

  void add(const Component& component);
  void add_metaspace(const Component& component);
  void add_split(const Component& component);

  std::vector<Step> steps_ = {};
  bool gives_bytes_ = false;
};

// GPT-2's pieces: contractions, letters, numbers, other marks, each with a space before it, and
// white space.
void split_as_gpt2(std::string_view text, const PieceTaker& take);

// The component whose pieces are single code points.
io::Json character_splitter();

}  // namespace headlight::text
