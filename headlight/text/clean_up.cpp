// Replacements, each of which reads what the one before it gives.
#include "headlight/text/clean_up.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace headlight::text {
namespace {

struct Change {
  std::string_view from;
  std::string_view to;
};

constexpr std::array<Change, std::tuple_size_v<Uncleaned>> kChanges = {{{" .", "."},
                                                                        {" ?", "?"},
                                                                        {" !", "!"},
                                                                        {" ,", ","},
                                                                        {" ' ", "'"},
                                                                        {" n't", "n't"},
                                                                        {" 'm", "'m"},
                                                                        {" 's", "'s"},
                                                                        {" 've", "'ve"},
                                                                        {" 're", "'re"}}};

// Bytes at the end of `text` that may be the beginning of `whole`.
size_t begun_length(std::string_view text, std::string_view whole) {
  size_t length = std::min(text.size(), whole.size() - 1);
  while (!text.ends_with(whole.substr(0, length))) --length;
  return length;
}

std::string changed(const Change& change, std::string& waiting, const std::string& more) {
  const std::string text = std::move(waiting) + more;
  std::string_view rest = text;
  std::string result;
  for (size_t at = 0; (at = rest.find(change.from)) != rest.npos;) {
    result.append(rest, 0, at).append(change.to);
    rest.remove_prefix(at + change.from.size());
  }
  const size_t certain = rest.size() - begun_length(rest, change.from);
  waiting = rest.substr(certain);
  return result.append(rest, 0, certain);
}

}  // namespace

std::string cleaned_up(std::string text) {
  Uncleaned nothing;
  return finish_clean_up(nothing, std::move(text));
}

std::string clean_up(Uncleaned& waiting, std::string more) {
  for (size_t i = 0; i < kChanges.size(); ++i) more = changed(kChanges[i], waiting[i], more);
  return more;
}

std::string finish_clean_up(Uncleaned& waiting, std::string last) {
  for (size_t i = 0; i < kChanges.size(); ++i) {
    last = changed(kChanges[i], waiting[i], last);
    last += std::exchange(waiting[i], {});
  }
  return last;
}

}  // namespace headlight::text
