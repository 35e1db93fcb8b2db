// A step of a walk or of a lesson as it is shown: words, formulas, arrays, tables; for a terminal
// and as JSON.
#pragma once

#include <string>
#include <vector>

#include "headlight/explain/explain.h"
#include "headlight/narrate/catalogue.h"
#include "headlight/narrate/draw_matrix.h"

namespace headlight::narrate {

struct ShownArray {
  std::string name;       // public, e.g. "encoder.0.self.scores"
  std::string title;      // for people
  std::string text = {};  // a sentence on how it came about
  std::string formula = {};
  tensor::Tensor numbers;    // float32 or int64, contiguous
  tensor::Shape shape = {};  // where there are no numbers
  // Of each axis; empty where positions are numbers. Absent: of none.
  std::vector<std::vector<std::string>> labels = {};
  std::vector<explain::Axis> axes = {};  // as many as the shape has, or absent
  int digits = 4;
  // Where the numbers are a part of a traced run: the tensor, and which of its numbers is the first
  // one; the others follow in order. Empty: they can not be asked why.
  std::string tensor = {};
  int64_t tensor_begin = 0;
};

struct ShownTable {
  std::vector<std::vector<std::string>> lines;  // the first is the heading
};

// A number that is told in words or in a table, for JSON.
struct ShownNumber {
  std::string name;
  double value = 0;
};

struct ShownStep {
  int number = 0;  // 0: a part of the step before, under a title of its own
  std::string title;
  std::vector<std::string> paragraphs = {};
  std::vector<ShownTable> tables = {};
  std::vector<ShownArray> arrays = {};
  std::vector<HeadDrawing> heads = {};
  std::vector<std::string> afterwards = {};  // paragraphs
  std::vector<std::string> slips = {};       // "masking": keys of the catalogue
  std::vector<ShownNumber> numbers = {};
};

// What is not there, and nothing else: "504 of 512 columns left out."
std::string left_out_text(const Catalogue& catalogue, const LeftOut& left);
std::string array_drawing(const TextStyle& style, const Catalogue& catalogue,
                          const ShownArray& array);
// With a heading, such as "Step 3 of 14: Encoding".
std::string step_text(const TextStyle& style, const Catalogue& catalogue,
                      const std::string& heading, const ShownStep& step);

// [{"step", "title", "text": [], "numbers": {}, "arrays": [{"name", "title", "shape", "tensor" (of
// a traced run, where it has another name), "values"}]}]: each number once, in order, with all that
// is shown under it; the title of what comes second is the first line of its text. Values are left
// out beyond `most_elements`.
io::Json steps_json(const std::vector<ShownStep>& steps, int64_t most_elements);

// A tensor of a trace, or one head of it (-1: all).
ShownArray shown_tensor(const explain::Trace& trace, const Catalogue& catalogue,
                        const explain::TracedTensor& tensor, int64_t head = -1);
// The same without its numbers, which may be many.
ShownArray named_tensor(const Catalogue& catalogue, const explain::TracedTensor& tensor);

}  // namespace headlight::narrate
