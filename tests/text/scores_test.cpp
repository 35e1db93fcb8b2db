// BLEU and chrF against sacreBLEU's numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "headlight/text/text.h"
#include "tests/io/bad_files.h"
#include "tests/text/score_cases.h"

namespace headlight::text {
namespace {

using Lines = std::vector<std::string>;

TEST(Bleu, is_what_sacrebleu_gives) {
  for (const ScoreCase& score : kScoreCases) {
    EXPECT_NEAR(corpus_bleu(score.hypotheses, score.references).score, score.bleu, 1e-6)
        << score.name;
  }
}

TEST(Bleu, of_a_whole_corpus_is_what_sacrebleu_gives) {
  Lines hypotheses;
  Lines references;
  for (const ScoreCase& score : kScoreCases) {
    hypotheses.insert(hypotheses.end(), score.hypotheses.begin(), score.hypotheses.end());
    references.insert(references.end(), score.references.begin(), score.references.end());
  }
  const Bleu bleu = corpus_bleu(hypotheses, references);
  EXPECT_NEAR(bleu.score, 63.27144114, 1e-6);
  EXPECT_NEAR(corpus_chrf(hypotheses, references), 66.82697728, 1e-6);
  EXPECT_EQ(bleu.hypothesis_tokens, 318);
  EXPECT_EQ(bleu.reference_tokens, 327);
}

TEST(Bleu, tells_how_it_came_about) {
  const Bleu bleu = corpus_bleu(Lines{"The cat sat on"}, Lines{"The cat sat on the mat."});
  EXPECT_EQ(bleu.hypothesis_tokens, 4);
  EXPECT_EQ(bleu.reference_tokens, 7);
  EXPECT_NEAR(bleu.brevity_penalty, std::exp(1 - 7.0 / 4), 1e-12);
  for (const double precision : bleu.precisions) EXPECT_NEAR(precision, 100, 1e-9);
}

TEST(Bleu, of_no_lines_is_zero) {
  EXPECT_EQ(corpus_bleu({}, {}).score, 0);
  EXPECT_EQ(corpus_chrf({}, {}), 0);
}

TEST(Chrf, is_what_sacrebleu_gives) {
  for (const ScoreCase& score : kScoreCases) {
    EXPECT_NEAR(corpus_chrf(score.hypotheses, score.references), score.chrf, 1e-6) << score.name;
  }
}

TEST(Scores, need_as_many_references_as_hypotheses) {
  const Lines two = {"a", "b"};
  const Lines one = {"a"};
  EXPECT_EQ(io::error_of([&] { corpus_bleu(two, one); }), "bleu: 2 hypotheses, 1 references");
  EXPECT_EQ(io::error_of([&] { corpus_chrf(one, two); }), "chrf: 1 hypotheses, 2 references");
}

TEST(Scores, of_what_is_not_utf8_are_refused) {
  const Lines bad = {"\xff"};
  EXPECT_EQ(io::error_of([&] { corpus_bleu(bad, bad); }), "text (byte 0): is not UTF-8");
  EXPECT_EQ(io::error_of([&] { corpus_chrf(bad, bad); }), "text (byte 0): is not UTF-8");
}

}  // namespace
}  // namespace headlight::text
