// What is explained: a model, its tokenizer and a text for it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/explain/explain.h"
#include "headlight/narrate/explain_request.h"

namespace headlight::narrate {

struct Subject {
  std::string name;  // of the model; empty: the worked one
  std::unique_ptr<models::Model> loaded = {};
  // Instead: one that others use too, which can not be changed, not even for a while.
  std::shared_ptr<const models::Model> shared = {};
  std::optional<text::Tokenizer> loaded_tokenizer = {};
  std::optional<recipes::WorkedModel> worked = {};
  explain::InputIds given = {};  // what there is to read
  explain::Input input = {};     // of that, and of what the model wrote after it
  std::string text = {};
  std::optional<std::string> target = {};
  bool special = false;  // texts of special tokens become these

  const models::Model& model() const {
    if (worked) return *worked->model;
    return loaded != nullptr ? *loaded : *shared;
  }
  // For the way back, which changes it and puts it back. Throws Error(failed) for one that is
  // shared.
  models::Model& changeable_model() const;
  // Null where there is none.
  const text::Tokenizer* tokenizer() const {
    return worked ? &worked->tokenizer : loaded_tokenizer ? &*loaded_tokenizer : nullptr;
  }
  int64_t vocabulary_size() const {
    return tokenizer() != nullptr ? tokenizer()->size() : model().vocab_size();
  }
  std::vector<recipes::SentencePair> sentences() const {
    return worked ? worked->sentences : std::vector<recipes::SentencePair>();
  }
  // What it writes by itself after the text; nothing for models that do not continue a source,
  // unless that is among what is read.
  std::optional<std::string> continuation(base::ThreadPool& threads) const;
  // Lets the model, as it is now, go on by itself, at most so many tokens: these are read too, and
  // nothing is known to be right there. `go_on` is called after each; what it throws ends it.
  void write_on(base::ThreadPool& threads, int64_t most, const std::function<void()>& go_on = {});

  // Text and target as words for people, of ids.
  void name_ids();

 private:
  std::string text_of(const std::vector<int64_t>& ids) const;
};

// The worked model reads the text with its continuation where it knows one; a text with a target of
// its own joins the data set. Throws Error(bad_input) for words that nobody knows.
Subject make_subject(base::FileSystem& files, const ExplainRequest& request);
// The same of a model that is already there, under a name. Without a tokenizer it reads ids.
Subject make_subject(const ExplainRequest& request, std::string name,
                     std::unique_ptr<models::Model> model,
                     std::optional<text::Tokenizer> tokenizer);
// Of one that others use at the same time.
Subject make_shared_subject(const ExplainRequest& request, std::string name,
                            std::shared_ptr<const models::Model> model,
                            std::optional<text::Tokenizer> tokenizer);

}  // namespace headlight::narrate
