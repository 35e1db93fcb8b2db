// What experiments on heads run on: examples of a text, of pairs, of a generated task or as ids.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/data/data.h"
#include "headlight/heads/heads.h"
#include "headlight/recipes/named_model.h"

namespace headlight::recipes {

struct ExamplesRequest {
  std::string task = {};      // of kTasks; empty: what the data and the model are for
  std::string data = {};      // a text, or tab-separated pairs
  std::string encoding = {};  // of the data, when not UTF-8
  std::string ids = {};       // instead: an array (N,T) of ids, each row an example
  std::string targets = {};   // with ids: what is right there, -1 does not count; else the next ids
  int64_t examples = 0;       // at most; 0: kDefaultExamples
  uint64_t seed = 0;          // which ones, and which words are hidden
};
inline constexpr int64_t kDefaultExamples = 128;

struct HeadExamples {
  std::string task;
  heads::Examples batches = {};
  std::optional<heads::Metric> metric = {};  // of tasks that have one besides the loss
  heads::MadeTokens made = {};               // for sequences that are made: of what is written,
  heads::MadeTokens source = {};             // and of what is translated
};

// lm: windows of at most 256 tokens, side by side, of which so many are drawn. mlm: pieces of lines
// with what the tokenizer puts around a text, in which about 15 % of the words are hidden as BERT
// does (80 % of them by [MASK], 10 % by another word, 10 % not at all) and are the targets.
// translate: lines of pairs. Generated tasks: held-out cases. Ids: rows of an array, which need no
// tokenizer, and have exact matches where their targets are given. Without any, the generated task
// that the model was trained on. Throws Error(usage) when nothing says what to run on,
// Error(bad_input) for what the model cannot read or predict.
HeadExamples make_head_examples(base::FileSystem& files, const LoadedModel& loaded,
                                const ExamplesRequest& request);

// For sequences that are made: specials are left out of what is written and of what is translated,
// and a text is framed as the tokenizer does it for a model that reads both ways.
heads::BehaviourOptions made_sequences(const models::Model& model,
                                       const text::Tokenizer& tokenizer);

// The task that a request means for the model; Error as above.
std::string examples_task(base::FileSystem& files, const LoadedModel& loaded,
                          const ExamplesRequest& request);

// Rows of the arrays of a request, whole; Error as above. An encoder-decoder reads none.
std::vector<models::Batch> id_examples(base::FileSystem& files, const LoadedModel& loaded,
                                       const ExamplesRequest& request);

// Single examples, of which the functions above make batches.
models::Batch pair_example(const std::vector<int64_t>& source, const std::vector<int64_t>& target,
                           const data::SequenceIds& ids);

// Some words of an id sequence hidden as BERT does; at least one. `number` counts examples: each
// hides others.
models::Batch masked_example(std::vector<int64_t> ids, const data::HiddenWords& hidden,
                             uint64_t seed, uint64_t number);

// A line with what the tokenizer puts around it, cut to `most` ids.
std::vector<int64_t> framed_ids(const text::Tokenizer& tokenizer, const std::string& line,
                                int64_t most);

// Ids around targets, as the model has them. `name` is for the Error when it has none.
data::SequenceIds decoder_ids(const models::Model& model, const std::string& name);

// Lines that are not empty, with their numbers.
struct NumberedLine {
  std::string text;
  int64_t number = 0;  // from 1
};
std::vector<NumberedLine> numbered_lines(const std::string& text);

// `most` of `count` things, drawn by the seed, in their order; all where there are not more.
std::vector<int64_t> drawn_indices(int64_t count, int64_t most, uint64_t seed);

}  // namespace headlight::recipes
