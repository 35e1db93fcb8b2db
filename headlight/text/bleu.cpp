// BLEU: how many of the hypothesis' n-grams stand in the reference.
#include "headlight/text/bleu.h"

#include <cmath>

#include "headlight/text/ngrams.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
bool is_point(char c) { return c == '.' || c == ','; }
bool is_symbol(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// Wherever two neighbours fit, from left to right and not overlapping, spaces are put around one of
// them: before and after the second, or before and after the first.
template <class First, class Second>
std::string spaced(const std::string& text, const First& first, const Second& second,
                   bool is_second) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && first(text[i]) && second(text[i + 1])) {
      const std::string_view left = std::string_view(text).substr(i, 1);
      const std::string_view right = std::string_view(text).substr(i + 1, 1);
      result.append(is_second ? "" : " ").append(left).append(" ").append(right);
      result.append(is_second ? " " : "");
      ++i;
    } else {
      result += text[i];
    }
  }
  return result;
}

// The line as mteval-v13a cuts it, its tokens between single spaces.
std::string prepared(std::string_view line) {
  std::string text = with_plain_spaces(line);
  const std::vector<std::string_view> all = words(text);
  text.resize(
      all.empty() ? 0 : static_cast<size_t>(all.back().data() + all.back().size() - text.data()));
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
  std::string result = " ";
  for (const char c : text + " ") {
    if (is_symbol(c)) {
      result.append(" ").append(1, c).append(" ");
    } else {
      result += c;
    }
  }
  const auto is_no_digit = [](char c) { return !is_ascii_digit(c); };
  result = spaced(result, is_no_digit, is_point, true);
  result = spaced(result, is_point, is_no_digit, false);
  return spaced(
      result, is_ascii_digit, [](char c) { return c == '-'; }, true);
}

// Of n tokens each, as they stand in `joined`, where `begins` says where each token begins.
Ngrams ngrams_of(std::string_view joined, const std::vector<size_t>& begins, size_t n) {
  Ngrams ngrams;
  for (size_t i = 0; i + n < begins.size(); ++i) {
    ++ngrams[joined.substr(begins[i], begins[i + n] - begins[i])];
  }
  return ngrams;
}

// Tokens with a space after each, and where they begin; the end comes last.
struct Line {
  explicit Line(std::string_view line) {
    for (const std::string& token : bleu_tokens(line)) {
      begins.push_back(joined.size());
      joined.append(token).append(" ");
    }
    begins.push_back(joined.size());
  }
  size_t tokens() const { return begins.size() - 1; }

  std::string joined;
  std::vector<size_t> begins;
};

}  // namespace

std::vector<std::string> bleu_tokens(std::string_view line) {
  const std::string text = prepared(line);
  const std::vector<std::string_view> tokens = words(text);
  return {tokens.begin(), tokens.end()};
}

Bleu corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references) {
  check_as_many("bleu", hypotheses, references);
  Bleu bleu;
  std::array<int64_t, 4> correct = {};
  std::array<int64_t, 4> total = {};
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    const Line hypothesis(hypotheses[i]);
    const Line reference(references[i]);
    bleu.hypothesis_tokens += static_cast<int64_t>(hypothesis.tokens());
    bleu.reference_tokens += static_cast<int64_t>(reference.tokens());
    for (size_t n = 1; n <= correct.size(); ++n) {
      correct[n - 1] += matches(ngrams_of(hypothesis.joined, hypothesis.begins, n),
                                ngrams_of(reference.joined, reference.begins, n));
      if (hypothesis.tokens() >= n)
        total[n - 1] += static_cast<int64_t>(hypothesis.tokens() - n + 1);
    }
  }
  const auto lengths =
      static_cast<double>(bleu.reference_tokens) / static_cast<double>(bleu.hypothesis_tokens);
  if (bleu.hypothesis_tokens < bleu.reference_tokens) {
    bleu.brevity_penalty = bleu.hypothesis_tokens > 0 ? std::exp(1 - lengths) : 0;
  }
  if (std::ranges::all_of(correct, [](int64_t count) { return count == 0; })) return bleu;
  double smoothing = 1;
  double logarithms = 0;
  for (size_t n = 0; n < correct.size(); ++n) {
    if (total[n] == 0) return bleu;
    // Each order without a match counts half of what the one before it did.
    if (correct[n] == 0) smoothing *= 2;
    const double count = correct[n] > 0 ? static_cast<double>(correct[n]) : 1 / smoothing;
    bleu.precisions[n] = 100 * count / static_cast<double>(total[n]);
    logarithms += std::log(bleu.precisions[n]);
  }
  bleu.score = bleu.brevity_penalty * std::exp(logarithms / static_cast<double>(correct.size()));
  return bleu;
}

}  // namespace headlight::text
