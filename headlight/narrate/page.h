// The walk as one HTML page that needs nothing else: its style, its script and its numbers are in
// it. What it looks like is in studio/.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "headlight/explain/explain.h"
#include "headlight/heads/heads.h"
#include "headlight/narrate/page_document.h"
#include "headlight/recipes/recipes.h"

namespace headlight::narrate {

struct PageOptions {
  std::string language = "en";                        // to begin with; the page has all of them
  std::string text;                                   // the sentence that is walked through
  std::vector<recipes::SentencePair> sentences = {};  // the data set, where there is one
  std::set<std::string> variants = {};                // keys of those that are shown at once
  std::vector<double> losses = {};                    // of the training's steps
  std::string place = {};                             // to open at, as in the page's links
  std::string command = {};                           // that shows the same run in a terminal
};

// What is to be said of a run besides its numbers.
struct PageRun {
  std::string key = {};           // of its name where there are several: "message.after_training"
  std::string continuation = {};  // what the model says by itself
  std::vector<heads::HeadStatistics> heads = {};  // as they were measured of the trace
  const explain::BackwardWalk* backward = nullptr;
  bool weight_is_asked = false;                // for by its name, of the way back
  std::optional<double> loss = {};             // where targets are known
  const text::Tokenizer* tokenizer = nullptr;  // for words of several tokens
};

class Page {
 public:
  explicit Page(PageOptions options) : options_(std::move(options)) {}

  // Reads all numbers, so the model may be trained on after it. The last run is shown first.
  // Variants are added to it, of a large trace those that are shown at once. Of a large model not
  // all numbers are on the page, which says so in their place: page_values.h.
  void add(explain::Trace& trace, const models::Model& model, const PageRun& run = {});
  void set_losses(std::vector<double> losses) { options_.losses = std::move(losses); }
  void open_at(std::string place) { options_.place = std::move(place); }
  void set_command(std::string command) { options_.command = std::move(command); }

  // Throws what the output throws.
  void write(base::Output& output) const;

 private:
  std::string data() const;

  PageOptions options_;
  PageContent content_;
  std::vector<std::string> vocabulary_;
  std::set<int64_t> used_words_;   // by predictions
  std::vector<std::string> runs_;  // each a JSON document
};

}  // namespace headlight::narrate
