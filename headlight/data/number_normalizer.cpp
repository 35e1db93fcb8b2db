// The steps, and which spellings stand for which words.
#include "headlight/data/number_normalizer.h"

#include <set>
#include <string>
#include <vector>

#include "headlight/data/number_lexicon.h"

namespace headlight::data {
namespace {

using io::Json;

struct MarkedLetter {
  std::string_view letter;
  std::string_view bare;
};
constexpr MarkedLetter kMarkedLetters[] = {{"ı", "i"}, {"ü", "u"}, {"ö", "o"},
                                           {"ç", "c"}, {"ş", "s"}, {"ə", "e"}};

Json replace(std::string_view pattern, std::string_view content) {
  return Json::Object{{"type", "Replace"},
                      {"pattern", Json::Object{{"String", std::string(pattern)}}},
                      {"content", std::string(content)}};
}

// The word with each of its marked letters as it is or bare, in all combinations.
std::vector<std::string> spellings(std::string_view word) {
  std::vector<std::string> all = {""};
  while (!word.empty()) {
    std::string_view letter = word.substr(0, 1), bare;
    for (const MarkedLetter& marked : kMarkedLetters) {
      if (!word.starts_with(marked.letter)) continue;
      letter = marked.letter;
      bare = marked.bare;
    }
    word.remove_prefix(letter.size());
    const size_t count = all.size();
    for (size_t i = 0; i < count; ++i) {
      if (!bare.empty()) all.push_back(all[i] + std::string(bare));
      all[i] += letter;
    }
  }
  return all;
}

std::vector<std::string_view> marked_words() {
  std::vector<std::string_view> words;
  for (const NumberLexicon* lexicon : {&kTurkishNumbers, &kAzerbaijaniNumbers}) {
    words.insert(words.end(), lexicon->small.begin(), lexicon->small.end());
    words.insert(words.end(), lexicon->tens.begin(), lexicon->tens.end());
    words.push_back(lexicon->hundred);
  }
  return words;
}

}  // namespace

io::Json number_normalizer() {
  const std::string dot_above = "\u0307";  // small İ is i with it
  Json::Array steps = {Json::Object{{"type", "NFKC"}}, Json::Object{{"type", "Lowercase"}},
                       replace(dot_above, "")};
  for (const std::string_view dash : {"\u2010", "\u2011", "\u2013", "\u2014", "\u2212"})
    steps.push_back(replace(dash, "-"));
  for (const std::string_view mark : {",", "."}) steps.push_back(replace(mark, " "));
  steps.push_back(Json::Object{
      {"type", "Replace"}, {"pattern", Json::Object{{"Regex", R"(\s+)"}}}, {"content", " "}});
  steps.push_back(Json::Object{{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
  // What is a word itself stays: seksen is Turkish, and səksən without its letters.
  const std::vector<std::string_view> words = marked_words();
  std::set<std::string> known(words.begin(), words.end());
  for (const std::string_view word : words) {
    for (const std::string& spelling : spellings(word)) {
      if (known.insert(spelling).second) steps.push_back(replace(spelling, word));
    }
  }
  return Json::Object{{"type", "Sequence"}, {"normalizers", std::move(steps)}};
}

}  // namespace headlight::data
