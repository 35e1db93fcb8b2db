// Replacements one after the other, and where a text may be cut between them.
#include "headlight/text/clean_up.h"

#include <array>
#include <utility>

namespace headlight::text {

std::string cleaned_up(std::string text) {
  using Change = std::pair<std::string_view, std::string_view>;
  constexpr std::array<Change, 10> kChanges = {{{" .", "."},
                                                {" ?", "?"},
                                                {" !", "!"},
                                                {" ,", ","},
                                                {" ' ", "'"},
                                                {" n't", "n't"},
                                                {" 'm", "'m"},
                                                {" 's", "'s"},
                                                {" 've", "'ve"},
                                                {" 're", "'re"}}};
  for (const auto& [from, to] : kChanges) {
    std::string changed;
    size_t begin = 0;
    for (size_t at = 0; (at = text.find(from, begin)) != text.npos; begin = at + from.size()) {
      changed.append(text, begin, at - begin).append(to);
    }
    text = changed.append(text, begin);
  }
  return text;
}

// Each replacement begins with a space and has only these letters, before and after it, so that
// what stands before the first space behind the last other letter is certain.
std::string clean_up(std::string& waiting, std::string_view more) {
  constexpr std::string_view kReplaced = " .?!,'ntmsver";
  waiting += more;
  const size_t other = waiting.find_last_not_of(kReplaced);
  const size_t space = waiting.find(' ', other == waiting.npos ? 0 : other + 1);
  std::string certain = waiting.substr(0, space);
  waiting.erase(0, certain.size());
  return cleaned_up(std::move(certain));
}

}  // namespace headlight::text
