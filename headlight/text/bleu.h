// BLEU of a corpus, as sacreBLEU computes it by default: 13a tokens, mixed case, exponential
// smoothing, one reference per line.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headlight::text {

struct Bleu {
  double score = 0;                       // 0 … 100
  std::array<double, 4> precisions = {};  // of 1 … 4 tokens, 0 … 100
  double brevity_penalty = 1;
  int64_t hypothesis_tokens = 0;
  int64_t reference_tokens = 0;
};

// Throws Error(bad_input) when there are not as many hypotheses as references.
Bleu corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references);

// The tokens that are compared.
std::vector<std::string> bleu_tokens(std::string_view line);

}  // namespace headlight::text
