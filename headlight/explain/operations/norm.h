// What the norms share in a trace: their input, and what weight and bias make of it. Inside
// operations/ only.
#pragma once

#include "headlight/explain/operations/operations.h"

namespace headlight::explain {

struct NormRows {
  std::string input;
  std::vector<Axis> axes;
};

// The norm's own place, or one after its output's name.
std::string norm_place(const RecordedStep& step, const std::string& name);
// Puts "<place>.input": a copy of what went in or, with a residual, the sum.
NormRows put_norm_input(TraceBuilder& builder, const RecordedStep& step, const std::string& place);
// Puts "<place>.output" of "<place>.normalized".
void put_norm_output(TraceBuilder& builder, const RecordedStep& step, const std::string& place,
                     const NormRows& rows);

// Rows are normalised as a whole or, with the attribute `heads`, in as many equal parts: whether
// they are, the part that the cell's column belongs to, the axes of one number per row or part, and
// the attribute.
Expression in_heads();
Expression head_of_column();
std::vector<Axis> statistic_axes(const RecordedStep& step, const NormRows& rows);
void set_heads(const RecordedStep& step, TracedTensor& tensor);
// A rule over all numbers of a row or part, from one for a single term; with the ingredient
// "count".
Rule row_statistic(Rule rule);
// The number of the cell's row, or of its part.
std::pair<IngredientRule, IngredientRule> statistic_ingredients(const std::string& role);

}  // namespace headlight::explain
