// TracedTensor: one tensor of a run and how it came about.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/io/io.h"

namespace headlight::explain {

struct Operation;

// What the positions of an axis are, for labels. Tokens of an encoder-decoder's source are
// source_token, what a decoder or BERT reads is token.
enum class Axis { batch, head, token, source_token, column, vocabulary, label };
std::string_view name_of(Axis axis);

struct Operand {
  std::string role;  // as the operation's file says: "input", "weight", ...
  std::string name;  // of a tensor of the trace or of a parameter
};

// What every trace has besides what operations make: numbers that are given to it, and learned
// ones.
inline constexpr std::string_view kGiven = "given";
inline constexpr std::string_view kParameter = "parameter";

// Everything but the numbers, which Trace::values gives. Names are public, the same in the
// library, on the command line and in files ("encoder.0.self.scores"); parameters have those of
// the model's folder.
//
// Keys are short and stable: `formula` names the operation in its place ("attention.scores",
// "norm.mean") and, where there is more than one, the form it had ("ffn.hidden.bias",
// "attention.scale.width"); it is the same for all layers, heads, encoder and decoder. `text` says
// what a reader is told ("encoder.self.scores", "decoder.cross.query"): the name without its layer.
// Tensors of one place with the same `row` are shown side by side.
struct TracedTensor {
  std::string name;
  std::string operation = std::string(kGiven);  // a name of the operation table
  std::vector<Operand> operands = {};
  io::Json::Object attributes = {};
  tensor::Shape shape = {};
  std::vector<Axis> axes = {};  // as many as the shape has
  std::string formula = {};
  std::string text = {};
  int row = 0;
  // How much each query looks at each key: (B, H, T, S), rows add up to 1.
  bool is_attention = false;
  // What stands before and after a mask that hides what comes later, up to the weights.
  bool shows_mask = false;
  // Where heads have been pruned: the numbers of those that are left, along the axis of heads, and
  // how many there were. Empty: heads count from 0.
  std::vector<int64_t> head_numbers = {};
  int64_t original_heads = 0;
  std::string variant = {};  // the key of the variant it belongs to; empty: the run itself

  bool is_parameter() const { return operation == kParameter; }
  // The operation's description.
  const Operation& description() const;
  // The operand's name; nullptr when there is none in that role.
  const std::string* operand(std::string_view role) const;
  // An attribute as a number (true is 1), or `otherwise` where it is absent.
  double number(std::string_view attribute, double otherwise = 0) const;
  bool has_attribute(std::string_view attribute) const;
  // An attribute that is text; "" where it is absent.
  std::string_view word(std::string_view attribute) const;
  void set_attribute(std::string_view attribute, io::Json value);
  // Which axis counts heads; -1 when none does.
  int head_axis() const;
  // The number of the head at a position of that axis, and back; nothing where there is none.
  int64_t head_number(int64_t index) const;
  std::optional<int64_t> head_index(int64_t number) const;
};

}  // namespace headlight::explain
