// The document of a walk, as pages hold it and the studio's server gives it: runs with their
// tensors, operations and steps. Numbers and texts are not in it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "headlight/narrate/page.h"
#include "headlight/narrate/page_values.h"

namespace headlight::narrate {

// A run and what its page needs besides.
struct RunDocument {
  // {"tokens", "source_tokens", "tensors", "parameters", "key", "targets", "written", "likeliest",
  // "heads", "variants", "continuation", "weight_is_asked", "loss", "words", "source_words"}; words
  // as text::word_numbers.
  io::Json described = {};
  PassedOn passed = {};
  std::set<std::string> formulas = {};  // of variants
  std::set<int64_t> words = {};         // ids that predictions speak of
};
// Adds variants to the trace, of a large one those that are asked for.
RunDocument run_document(explain::Trace& trace, const models::Model& model, const PageRun& run,
                         const std::set<std::string>& asked);

// What stands around the runs: {"language", "version", "source", "sentences", "asked",
// "vocabulary_size", "vocabulary", "labels", "place", "command", "losses", "steps", "operations"}.
// Of a large vocabulary its beginning, and the words that are used.
io::Json::Object walk_document(const PageOptions& options, const PageContent& content,
                               const std::vector<std::string>& vocabulary,
                               const std::set<int64_t>& used_words);

}  // namespace headlight::narrate
