// Operation: what made a tensor, as data that an independent program can follow: which cells of
// which operands enter a cell, and how they combine. Each is described in one file of operations/.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/autograd/autograd.h"
#include "headlight/explain/expression.h"

namespace headlight::explain {

class Trace;
class TraceBuilder;
class VariantBuilder;
struct TracedTensor;

// One cell of the operand in this role. The role "" is the operand whose number is the term's.
struct CellRule {
  std::string role;
  std::vector<Expression> index;
};

// A number that enters besides the terms: a cell of an operand, or a value.
struct IngredientRule {
  std::string key;  // "mean", "epsilon", "position", ...; cell.ingredient.<key> of the catalogue
  std::optional<CellRule> cell = {};
  Expression value = 0.0;
  Expression present = 1.0;  // 0: there is none
};

// As many lines of the sum as `count` says. A line's value is the product of its factors and the
// constant, unless `value` says otherwise.
struct TermRule {
  std::string key;  // "product", "bias", "value", ...; cell.term.<key> of the catalogue
  std::vector<CellRule> factors = {};
  Expression count = 1.0;
  Expression constant = 1.0;
  std::optional<Expression> value = {};
  Expression present = 1.0;
};

// How the sum of the terms becomes the value; the first one that applies.
struct CombinationRule {
  std::string key;  // "sum", "mean", "root", ...; cell.combination.<key> of the catalogue
  Expression value = sum();
  std::optional<Expression> shown = {};  // for readers, where it is more than `value` says
  Expression present = 1.0;
  bool grows_with_terms = true;  // whether its rounding does
};

// Without combinations a cell is a leaf: it is given.
struct Rule {
  std::vector<IngredientRule> ingredients = {};
  std::vector<TermRule> terms = {};
  std::vector<CombinationRule> combinations = {};
};

// A way in which a cell is often got wrong: a rule of its own, over the same operands and over
// others of the same place (the role ".value" is the tensor "value" there). Where it needs cells
// that there are not, nobody can make the mistake.
struct MistakeRule {
  std::string key;  // "not_scaled", ...; mistake.<key> of the catalogue
  Rule rule;
};

// Of an operation whose cells a learner can compute by hand.
struct Practice {
  std::vector<MistakeRule> mistakes = {};
  // The terms and ingredients that the learner is given; absent: those of the operation's rule.
  std::optional<Rule> given = {};
};

// The gradient of a tensor, on its way to one of its operands.
struct GradientFlow {
  const Trace& trace;
  const TracedTensor& made;     // the tensor that the operand went into
  const TracedTensor& operand;  // ... in the role `role`
  std::string_view role;
  const tensor::Tensor& gradient;  // of `made`, contiguous, of its shape
};

// One use of a parameter's cell: which cell of the result it entered, and what it was multiplied
// with there.
struct CellUse {
  std::vector<int64_t> result;
  std::string key = "value";                   // as TermRule::key
  std::optional<std::string> other_role = {};  // the other factor; absent: none
  std::vector<int64_t> other_index = {};
  double constant = 1;
};

struct Operation {
  std::string name;
  std::string does = {};  // operands by role, attributes, and what they mean: docs/formats
  Rule rule = {};
  // backward.<key> of the catalogue: how gradients pass; empty: they do not, or as they are.
  std::string gradient_text = {};
  // The contribution to the operand's gradient, of its shape; not defined where none passes.
  // Absent: nothing passes.
  tensor::Tensor (*gradient)(const GradientFlow& flow) = nullptr;
  // Of operations that only move numbers or add to them: their own gradient, from that of their
  // first operand where nothing else is made of it.
  tensor::Tensor (*moved)(const tensor::Tensor& gradient, const TracedTensor& made) = nullptr;
  // Where a cell of the operand in this role entered `made`; for operands that are learned.
  std::vector<CellUse> (*uses)(const Trace& trace, const TracedTensor& made, std::string_view role,
                               const std::vector<int64_t>& cell) = nullptr;
};

using RecordedStep = autograd::Recording::Step;

// How one operation of autograd, as it reports itself, becomes tensors of a trace. `name` is what
// its output is called.
struct Expansion {
  std::string operation;  // Report::operation
  void (*put)(TraceBuilder& builder, const RecordedStep& step, const std::string& name);
  // The same for columns [begin, begin + width of the part) of an output that has no name itself;
  // absent: such parts are cut out of the whole.
  void (*put_part)(TraceBuilder& builder, const RecordedStep& step, const std::string& name,
                   const autograd::Recording::Source& part, int64_t width) = nullptr;
};

// Other ways to compute what stands at a place: see variants.h.
struct VariantFamily {
  // The place that this tensor is the sign of; empty: none.
  std::string (*place)(const Trace& trace, const TracedTensor& tensor);
  void (*build)(VariantBuilder& builder);
};

// All that is known, put together from the files of operations/: each defines a function
// add_<file>(OperationTable&), and the build calls them all.
struct OperationTable {
  std::map<std::string, Operation, std::less<>> operations;
  std::map<std::string, Expansion, std::less<>> expansions;
  std::map<std::string, Practice, std::less<>> practices;  // by the operation's name
  std::vector<VariantFamily> variants;
  std::set<std::string> formulas;  // keys that TracedTensor::formula may have

  void add(Operation operation) { operations[operation.name] = std::move(operation); }
  void add(Expansion expansion) { expansions[expansion.operation] = expansion; }
};
const OperationTable& operation_table();
// Made by the build; calls add_<file> of every file of operations/.
void fill_operation_table(OperationTable& table);

// The rule as JSON: {"ingredients", "terms", "combinations"}, expressions as Expression::json.
io::Json rule_json(const Rule& rule);
// {"name": rule, ...} of these operations.
io::Json operations_json(const std::set<std::string>& names);

}  // namespace headlight::explain
