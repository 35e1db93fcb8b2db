// Regular expressions of tokenizer.json: what is read, what is refused, and what they may cost.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/text/support.h"

namespace headlight::text {
namespace {

// Words between the places that an expression finds.
std::string document_with(const std::string& expression, const std::string& behavior = "Removed") {
  const io::Json::Object splitter = {{"type", "Split"},
                                     {"pattern", io::Json::Object{{"Regex", expression}}},
                                     {"behavior", behavior},
                                     {"invert", false}};
  return R"({"pre_tokenizer":)" + io::json_text(splitter) +
         R"(,"model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"a":1,"b":2,"ab":3," ":4,"\u180e":5}}})";
}

Tokenizer splitting_by(const std::string& expression, const std::string& behavior = "Removed") {
  return parse_tokenizer(document_with(expression, behavior), "the file");
}

TEST(Expressions, mean_what_they_mean_elsewhere) {
  EXPECT_EQ(splitting_by(R"(\s)").encode("a b\tab"), (Ids{1, 2, 3}));
  // U+180E is no white space, though PCRE takes it for some.
  EXPECT_EQ(splitting_by(R"(\s)").encode("a\u180e"), (Ids{0}));
  EXPECT_EQ(splitting_by(R"([^\S\n])", "Isolated").encode("a\u180e"), (Ids{0}));
  EXPECT_EQ(splitting_by(R"(\S)", "Isolated").encode("\u180e"), (Ids{5}));
  // Superscripts and fractions of Latin 1 are letters of words, but not within sets.
  EXPECT_EQ(splitting_by(R"(\w)").encode("²¾-"), (Ids{0}));
  EXPECT_EQ(splitting_by(R"(\w)").encode("²¾"), Ids{});
  EXPECT_EQ(splitting_by(R"([\w])").encode("a²b"), (Ids{0}));
  EXPECT_EQ(splitting_by(R"([^\w])").encode("a²b¾ab"), (Ids{1, 2, 3}));
  EXPECT_EQ(splitting_by(R"((?i:X))").encode("axb"), (Ids{1, 2}));
  EXPECT_EQ(splitting_by(R"(\x{1F60A})").encode("a😊b"), (Ids{1, 2}));
  EXPECT_EQ(splitting_by(R"(\u00e9|\x78)").encode("aébxa"), (Ids{1, 2, 1}));
  EXPECT_EQ(splitting_by(R"([c-e\-x])").encode("aèb-axbdab"), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(splitting_by(R"(\p{^L})").encode("a1b"), (Ids{1, 2}));
  EXPECT_EQ(splitting_by(R"(\p{Han})").encode("a中b"), (Ids{1, 2}));
  EXPECT_EQ(splitting_by(R"(\v)").encode("a\vb"), (Ids{1, 2}));
  EXPECT_EQ(splitting_by(R"({|\})").encode("a{b}ab"), (Ids{1, 2, 3}));
  EXPECT_EQ(splitting_by(R"((?<=a)-(?=b))").encode("a-b"), (Ids{1, 2}));
  EXPECT_EQ(splitting_by(R"((?>x+)y)").encode("axxyb"), (Ids{1, 2}));
}

struct Refused {
  const char* expression;
  const char* reason;
};

TEST(Expressions, that_might_mean_something_else_are_refused) {
  const std::vector<Refused> cases = {
      {"", "it is empty"},
      {"(", "a group has no end"},
      {")", "a group has no beginning"},
      {"(a", "a group has no end"},
      {"*a", "a repetition of nothing"},
      {"a**", "a repetition of nothing"},
      {"(?=a)+", "a repetition of an assertion"},
      {"^*", "a repetition of an assertion"},
      {"(a+)+", "a repeated group"},
      {"(a|b)*", "a repeated group"},
      {"(?:a){2}", "a repeated group"},
      {"a{,3}", "a repetition {,n}"},
      {"a{2}+", "a repetition of a repetition"},
      {"a{2}?", "a repetition of a repetition"},
      {"a{1,2}+", "a repetition of a repetition"},
      {"a{1,9999}", "more than 1000 repetitions"},
      {"a{600}|b{600}", "more than 1000 repetitions"},
      {"a{1,2", "a repetition without its }"},
      {"(?<name>a)", "a group begins with (?<"},
      {"(?P<n>a)", "a group begins with (?P"},
      {"(?#a)", "a group begins with (?#"},
      {"(?m:a)", "a group begins with (?m"},
      {"a(?i)b", "a group begins with (?i"},
      {"(*VERB)", "a group begins with *"},
      {"(?i:[ab])", "sets within (?i: )"},
      {R"((?i:\s))", "sets within (?i: )"},
      {"(?i:.)", "sets within (?i: )"},
      {"(?i:é)", "letters beyond ASCII"},
      {"(?i:ss)", "ss, st, ff"},
      {R"(\b)", "the escape \\b"},
      {R"(\1)", "the escape \\1"},
      {R"(\h)", "the escape \\h"},
      {R"(\R)", "the escape \\R"},
      {R"(\X)", "the escape \\X"},
      {R"(\K)", "the escape \\K"},
      {R"(\G)", "the escape \\G"},
      {R"(\Z)", "the escape \\Z"},
      {R"(\k<a>)", "the escape \\k"},
      {R"(\Q)", "the escape \\Q"},
      {"\\", "a backslash at the end"},
      {R"(\pL)", "a property without braces"},
      {R"(\p{L)", "a property without its }"},
      {R"(\p{Klingon})", "the property \"Klingon\""},
      {R"(\p{})", "the property \"\""},
      {R"(\x{110000})", "no code point"},
      {R"(\x{D800})", "no code point"},
      {R"(\x{})", "no code point"},
      {R"(\x4)", "no code point"},
      {R"(\xff)", "a single byte"},
      {R"(\x{41)", "an escape without its }"},
      {R"(\u12)", "no code point"},
      {"[", "a set without its ]"},
      {"[]", "an empty set"},
      {"[]a]", "an empty set"},
      {"[a", "a set without its ]"},
      {"[a[b]]", "a set within a set"},
      {"[[:alpha:]]", "a set within a set"},
      {"[a&&b]", "sets of what is in two sets"},
      {"[b-a]", "a range without an end"},
      {R"([a-\s])", "a range without an end"},
      {R"([\s-a])", "a range of a class"},
      {R"([\W])", "the escape \\W"},
      {R"((?<=a*)b)", "lookbehind"},
  };
  for (const Refused& refused : cases) {
    SCOPED_TRACE(refused.expression);
    const std::string error = io::error_of([&] { splitting_by(refused.expression); });
    EXPECT_NE(error.find("pre_tokenizer \"Split\": the expression"), std::string::npos) << error;
    EXPECT_NE(error.find(refused.reason), std::string::npos) << error;
  }
  const std::string deep(60, '(');
  EXPECT_NE(io::error_of([&] { splitting_by(deep); }).find("too deep"), std::string::npos);
  const std::string long_one(20'000, 'a');
  EXPECT_NE(io::error_of([&] { splitting_by(long_one); }).find("too long"), std::string::npos);
}

TEST(Expressions, take_time_in_proportion_to_the_text) {
  const std::string spaces(1'000'000, ' ');
  const Tokenizer published = splitting_by(R"(\s*[\r\n]+|\s+(?!\S)|\s+|[^\s]+)", "Isolated");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(published.encode(spaces + "a").size(), 3u);
  EXPECT_EQ(published.encode(spaces).size(), 1u);
  EXPECT_EQ(published.encode(std::string(1'000'000, 'x')).size(), 1u);
  const std::string letters(4'000'000, 'x');
  EXPECT_EQ(splitting_by("[xX]", "Isolated").encode(letters).size(), letters.size());
  EXPECT_EQ(splitting_by("(?i:x)", "Isolated").encode(letters).size(), letters.size());
  // Those that cannot are stopped.
  const Tokenizer hostile = splitting_by("a*a*a*a*a*a*a*b", "Isolated");
  EXPECT_NE(io::error_of([&] {
              hostile.encode(std::string(20'000, 'a') + "cb");
            }).find("takes too many steps"),
            std::string::npos);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), 60);
}

// Letters that a match passes over in one step, at each place anew: before a repetition that gives
// nothing back, in a group that does not, in a look ahead, at each length of another one.
TEST(Expressions, that_read_far_ahead_at_each_place_are_stopped) {
  const std::string letters(10'000'000, 'a');
  const auto start = std::chrono::steady_clock::now();
  for (const char* expression :
       {R"(a*+\p{N})", R"(\p{L}+\p{N})", R"((?>a*)\p{N})", R"(a(?=a*))", R"((?=a*+))",
        R"(a(?!a*\p{N}))", R"(\w*?a*+\p{N})", R"(a*?\p{N})", R"(a{1000}\p{N})",
        R"((?:a|\p{L})a*+\p{N})", R"((a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)\p{N})",
        R"(a?a?a?a?a?a?a?a?a?a?a?a?\p{N})", R"(a*a*a*\p{N})"}) {
    const Tokenizer hostile = splitting_by(expression, "Isolated");
    EXPECT_NE(io::error_of([&] { hostile.encode(letters); }).find("takes too many steps"),
              std::string::npos)
        << expression;
  }
  std::string braces;
  std::string choices;
  for (int i = 0; i < 30; ++i) {
    braces += "a{";
    choices += "(a|a){";
  }
  const Tokenizer hostile = splitting_by(choices + R"(\p{N})", "Isolated");
  EXPECT_NE(io::error_of([&] { hostile.encode(braces); }).find("takes too many steps"),
            std::string::npos);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), 300);
}

TEST(Expressions, as_published_pass_over_ten_megabytes_of_any_letter) {
  const std::vector<const char*> published = {
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)",
      R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
  };
  for (const char* expression : published) {
    const Tokenizer tokenizer = splitting_by(expression, "Isolated");
    for (const char letter : {'a', 'A', ' ', '\n', '1', '!', '\''}) {
      EXPECT_FALSE(tokenizer.encode(std::string(10'000'000, letter)).empty()) << expression;
    }
  }
}

TEST(Replacements, do_not_make_texts_endless) {
  std::string steps;
  for (int i = 0; i < 30; ++i) {
    steps += std::string(i > 0 ? "," : "") +
             R"({"type":"Replace","pattern":{"String":"a"},"content":"aa"})";
  }
  const Tokenizer tokenizer = parse_tokenizer(
      R"({"normalizer":{"type":"Sequence","normalizers":[)" + steps +
          R"(]},"pre_tokenizer":{"type":"WhitespaceSplit"},"model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0}}})",
      "the file");
  EXPECT_NE(io::error_of([&] { tokenizer.encode("a"); }).find("makes more than"),
            std::string::npos);
  EXPECT_EQ(tokenizer.encode("b"), (Ids{0}));
}

}  // namespace
}  // namespace headlight::text
