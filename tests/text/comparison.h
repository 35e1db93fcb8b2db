// Tokenizers beside what others make of the same texts: folders that published_tokenizers.py makes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/io/io.h"
#include "tests/text/support.h"

namespace headlight::text {

// One kind: how many of its cases differ, and the first of them.
class Comparison {
 public:
  Comparison(std::string name, const std::string& folder, bool special,
             std::optional<int64_t> unknown)
      : name_(std::move(name)),
        tokenizer_(load_tokenizer(base::real_files(), folder)),
        special_(special),
        unknown_(unknown) {}

  void compare(const io::Json::Array& expected) {
    const std::string& text = *expected[0].text();
    Ids ids;
    for (const io::Json& id : *expected[1].array()) ids.push_back(*id.integer());
    ++count_;
    if (tokenizer_.encode(text, {.special = special_, .framed = true}) != ids) note("ids", text);
    if (expected[2].text() && tokenizer_.decode(ids) != *expected[2].text()) note("text", text);
    if (expected[3].text() && without_special(ids) != *expected[3].text()) note("plain", text);
  }

  const std::string& name() const { return name_; }
  int64_t count() const { return count_; }
  int64_t differences() const { return differences_; }
  const std::string& first() const { return first_; }

 private:
  // SentencePiece shows the unknown piece among those that it does not show.
  std::string without_special(Ids ids) const {
    if (!unknown_) return tokenizer_.decode(ids, {.special = false});
    std::erase_if(ids, [&](int64_t id) { return tokenizer_.is_special(id) && id != *unknown_; });
    return tokenizer_.decode(ids);
  }

  void note(const char* what, const std::string& text) {
    if (differences_++ == 0) first_ = what + (" of " + io::in_quotes(text));
  }

  std::string name_;
  Tokenizer tokenizer_;
  bool special_;
  std::optional<int64_t> unknown_;
  int64_t count_ = 0;
  int64_t differences_ = 0;
  std::string first_;
};

// Of each kind in a folder with a kinds.json.
inline std::vector<Comparison> compare_kinds(const std::string& folder) {
  constexpr uint64_t kLargest = 1'000'000'000;  // bytes of a list of cases
  std::vector<Comparison> comparisons;
  const io::Json kinds = io::read_json(base::real_files(), folder + "/kinds.json");
  for (const io::Json& kind : *kinds.array()) {
    const std::string& name = *kind.find("kind")->text();
    const io::Json* unknown = kind.find("unknown");
    Comparison comparison(name, folder + "/" + name, *kind.find("special")->boolean(),
                          unknown ? unknown->integer() : std::nullopt);
    const io::Json cases =
        io::read_json(base::real_files(), folder + "/" + name + "/expected.json", kLargest);
    for (const io::Json& expected : *cases.array()) comparison.compare(*expected.array());
    comparisons.push_back(std::move(comparison));
  }
  return comparisons;
}

}  // namespace headlight::text
