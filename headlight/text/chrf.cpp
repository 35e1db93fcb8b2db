// chrF: precision and recall of character n-grams.
#include "headlight/text/chrf.h"

#include <array>
#include <vector>

#include "headlight/text/ngrams.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

constexpr size_t kOrders = 6;
constexpr double kRecallWeight = 4;  // the square of beta = 2

struct Counts {
  int64_t hypothesis = 0;
  int64_t reference = 0;
  int64_t matching = 0;
};

// Characters that are no white space, and where they begin; the end comes last.
struct Characters {
  explicit Characters(std::string_view line) {
    const std::string plain = with_plain_spaces(line);
    for (const std::string_view word : words(plain)) text += word;
    for (size_t at = 0; at < text.size(); at += code_point_at(text, at).length) {
      begins.push_back(at);
    }
    begins.push_back(text.size());
  }
  int64_t ngrams(size_t n) const {
    return begins.size() > n ? static_cast<int64_t>(begins.size() - n) : 0;
  }

  std::string text;
  std::vector<size_t> begins;
};

Ngrams ngrams_of(const Characters& characters, size_t n) {
  Ngrams ngrams;
  for (size_t i = 0; i + n < characters.begins.size(); ++i) {
    const size_t begin = characters.begins[i];
    ++ngrams[std::string_view(characters.text).substr(begin, characters.begins[i + n] - begin)];
  }
  return ngrams;
}

}  // namespace

double corpus_chrf(std::span<const std::string> hypotheses,
                   std::span<const std::string> references) {
  check_as_many("chrf", hypotheses, references);
  std::array<Counts, kOrders> all = {};
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    const Characters hypothesis(hypotheses[i]);
    const Characters reference(references[i]);
    for (size_t n = 1; n <= kOrders; ++n) {
      Counts& counts = all[n - 1];
      // What has no reference to be compared with is not held against the hypothesis.
      if (reference.ngrams(n) > 0) counts.hypothesis += hypothesis.ngrams(n);
      counts.reference += reference.ngrams(n);
      counts.matching += matches(ngrams_of(hypothesis, n), ngrams_of(reference, n));
    }
  }
  double precision = 0;
  double recall = 0;
  int orders = 0;
  for (const Counts& counts : all) {
    if (counts.hypothesis == 0 || counts.reference == 0) continue;
    precision += static_cast<double>(counts.matching) / static_cast<double>(counts.hypothesis);
    recall += static_cast<double>(counts.matching) / static_cast<double>(counts.reference);
    ++orders;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  return 100 * (1 + kRecallWeight) * precision * recall / (kRecallWeight * precision + recall);
}

}  // namespace headlight::text
