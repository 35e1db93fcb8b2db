// What heads look at in some sentences, for reports.
#pragma once

#include <vector>

#include "headlight/heads/heads.h"
#include "headlight/narrate/report/report.h"
#include "headlight/text/text.h"

namespace headlight::narrate {

// Of the first examples, at most so many and each cut to so many tokens. `tokenizer`: null where
// the model has none; then tokens are ids.
struct SentenceLimits {
  int64_t sentences = 4;
  int64_t tokens = 24;
};
std::vector<ReportSentence> report_sentences(base::ThreadPool& threads, const models::Model& model,
                                             const text::Tokenizer* tokenizer,
                                             const heads::Examples& examples,
                                             const SentenceLimits& limits = {});

}  // namespace headlight::narrate
