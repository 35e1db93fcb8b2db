// Relations between words of sentences, as positions of tokens; and those that generated tasks are
// made of.
#pragma once

#include <string>
#include <vector>

#include "headlight/recipes/head_examples.h"

namespace headlight::recipes {

// Each place where a text, as the tokenizer decodes it, has the word as a whole word.
struct WordPlace {
  int64_t token = 0;          // the first of the word
  bool is_whole_word = true;  // false: the word goes on in the next token
};
std::vector<WordPlace> word_places(const text::Tokenizer& tokenizer,
                                   const std::vector<int64_t>& ids, const std::string& word);

struct RelationRequest {
  std::string from = {};   // a word that is expected to look
  std::string to = {};     // at this one
  std::string pairs = {};  // or a file of lines sentence, tab, word, tab, word; where the data are
                           // ids an array (P,3) of example, row and key, each counted from 0
  // Where sentences come from, a line each; of a generated task without words, the relation that it
  // is made of: reverse and copy have one, from what is written to where that is read.
  ExamplesRequest data = {};
};

// Sentences in which there are pairs, and where these are.
struct RelationExamples {
  std::string task;
  heads::Examples examples = {};
  heads::Relation relation = {};
  heads::Examples measured_on = {};          // of hidden words; empty: the examples themselves
  std::optional<heads::Metric> metric = {};  // of tasks that have one besides the loss
  int64_t first_tokens = 0;  // pairs in which a word has several tokens: its first one counts
};

// Of ids all examples are taken. Words are looked for as the tokenizer writes them (in small
// letters, where it makes letters small). In a sentence each place of `from` goes with the nearest
// of `to`. In models that translate, words are looked for in the source (its self-attention), in
// what is written (the decoder's) and from what is written to the source (cross-attention, whose
// query is the row that writes the word); of sentences of a file of pairs, what the model itself
// writes. Throws Error(usage) for a request that names nothing, Error(bad_input) for words that are
// in no sentence.
RelationExamples make_relation(base::ThreadPool& threads, base::FileSystem& files,
                               const LoadedModel& loaded, const RelationRequest& request);

}  // namespace headlight::recipes
