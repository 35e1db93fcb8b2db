// Catalogue: what a reader is told, in a language. Everything that is drawn (terminal, pages) takes
// its words from here.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/explain/explain.h"

namespace headlight::narrate {

// What stands for {name} in a text.
using Placeholder = std::pair<std::string_view, std::string>;

// The texts of one language. All languages have the same keys with the same placeholders:
//   term.query ...             the terms
//   language.name ...          of the language itself: see Languages
//   step.sum.title .text .note the walk: what a step is called, what it does, what to look at
//   tensor.scores ...          what a tensor is called, by the end of its text key: see title()
//   operation.norm.mean ...    what was done, by TracedTensor::formula
//   formula.norm.mean ...      the formula, the same in every language
//   place.decoder.cross.text   what a part of the model does
//   variant.scale, .scale.none who says what, and the ways there are
//   slip.masking.said .right   slips of well-known texts, put right
//   role.previous .text        roles of heads
//   cell.*, backward.*         why a cell has its value; the way from the loss to a weight
//   command.*                  what commands tell while they work; .counts: how large counts are
//                              shortened, "1000=# K; 1000000=# M"
//   lesson.*, label.*, message.*, first.*
// Never changes; may be used from several threads.
class Catalogue {
 public:
  // Of one of languages().
  static const Catalogue& of(std::string_view language);
  // From texts of the form "key = text", one a line; a line that begins with two spaces goes on
  // with the one before, and '#' begins a comment.
  Catalogue(std::string_view language, std::initializer_list<std::string_view> files);

  std::string_view language() const noexcept { return language_; }
  bool has(std::string_view key) const { return texts_.find(key) != texts_.end(); }
  // With {placeholders} filled in; those not given stay as they are. "{count} step{count|s}" has
  // the ending unless the count is 1. An unknown key is our own mistake: Error(failed).
  std::string text(std::string_view key, const std::vector<Placeholder>& values = {}) const;
  const std::map<std::string, std::string, std::less<>>& texts() const noexcept { return texts_; }

  // What the tensor is called: of "encoder.self.output" the entry "tensor.self.output", or else
  // "tensor.output".
  std::string title(const explain::TracedTensor& tensor) const;
  // What made it, in a sentence, and as a formula. Forms of one operation may share the sentence:
  // of "ffn.hidden.bias" it is "operation.ffn.hidden".
  std::string operation(const explain::TracedTensor& tensor) const;
  std::string formula(const explain::TracedTensor& tensor) const;

  // Numbers that people read have the language's decimal sign, wherever they stand: in sentences,
  // tables and matrices. Data (JSON, files) and what goes into a command keep the point.
  std::string_view decimal() const noexcept { return decimal_; }
  // With so many decimals; where these would leave nothing of it, as 1e-05.
  std::string number(double value, int digits) const;
  // With so many significant digits at most; a zero has no sign.
  std::string significant(double value, int digits) const;

 private:
  std::string language_;
  std::string decimal_ = ".";
  std::map<std::string, std::string, std::less<>> texts_;
};

}  // namespace headlight::narrate
