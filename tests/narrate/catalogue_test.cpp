// The catalogue is complete: the same keys and placeholders in every language, the terms of the
// common list, numbers as the language writes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "headlight/narrate/narrate.h"
#include "tests/narrate/catalogue_words.h"
#include "tests/places.h"

namespace headlight::test {
namespace {

using narrate::Catalogue;

const Catalogue& english() { return Catalogue::of("en"); }

std::multiset<std::string> placeholders(const std::string& text) {
  std::multiset<std::string> names;
  for (size_t open = text.find('{'); open != std::string::npos; open = text.find('{', open + 1)) {
    const std::string name = text.substr(open, text.find('}', open) - open);
    if (name.find('|') == std::string::npos) names.insert(name);  // endings are the language's own
  }
  return names;
}

// As it reads where every number in it is 1.
std::string with_ones(const Catalogue& catalogue, const std::string& key) {
  static const std::vector<std::string> kNames = [] {
    std::set<std::string> names;
    for (const auto& [_, text] : english().texts()) {
      for (const std::string& name : placeholders(text)) names.insert(name.substr(1));
    }
    return std::vector<std::string>(names.begin(), names.end());
  }();
  std::vector<narrate::Placeholder> ones;
  for (const std::string& name : kNames) ones.emplace_back(name, "1");
  return catalogue.text(key, ones);
}

// The rest of the texts by key, in one language; terms and formulas are looked at elsewhere.
template <class Check>
void for_texts(const Catalogue& catalogue, const Check& check) {
  for (const auto& [key, text] : catalogue.texts()) {
    if (!key.starts_with("term.") && !key.starts_with("formula.")) check(key, text);
  }
}

class Language : public testing::TestWithParam<std::string_view> {
 protected:
  const Catalogue& catalogue() const { return Catalogue::of(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Catalogue, Language, testing::ValuesIn(narrate::languages()),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(Language, has_every_key_and_placeholder_of_english) {
  for (const auto& [key, text] : english().texts()) {
    ASSERT_TRUE(catalogue().has(key)) << key;
    const std::string& other = catalogue().texts().find(key)->second;
    EXPECT_EQ(placeholders(text), placeholders(other)) << key;
    EXPECT_FALSE(other.empty()) << key;
  }
  EXPECT_EQ(english().texts().size(), catalogue().texts().size());
}

TEST_P(Language, is_written_in_composed_letters) {
  for (const auto& [key, text] : catalogue().texts()) {
    EXPECT_EQ(text::normalized(text, text::NormalForm::nfc), text) << key;
  }
}

TEST_P(Language, uses_the_term_wherever_english_does) {
  for_texts(english(), [&](const std::string& key, const std::string& text) {
    for (const auto& [term_key, term] : english().texts()) {
      if (!term_key.starts_with("term.") || !uses_english_term(key, text, term)) continue;
      const std::string own = catalogue().text(term_key);
      EXPECT_TRUE(uses_term(GetParam(), catalogue().text(key), own))
          << key << ": " << term << " is " << own << " in " << catalogue().text(key);
    }
  });
}

TEST_P(Language, spells_terms_with_their_own_letters) {
  for_texts(catalogue(), [&](const std::string& key, const std::string& text) {
    for (const auto& [term_key, term] : catalogue().texts()) {
      if (!term_key.starts_with("term.")) continue;
      EXPECT_EQ(misspelled(GetParam(), text, term), "") << key << ": " << term;
    }
  });
}

TEST_P(Language, writes_numbers_as_it_does) {
  const bool comma = catalogue().text("language.decimal") == ",";
  EXPECT_EQ(catalogue().number(0.125, 3), comma ? "0,125" : "0.125");
  EXPECT_EQ(catalogue().number(-INFINITY, 3), "−∞");
  EXPECT_EQ(catalogue().number(0, 4), comma ? "0,0000" : "0.0000");
  EXPECT_EQ(catalogue().number(1e-5, 4), "1e-05");
  EXPECT_EQ(catalogue().number(-9.53674e-7, 4), comma ? "-9,537e-07" : "-9.537e-07");
  EXPECT_EQ(catalogue().number(6e-5, 4), comma ? "0,0001" : "0.0001");
  EXPECT_EQ(catalogue().significant(-34.374634, 7), comma ? "-34,37463" : "-34.37463");
  EXPECT_EQ(catalogue().significant(-0.0, 7), "0");
  EXPECT_EQ(catalogue().significant(INFINITY, 7), "∞");
  for_texts(catalogue(), [&](const std::string& key, const std::string& text) {
    EXPECT_EQ(has_number_with(text, comma ? '.' : ','), false) << key << ": " << text;
  });
}

TEST(Catalogue, has_decimal_commas_in_turkish_and_azerbaijani) {
  EXPECT_EQ(Catalogue::of("tr").number(0.5, 1), "0,5");
  EXPECT_EQ(Catalogue::of("az").number(0.5, 1), "0,5");
  EXPECT_EQ(Catalogue::of("ko").number(0.5, 1), "0.5");
}

TEST_P(Language, names_every_tensor_operation_and_choice) {
  for (const std::string& formula : explain::operation_table().formulas) {
    explain::TracedTensor tensor;
    tensor.formula = formula;
    EXPECT_FALSE(catalogue().operation(tensor).empty()) << formula;
    EXPECT_FALSE(catalogue().formula(tensor).empty()) << formula;
  }
  for (const narrate::Step step : narrate::all_steps()) {
    const std::string key = "step." + std::string(name_of(step));
    for (const char* part : {".title", ".text", ".note"}) {
      EXPECT_TRUE(catalogue().has(key + part)) << key << part;
    }
  }
  for (const std::string& variant : variant_keys()) {
    EXPECT_TRUE(catalogue().has("variant." + variant)) << variant;
  }
  for (int role = 0; role <= static_cast<int>(heads::HeadRole::none); ++role) {
    const std::string name(name_of(static_cast<heads::HeadRole>(role)));
    EXPECT_TRUE(catalogue().has("role." + name) && catalogue().has("role." + name + ".text"))
        << name;
  }
  for (const std::string& key : rule_keys()) EXPECT_TRUE(catalogue().has(key)) << key;
  for (const std::string& model : recipes::embedded_models()) {
    EXPECT_TRUE(catalogue().has("command.model." + model)) << model;
  }
  for (const std::string& key : mistake_keys()) EXPECT_TRUE(catalogue().has(key)) << key;
}

TEST(Catalogue, has_the_terms_of_the_common_list) {
  const std::string path = tests::shared_folder() + "/terms.md";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  std::ifstream file(path);
  size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> cells = table_cells(line);
    if (cells.size() != 4 || cells[0] == "en" || cells[0].starts_with("-")) continue;
    ++count;
    const std::string key = key_of_term(english(), cells[0]);
    ASSERT_NE(key, "") << cells[0];
    for (size_t i = 0; i < cells.size(); ++i) {
      EXPECT_EQ(Catalogue::of(narrate::languages()[i]).text(key), cells[i]);
    }
  }
  EXPECT_GT(count, 40U);
}

TEST(Catalogue, fills_in_placeholders_and_leaves_the_others) {
  const Catalogue made("en", {"a = {x} and {y}\n  go on\n# not this\n"});
  EXPECT_EQ(made.text("a", {{"x", "1"}}), "1 and {y} go on");
  EXPECT_EQ(made.text("a", {{"x", "{y}"}, {"y", "2"}}), "{y} and 2 go on");
  EXPECT_THROW(made.text("b"), base::Error);
}

TEST(Catalogue, ends_words_by_the_number_before_them) {
  const Catalogue made("en", {"a = {x} step{x|s} of {y} head{y|s}{z|es}\n"});
  EXPECT_EQ(made.text("a", {{"x", "1"}, {"y", "2"}}), "1 step of 2 heads{z|es}");
  EXPECT_EQ(made.text("a", {{"x", "0"}, {"y", "1"}, {"z", "1.0 K"}}), "0 steps of 1 heades");
}

// "1 steps". What is left out of more is in the plural, and what is never 1.
TEST(Catalogue, counts_one_of_everything_in_the_singular) {
  const std::set<std::string> plural = {"message.left_out",
                                        "message.left_out.rows",
                                        "message.left_out.columns",
                                        "message.left_out_matrices",
                                        "message.too_many",
                                        "command.train.epochs",  // with a decimal: 1.0
                                        "experiment.attribute.summary",
                                        "experiment.first_token",
                                        "experiment.more_rows",
                                        "lesson.nanogpt.4.buffer",
                                        "lesson.nanogpt.9.text",
                                        "lesson.transformer.prediction.flattened"};
  const std::set<std::string> others = {"is",      "was",   "has",   "as", "s", "puts",
                                        "changes", "costs", "looks", "µs"};  // verbs; seconds
  for (const auto& [key, text] : english().texts()) {
    if (plural.contains(key) || text.find('{') == std::string::npos) continue;
    const std::vector<std::string> words = parts_of(with_ones(english(), key), ' ');
    for (size_t i = 1; i < words.size(); ++i) {
      if (words[i - 1] != "1") continue;
      const std::string& noun = words[i] == "new" && i + 1 < words.size() ? words[i + 1] : words[i];
      const std::string bare = noun.substr(0, noun.find_first_of(".,;:"));
      const bool is_rate = bare.ends_with("/s");
      EXPECT_TRUE(!bare.ends_with('s') || is_rate || others.contains(bare))
          << key << ": 1 " << noun;
    }
  }
}

TEST(Catalogue, refuses_what_is_no_list_of_texts) {
  EXPECT_THROW(Catalogue("en", {"a = 1\na = 2\n"}), base::Error);
  EXPECT_THROW(Catalogue("en", {"nothing\n"}), base::Error);
  EXPECT_THROW(Catalogue::of("xx"), base::Error);
}

TEST(Catalogue, calls_tensors_by_the_end_of_their_name) {
  const auto title = [](const char* text) {
    return english().title({.name = "whole", .text = text});
  };
  EXPECT_EQ(title("encoder.self.output"), "Output of self-attention");
  EXPECT_EQ(title("decoder.norm_2.output"), "Output of the norm");
  EXPECT_EQ(title("encoder.output"), "Output of the encoder");
  EXPECT_EQ(title("something.else"), "whole");
}

}  // namespace
}  // namespace headlight::test
