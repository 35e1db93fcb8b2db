// chrF of a corpus, as sacreBLEU computes it by default (chrF2): F-score of 1 … 6 characters
// without white space, recall weighing twice, one reference per line.
#pragma once

#include <span>
#include <string>

namespace headlight::text {

// 0 … 100. Throws Error(bad_input) when there are not as many hypotheses as references.
double corpus_chrf(std::span<const std::string> hypotheses,
                   std::span<const std::string> references);

}  // namespace headlight::text
