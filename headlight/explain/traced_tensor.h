// TracedTensor: one tensor of a run and how it came about.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/explain/operation.h"
#include "headlight/io/io.h"

namespace headlight::explain {

// What the positions of an axis are, for labels. Tokens of an encoder-decoder's source are
// source_token, what a decoder or BERT reads is token.
enum class Axis { batch, head, token, source_token, column, vocabulary };
std::string_view name_of(Axis axis);

struct Operand {
  std::string role;  // as in operation.h: "input", "weight", ...
  std::string name;  // of a tensor of the trace or of a parameter
};

// Everything but the numbers, which Trace::values gives. Names are public: those of the command
// line's contract ("encoder.0.self.scores"), parameters those of the model's folder.
//
// Keys are short and stable: `formula` names the operation in its place ("attention.scores",
// "norm.mean") and, where there is more than one, the form it had ("ffn.hidden.bias",
// "attention.scale.width"); it is the same for all layers, heads, encoder and decoder. `text`
// says what a reader is told ("encoder.self.scores", "decoder.cross.query"): the name without its
// layer. `step` is the number of the walk's step that shows it, 3 to 13 (studio's table); 12, the
// mask, shows again what belongs to 7 or 11: see Trace::of_step.
struct TracedTensor {
  std::string name;
  Operation operation = Operation::given;
  std::vector<Operand> operands = {};
  io::Json::Object attributes = {};
  tensor::Shape shape = {};
  std::vector<Axis> axes = {};  // as many as the shape has
  std::string formula = {};
  std::string text = {};
  int step = 0;
  std::string variant = {};  // the key of the variant it belongs to; empty: the run itself

  // The operand's name; nullptr when there is none in that role.
  const std::string* operand(std::string_view role) const;
  // An attribute as a number (true is 1), or `otherwise` where it is absent.
  double number(std::string_view attribute, double otherwise = 0) const;
  // An attribute that is text; "" where it is absent.
  std::string_view word(std::string_view attribute) const;
  // Which axis counts heads; -1 when none does.
  int head_axis() const;
};

// All keys of formulas that there are.
std::span<const std::string_view> formula_keys();

}  // namespace headlight::explain
