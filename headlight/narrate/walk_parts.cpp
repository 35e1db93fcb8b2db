// Parts of the walk beyond its steps: why a cell has its value, and the way back to a weight.
#include <algorithm>

#include "headlight/narrate/walk.h"

namespace headlight::narrate {
namespace {

using explain::Term;
using explain::Trace;
using tensor::Tensor;

constexpr size_t kMostTerms = 40;

constexpr int kDigits = 7;  // of numbers that are shown as they are

// A cell as it is named on the command line; gradients have names of their own.
std::string name_of_cell(const Trace& trace, const explain::CellReference& cell) {
  if (trace.knows(cell.name)) return explain::cell_text(trace, cell);
  std::string text = cell.name + "[";
  for (size_t i = 1; i < cell.index.size(); ++i) {
    text += (i > 1 ? "," : "") + std::to_string(cell.index[i]);
  }
  return text + "]";
}

std::string digits_of(const Walk& walk, double value) {
  return walk.catalogue.significant(value, kDigits);
}
std::string signed_text(const Walk& walk, double value) {
  return (value < 0 ? "" : "+") + digits_of(walk, value);
}

// "encoder.0.self.head.0.query[3,1]" taken apart before the index.
std::pair<std::string, std::string> taken_apart(const std::string& cell) {
  const size_t bracket = cell.find('[');
  return {cell.substr(0, bracket), cell.substr(bracket)};
}

// The factors' cells one after another: whole, their names alone, or their indices alone.
enum class CellPart { whole, name, index };
std::string factors_text(const Trace& trace, const Term& term, CellPart part) {
  std::string text;
  for (const explain::Factor& factor : term.factors) {
    const std::string cell = name_of_cell(trace, factor.cell);
    const auto [name, index] = taken_apart(cell);
    text += (text.empty() ? "" : " · ") + (part == CellPart::whole  ? cell
                                           : part == CellPart::name ? name
                                                                    : index);
  }
  return text;
}

// What the terms are made of, "a · b", and a bias at their end; then a line needs only the indices.
// Empty: they differ, or there is one of one factor.
std::string common_names(const Trace& trace, const std::vector<Term>& terms) {
  std::string common;
  for (const Term& term : terms) {
    const std::string names = factors_text(trace, term, CellPart::name);
    const bool is_bias =
        &term == &terms.back() && term.factors.size() < terms.front().factors.size();
    if (is_bias) return common + " + " + names;
    if (&term != &terms.front() && common != names) return "";
    common = names;
  }
  return terms.size() > 1 || common.find(" · ") != std::string::npos ? common : "";
}

// "0.5 · 3", or what kind of term it is.
std::string term_text(const Walk& walk, const Term& term) {
  if (term.factors.size() < 2 && term.constant == 1) {
    return walk.catalogue.text("cell.term." + term.key);
  }
  std::string product;
  for (const explain::Factor& factor : term.factors) {
    product += (product.empty() ? "" : " · ") + digits_of(walk, factor.value);
  }
  return term.constant == 1 ? product : product + " · " + digits_of(walk, term.constant);
}

// With a running sum where the terms are added.
void add_terms(const Walk& walk, const std::vector<Term>& terms, bool summed, ShownStep& step) {
  ShownTable table;
  const auto add_line = [&](const std::string& term, const std::string& value,
                            const std::string& running, const std::string& from) {
    auto& line = table.lines.emplace_back(std::vector<std::string>{term, value});
    if (summed) line.push_back(running);
    line.push_back(from);
  };
  add_line(walk.catalogue.text("label.term"), walk.catalogue.text("label.value"),
           walk.catalogue.text("label.running"), walk.catalogue.text("label.from"));
  const std::string common = common_names(walk.trace, terms);
  if (!common.empty()) step.paragraphs.push_back(common);
  for (size_t i = 0; i < std::min(terms.size(), kMostTerms); ++i) {
    const Term& term = terms[i];
    add_line(term_text(walk, term), signed_text(walk, term.value), digits_of(walk, term.running),
             factors_text(walk.trace, term, common.empty() ? CellPart::whole : CellPart::index));
  }
  if (terms.size() > kMostTerms) {
    add_line("…", "", digits_of(walk, terms.back().running),
             "(+" + std::to_string(terms.size() - kMostTerms) + ")");
  }
  step.tables.push_back(std::move(table));
}

ShownArray gradient_array(const Walk& walk, const explain::TensorGradient& gradient) {
  const explain::TracedTensor& tensor = walk.trace.at(gradient.name);
  ShownArray array = shown_tensor(walk.trace, walk.catalogue, tensor);
  array.numbers = gradient.values.contiguous().reshaped(array.numbers.shape());
  array.name = "gradient." + gradient.name;
  array.tensor.clear();
  array.title = walk.catalogue.text("label.gradient") + ": " + array.title;
  array.formula.clear();
  array.text.clear();
  return array;
}

// Which of the sentences on the way back belongs to a tensor's gradient: that of the operation by
// which it goes on.
std::string way_back(const Trace& trace, const std::string& name) {
  if (name == "logits") return "error";
  for (const explain::TracedTensor& next : trace.tensors()) {
    const bool uses = std::any_of(next.operands.begin(), next.operands.end(),
                                  [&](const explain::Operand& one) { return one.name == name; });
    const std::string& way = next.description().gradient_text;
    if (uses && !way.empty()) return way;
  }
  return "";
}

// A weight of the step in which heads look; where that has none that the loss depends on, any.
explain::CellReference told_weight(const Trace& trace, models::Model& model) {
  std::vector<std::string> all, of_attention;
  for (const explain::TracedTensor& parameter : trace.parameters()) {
    if (parameter.shape.rank() != 2) continue;
    all.push_back(parameter.name);
    if (step_of_use(trace, parameter) == Step::attention) of_attention.push_back(parameter.name);
  }
  return explain::steepest_weight(trace, model, of_attention, all);
}

void add_update(const Walk& walk, const explain::BackwardWalk& backward, ShownStep& step) {
  const Catalogue& catalogue = walk.catalogue;
  const explain::WeightUpdate& update = backward.update;
  const auto row = [&](const char* key, double value) {
    return std::vector<std::string>{catalogue.text(std::string("label.") + key),
                                    digits_of(walk, value)};
  };
  const auto signed_row = [&](const char* key, double value) {
    return std::vector<std::string>{catalogue.text(std::string("label.") + key),
                                    value == 0 ? digits_of(walk, value) : signed_text(walk, value)};
  };
  step.tables.push_back(
      {{row("gradient", backward.gradient), row("gradient_norm", update.gradient_norm),
        row("clip_factor", update.clip_factor), row("first_moment", update.first_moment),
        row("second_moment", update.second_moment), row("learning_rate", update.learning_rate),
        signed_row("decay", update.decay), signed_row("change", update.change)}});
  for (const char* key : {"clip", "moments", "corrected", "change", "decay"}) {
    if (std::string_view(key) == "decay" && update.decay == 0) continue;
    step.afterwards.push_back(catalogue.text(std::string("backward.") + key));
  }
  step.afterwards.push_back(
      catalogue.text("backward.new_value", {{"value", catalogue.number(update.new_value, 7)}}));
  step.afterwards.push_back(
      catalogue.text("backward.new_loss", {{"before", catalogue.number(backward.loss, 6)},
                                           {"after", catalogue.number(backward.new_loss, 6)}}));
  step.numbers = {{"loss", backward.loss},
                  {"gradient", backward.gradient},
                  {"new_value", update.new_value},
                  {"new_loss", backward.new_loss}};
}

// How the terms became the value. A quotient of one term has nothing to add up.
std::string combination_key(const explain::CellTerms& cell) {
  if (cell.combination == "quotient" && cell.terms.size() == 1) {
    return cell.terms.front().key == "exponential" ? "cell.combination.quotient.exponential"
                                                   : "cell.combination.quotient.one";
  }
  return "cell.combination." + cell.combination;
}

}  // namespace

explain::BackwardWalk walk_to_weight(const Trace& trace, models::Model& model,
                                     const std::optional<std::string>& weight,
                                     const recipes::WorkedTraining* training) {
  const recipes::WorkedRecipe recipe;
  explain::BackwardOptions options{.optimizer = recipe.optimizer};
  options.optimizer.learning_rate = recipe.schedule.learning_rate;
  if (training != nullptr) {
    options.optimizer_state = training->optimizer_state;
    options.optimizer.learning_rate = training->next_learning_rate;
  }
  const explain::CellReference cell =
      weight ? explain::parse_cell(trace, *weight) : told_weight(trace, model);
  return explain::walk_backward(trace, model, cell, options);
}

std::vector<ShownStep> backward_steps(const Walk& walk, const explain::BackwardWalk& backward) {
  const Catalogue& catalogue = walk.catalogue;
  ShownStep back{
      .number = number_of(Step::learning),
      .title = catalogue.text("step.learning.title"),
      .paragraphs = {catalogue.text("step.learning.text"), catalogue.text("step.learning.note")}};
  back.paragraphs.push_back(catalogue.text(
      "backward.weight", {{"weight", explain::cell_text(walk.trace, backward.weight)},
                          {"value", catalogue.number(backward.value, 7)}}));
  if (!walk.weight_is_asked) {
    back.paragraphs.push_back(catalogue.text("backward.chosen", step_numbers()));
  }
  back.paragraphs.push_back(
      catalogue.text("backward.loss", {{"loss", catalogue.number(backward.loss, 6)}}));
  back.paragraphs.push_back(catalogue.text("formula.backward.loss"));
  back.paragraphs.push_back(catalogue.text("backward.gradients"));
  for (const explain::TensorGradient& gradient : backward.gradients) {
    ShownArray& array = back.arrays.emplace_back(gradient_array(walk, gradient));
    const std::string key = "backward." + way_back(walk.trace, gradient.name);
    if (!catalogue.has(key)) continue;
    array.text = catalogue.text(key);
    array.formula = catalogue.text("formula." + key);
  }
  ShownStep update{.number = number_of(Step::learning),
                   .title = catalogue.text("backward.title"),
                   .paragraphs = {catalogue.text("backward.terms")}};
  add_terms(walk, backward.terms, backward.terms.size() > 1, update);
  add_update(walk, backward, update);
  return {std::move(back), std::move(update)};
}

ShownStep cell_step(const Walk& walk, const explain::CellTerms& cell) {
  const Catalogue& catalogue = walk.catalogue;
  const explain::TracedTensor& tensor = walk.trace.at(cell.cell.name);
  const std::string name = explain::cell_text(walk.trace, cell.cell);
  ShownStep step{.number = number_of(step_of(walk.trace, tensor)),
                 .title = name + " = " + digits_of(walk, cell.value),
                 .paragraphs = {catalogue.title(tensor) + ": " + catalogue.operation(tensor)}};
  if (!tensor.is_parameter()) {
    step.paragraphs.push_back(catalogue.formula(tensor));
  }
  step.numbers = {{"value", cell.value}, {"combined", cell.combined}};
  step.paragraphs.push_back(catalogue.text(combination_key(cell)));
  if (cell.combination == "nothing") return step;
  add_terms(walk, cell.terms, cell.adds_up(), step);
  ShownTable others;
  for (const explain::Ingredient& ingredient : cell.ingredients) {
    others.lines.push_back({catalogue.text("cell.ingredient." + ingredient.key),
                            digits_of(walk, ingredient.value),
                            ingredient.cell ? name_of_cell(walk.trace, *ingredient.cell) : ""});
  }
  others.lines.push_back({catalogue.text("label.combined"), digits_of(walk, cell.combined), ""});
  step.tables.push_back(std::move(others));
  const std::vector<explain::CellReference> cells = cell.cells();
  if (!cells.empty()) {
    step.afterwards.push_back(catalogue.text("cell.walk_on") + " --cell '" +
                              name_of_cell(walk.trace, cells.front()) + "'");
  }
  return step;
}

}  // namespace headlight::narrate
