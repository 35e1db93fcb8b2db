// Words of the catalogue's texts.
#include "tests/narrate/catalogue_words.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace headlight::test {
namespace {

using Letters = std::u32string;

Letters letters_of(const std::string& text) {
  Letters letters;
  for (size_t at = 0; at < text.size();) {
    const text::CodePoint point = text::code_point_at(text, at);
    letters.push_back(point.value);
    at += point.length;
  }
  return letters;
}

std::string text_of(const Letters& letters) {
  std::string text;
  for (const char32_t letter : letters) text::append(text, letter);
  return text;
}

// Without what a careless typist leaves out.
Letters folded(Letters letters) {
  static const std::map<char32_t, char32_t> plain = {{U'ı', U'i'}, {U'ş', U's'}, {U'ç', U'c'},
                                                     {U'ğ', U'g'}, {U'ö', U'o'}, {U'ü', U'u'},
                                                     {U'ə', U'e'}};
  for (char32_t& letter : letters) {
    const auto found = plain.find(letter);
    if (found != plain.end()) letter = found->second;
  }
  return letters;
}

std::vector<std::string> words_of(std::string term) {
  std::replace_if(
      term.begin(), term.end(), [](char c) { return c == '(' || c == ')'; }, ' ');
  std::vector<std::string> words;
  for (const std::string_view word : text::words(term)) words.emplace_back(word);
  return words;
}

// What stays of a word whatever suffix follows: ağırlık, ağırlığı; ölçekleme, ölçeklenmiş.
std::string stem_of(std::string_view language, const std::string& word) {
  if (language == "ko") {
    static const std::map<std::string, std::string> stems = {{"스케일링", "스케일"},
                                                             {"합치기", "합"}};
    const auto found = stems.find(word);
    return found == stems.end() ? word : found->second;
  }
  if (word == "kayıp") return "kay";  // kaybı
  Letters letters = letters_of(word);
  const auto ends_with = [&](const Letters& end) {
    return letters.size() > end.size() + 4 &&
           letters.compare(letters.size() - end.size(), end.size(), end) == 0;
  };
  if (ends_with(U"me") || ends_with(U"ma") || ends_with(U"mə")) {
    letters.resize(letters.size() - 2);
  } else if (Letters(U"kqtçp").find(letters.back()) != Letters::npos) {
    letters.pop_back();
  }
  return text_of(letters);
}

bool is_word_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
}

bool has_word(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool starts = at == 0 || !is_word_letter(text[at - 1]);
    // A name with a parenthesis is a formula's, not a sentence's.
    if (starts && (end == text.size() || (!is_word_letter(text[end]) && text[end] != '('))) {
      return true;
    }
  }
  return false;
}

std::string without_placeholders(std::string text) {
  for (size_t open = text.find('{'); open != std::string::npos; open = text.find('{')) {
    text.erase(open, text.find('}', open) + 1 - open);
  }
  return text;
}

}  // namespace

bool uses_english_term(const std::string& key, const std::string& text, const std::string& term) {
  // "Mean distance" is no mean of a norm, this intro lists names of a program, and pages have keys
  // to press.
  static const std::map<std::string, std::string> others = {
      {"label.distance", "mean"},
      {"lesson.from-scratch.intro", "dropout"},
      {"page.help", "key"},
      {"page.key.help", "key"}};
  const auto other = others.find(key);
  if (other != others.end() && other->second == term) return false;
  static const std::map<std::string, std::vector<std::string>> forms = {
      {"query", {"query", "queries"}}, {"probability", {"probability", "probabilities"}},
      {"logits", {"logits", "logit"}}, {"mask", {"mask", "masks", "masked"}},
      {"scale", {"scale", "scaled"}},  {"concatenate", {"concatenate", "concatenated"}}};
  const auto special = forms.find(term);
  const std::vector<std::string> words =
      special == forms.end() ? std::vector<std::string>{term, term + "s"} : special->second;
  const std::string plain = text::lower(without_placeholders(text));
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return has_word(plain, word); });
}

bool uses_term(std::string_view language, const std::string& text, const std::string& term) {
  const std::string plain = text::lower(text, language);
  if (language == "en") return true;
  size_t at = 0;
  for (const std::string& word : words_of(text::lower(term, language))) {
    // The value of an ordinary sentence, any number, is 값 and qiymət.
    if (language == "ko" && word == "값") break;
    const size_t found = plain.find(stem_of(language, word), at);
    if (found == std::string::npos) {
      return (term == "밸류" && plain.find("값") != std::string::npos) ||
             (term == "dəyər" && plain.find("qiymət") != std::string::npos);
    }
    at = found;
  }
  return true;
}

std::string misspelled(std::string_view language, const std::string& text,
                       const std::string& term) {
  if (language != "tr" && language != "az") return "";
  const Letters own = letters_of(text::lower(text, language));
  const Letters plain = folded(own);
  for (const std::string& word : words_of(text::lower(term, language))) {
    const Letters stem = letters_of(stem_of(language, word));
    if (stem.size() < 4) continue;
    const Letters key = folded(stem);
    for (size_t at = plain.find(key); at != Letters::npos; at = plain.find(key, at + 1)) {
      const bool starts = at == 0 || !text::is_letter(plain[at - 1]);
      const std::string found = text_of(own.substr(at, stem.size()));
      // "basın" asks to press something and has nothing to do with "başın".
      if (starts && found != text_of(stem) && found != "basın") return found;
    }
  }
  return "";
}

bool has_number_with(const std::string& text, char separator) {
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == separator && std::isdigit(static_cast<unsigned char>(text[i - 1])) != 0 &&
        std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> rule_keys() {
  std::vector<std::string> keys = {"cell.combination.one", "cell.combination.nothing"};
  for (const auto& [name, operation] : explain::operation_table().operations) {
    for (const auto& one : operation.rule.ingredients) keys.push_back("cell.ingredient." + one.key);
    for (const auto& one : operation.rule.terms) keys.push_back("cell.term." + one.key);
    for (const auto& one : operation.rule.combinations) {
      keys.push_back("cell.combination." + one.key);
    }
    if (operation.gradient_text.empty()) continue;
    keys.push_back("backward." + operation.gradient_text);
    keys.push_back("formula.backward." + operation.gradient_text);
  }
  return keys;
}

std::vector<std::string> mistake_keys() {
  std::vector<std::string> keys;
  for (const char* anywhere : {"term_left_out", "factors_added", "sign", "decimal_point"}) {
    keys.push_back(std::string("mistake.") + anywhere);
  }
  for (const auto& [operation, practice] : explain::operation_table().practices) {
    for (const auto& mistake : practice.mistakes) keys.push_back("mistake." + mistake.key);
  }
  return keys;
}

const std::vector<std::string>& variant_keys() {
  static const std::vector<std::string> keys = {"scale.sqrt_head_width",
                                                "scale.sqrt_width",
                                                "scale.width",
                                                "scale.none",
                                                "norm.post",
                                                "norm.pre",
                                                "epsilon.inside",
                                                "epsilon.outside",
                                                "deviation.population",
                                                "deviation.sample",
                                                "feed_forward.two",
                                                "feed_forward.one",
                                                "position_index.pair",
                                                "position_index.column",
                                                "prediction.per_position",
                                                "prediction.flattened"};
  return keys;
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::string> table_cells(const std::string& line) {
  if (!line.starts_with("|")) return {};
  std::vector<std::string> cells = parts_of(line.substr(1), '|');
  for (std::string& cell : cells) {
    cell.erase(0, std::min(cell.find_first_not_of(' '), cell.size()));
    cell.erase(cell.find_last_not_of(' ') + 1);
  }
  return cells;
}

std::string key_of_term(const narrate::Catalogue& catalogue, const std::string& term) {
  for (const auto& [key, text] : catalogue.texts()) {
    if (key.starts_with("term.") && text == term) return key;
  }
  return "";
}

}  // namespace headlight::test
