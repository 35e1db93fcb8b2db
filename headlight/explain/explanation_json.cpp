// Structs to JSON, member by member.
#include "headlight/explain/explanation_json.h"

#include <algorithm>
#include <span>
#include <utility>

namespace headlight::explain {
namespace {

constexpr std::string_view kGradient = "gradient.";

// Cells of gradients are named after the tensors whose gradients they are.
std::string text_of(const Trace& trace, const CellReference& cell) {
  if (!cell.name.starts_with(kGradient)) return cell_text(trace, cell);
  const CellReference original{cell.name.substr(kGradient.size()), cell.index};
  return std::string(kGradient) + cell_text(trace, original);
}

io::Json::Array terms_json(const Trace& trace, std::span<const Term> terms) {
  io::Json::Array list;
  for (const Term& term : terms) {
    io::Json::Array factors;
    for (const Factor& factor : term.factors) {
      factors.emplace_back(
          io::Json::Object{{"cell", text_of(trace, factor.cell)}, {"value", factor.value}});
    }
    list.emplace_back(io::Json::Object{{"key", term.key},
                                       {"factors", std::move(factors)},
                                       {"constant", term.constant},
                                       {"value", term.value},
                                       {"running", term.running}});
  }
  return list;
}

io::Json update_json(const WeightUpdate& update) {
  return io::Json::Object{{"step", update.step},
                          {"gradient_norm", update.gradient_norm},
                          {"clip_limit", update.clip_limit},
                          {"clip_factor", update.clip_factor},
                          {"clipped_gradient", update.clipped_gradient},
                          {"first_moment_before", update.first_moment_before},
                          {"second_moment_before", update.second_moment_before},
                          {"first_moment", update.first_moment},
                          {"second_moment", update.second_moment},
                          {"first_corrected", update.first_corrected},
                          {"second_corrected", update.second_corrected},
                          {"learning_rate", update.learning_rate},
                          {"decay", update.decay},
                          {"change", update.change}};
}

io::Json cell_with_terms(const Trace& trace, const CellTerms& cell, std::span<const Term> terms) {
  io::Json::Array ingredients;
  for (const Ingredient& ingredient : cell.ingredients) {
    io::Json::Object entry = {{"key", ingredient.key}, {"value", ingredient.value}};
    if (ingredient.cell) entry.emplace_back("cell", text_of(trace, *ingredient.cell));
    ingredients.emplace_back(std::move(entry));
  }
  return io::Json::Object{{"cell", text_of(trace, cell.cell)},
                          {"operation", cell.operation},
                          {"combination", cell.combination},
                          {"value", cell.value},
                          {"combined", cell.combined},
                          {"terms", terms_json(trace, terms)},
                          {"ingredients", std::move(ingredients)}};
}

}  // namespace

io::Json cell_json(const Trace& trace, const CellTerms& cell) {
  return cell_with_terms(trace, cell, cell.terms);
}

io::Json cell_json(const Trace& trace, const CellTerms& cell, const TermRange& range) {
  const int64_t all = std::ssize(cell.terms);
  const int64_t from = std::clamp<int64_t>(range.from, 0, all);
  const int64_t count = std::clamp<int64_t>(range.count, 0, all - from);
  const std::span<const Term> terms(cell.terms);
  io::Json json = cell_with_terms(
      trace, cell, terms.subspan(static_cast<size_t>(from), static_cast<size_t>(count)));
  json.object()->emplace_back("term_count", all);
  return json;
}

io::Json variant_json(const Variant& variant) {
  return io::Json::Object{
      {"key", variant.key},
      {"place", variant.place},
      {"own", variant.is_own},
      {"formula", variant.formula},
      {"tensors", io::Json::Array(variant.tensors.begin(), variant.tensors.end())},
      {"result_of", variant.result_of},
      {"largest_difference", variant.largest_difference}};
}

io::Json backward_json(const Trace& trace, const BackwardWalk& walk) {
  io::Json::Array gradients;
  for (const TensorGradient& gradient : walk.gradients) gradients.emplace_back(gradient.name);
  return io::Json::Object{{"loss", walk.loss},
                          {"target_count", walk.target_count},
                          {"weight", text_of(trace, walk.weight)},
                          {"value", static_cast<double>(walk.value)},
                          {"gradient", walk.gradient},
                          {"terms", terms_json(trace, walk.terms)},
                          {"gradients", std::move(gradients)},
                          {"update", update_json(walk.update)},
                          {"new_value", static_cast<double>(walk.update.new_value)},
                          {"new_loss", walk.new_loss}};
}

}  // namespace headlight::explain
