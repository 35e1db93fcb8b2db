// ReportText: words of a report that can be told in any language.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "headlight/io/io.h"
#include "headlight/narrate/catalogue.h"

namespace headlight::narrate {

// What stands for {name} in a text: words as they are, a number, a share as a percentage, or
// another text of the catalogue.
struct ReportNumber {
  double value = 0;
  int digits = 4;  // significant ones, at most
};
struct ReportShare {
  double value = 0;  // 0 to 1
};
struct ReportKey {
  std::string key;
};
struct ReportValue {
  std::string name;
  std::variant<std::string, ReportNumber, ReportShare, ReportKey> value;
};

// A text of the catalogue with its values, or words that are the same in every language.
struct ReportText {
  std::string key = {};
  std::vector<ReportValue> values = {};
  std::string words = {};  // without a key

  bool empty() const { return key.empty() && words.empty(); }
  // Controls in values can be seen.
  std::string in(const Catalogue& catalogue) const;
};
ReportText told(std::string key, std::vector<ReportValue> values = {});
ReportText in_these_words(std::string words);

// {"key", "values": {name: "words" | {"number", "digits"} | {"share"} | {"key"}}} or {"words"}.
io::Json report_text_json(const ReportText& text);

}  // namespace headlight::narrate
