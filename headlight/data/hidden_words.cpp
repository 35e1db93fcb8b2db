// Which words are hidden, and by what.
#include "headlight/data/hidden_words.h"

#include <algorithm>

namespace headlight::data {

HiddenWords hidden_words(const text::Tokenizer& tokenizer, const std::string& name) {
  std::optional<int64_t> mask = tokenizer.special().mask;
  for (const char* known : {"[MASK]", "<mask>"}) {
    if (!mask) mask = tokenizer.find(known);
  }
  if (!mask) {
    base::refuse("tokenizer", name, "has no token [MASK] or <mask> to hide words with");
  }
  HiddenWords hidden{.mask = *mask};
  for (int64_t id = 0; id < tokenizer.size(); ++id) {
    hidden.is_word.push_back(!tokenizer.is_special(id) && id != *mask);
    if (hidden.is_word.back()) hidden.words.push_back(id);
  }
  return hidden;
}

void hide_words(const HiddenWords& hidden, uint64_t key, std::span<int64_t> ids,
                std::span<int64_t> targets) {
  constexpr float kHidden = 0.15F;
  constexpr float kByMask = 0.8F;
  constexpr float kByAnother = 0.9F;
  const base::Random random(key);
  std::ranges::fill(targets, -1);
  std::vector<size_t> places;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (hidden.is_word[static_cast<size_t>(ids[i])]) places.push_back(i);
  }
  bool any = false;
  for (size_t n = 0; n < places.size(); ++n) {
    const size_t at = places[n];
    const bool is_last_chance = n + 1 == places.size() && !any;
    if (random.uniform(4 * at) >= kHidden && !is_last_chance) continue;
    any = true;
    targets[at] = ids[at];
    const float how = random.uniform(4 * at + 1);
    if (how < kByMask) {
      ids[at] = hidden.mask;
    } else if (how < kByAnother) {
      ids[at] = hidden.words[random.below(4 * at + 2, hidden.words.size())];
    }
  }
}

}  // namespace headlight::data
