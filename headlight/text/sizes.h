// How long a text's ids may be and how short they are filled up: truncation and padding of
// tokenizer.json. For text's own use.
#pragma once

#include <optional>

#include "headlight/text/component.h"
#include "headlight/text/model.h"

namespace headlight::text {

struct Sizes {
  struct Cut {
    int64_t longest = 0;    // what is put around the text included
    bool at_front = false;  // the last ids are kept, not the first
  };
  struct Filling {
    int64_t length = 0;       // 0: as long as the text is
    int64_t multiple_of = 1;  // lengths are rounded up to multiples of it
    int64_t id = 0;
    bool at_front = false;
  };
  std::optional<Cut> cut = {};
  std::optional<Filling> filling = {};

  // The ids of a text, with `around` more to come, as far as they are kept.
  void shorten(Ids& ids, int64_t around) const;
  void fill(Ids& ids) const;
};

// Throws Error(bad_input) for what no single text can have.
Sizes read_sizes(const Component& truncation, const Component& padding,
                 const Vocabulary& vocabulary);

}  // namespace headlight::text
