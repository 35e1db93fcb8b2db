// A language is a text file: nothing else knows of it.
#include "headlight/narrate/languages.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/narrate/support.h"

namespace headlight::narrate {
namespace {

constexpr std::string_view kGerman =
    "# German, as far as it goes.\n"
    "language.name = Deutsch\n"
    "language.decimal = ,\n"
    "language.order = 99\n"
    "step.attention.title = Aufmerksamkeit mit {heads} Köpfen\n";

std::vector<base::EmbeddedFile> files_with(std::string_view path, std::string_view text) {
  std::vector<base::EmbeddedFile> files = catalogue_files();
  files.insert(files.begin(), {path, text});
  return files;
}

TEST(Languages, are_those_of_the_files_in_their_order) {
  ASSERT_GE(languages().size(), 4U);
  EXPECT_EQ(std::vector(languages().begin(), languages().begin() + 4),
            (std::vector<std::string_view>{"en", "tr", "az", "ko"}));
  size_t texts = 0;
  for (const base::EmbeddedFile& file : catalogue_files()) texts += file.path != "formulas.txt";
  EXPECT_EQ(texts, languages().size());
}

TEST(Languages, gain_one_by_a_text_file_alone) {
  const std::vector<base::EmbeddedFile> files = files_with("xy.txt", kGerman);
  const Languages all(files);
  std::vector<std::string_view> expected = languages();
  expected.push_back("xy");
  EXPECT_EQ(all.codes(), expected);
  const Catalogue& german = all.catalogue("xy");
  EXPECT_EQ(german.language(), "xy");
  EXPECT_EQ(german.text("language.name"), "Deutsch");
  EXPECT_EQ(german.text("step.attention.title", {{"heads", "8"}}), "Aufmerksamkeit mit 8 Köpfen");
  EXPECT_EQ(german.text("formula.attention.scores"), "S = Q Kᵀ");
  EXPECT_EQ(german.number(0.25, 2), "0,25");
  EXPECT_EQ(all.catalogue("en").number(0.25, 2), "0.25");
  EXPECT_EQ(&german, &all.catalogue("xy"));
}

TEST(Languages, stand_where_their_file_says) {
  const std::vector<base::EmbeddedFile> files =
      files_with("xx.txt", "language.order = 0\nlanguage.name = X\n");
  EXPECT_EQ(Languages(files).codes().front(), "xx");
}

TEST(Languages, without_an_order_or_unknown_are_errors) {
  const std::vector<base::EmbeddedFile> files = files_with("xy.txt", "language.name = Deutsch\n");
  explain::expect_has(explain::error_of([&] { Languages{files}; }), "language.order");
  explain::expect_has(explain::error_of([] { Catalogue::of("xy"); }), "is no language of it");
}

}  // namespace
}  // namespace headlight::narrate
