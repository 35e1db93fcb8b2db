// Door of explain: a run of a model as data. Every tensor with the operation and the operands that
// made it, the terms of every cell, the variants where texts disagree, and the way back from an
// error to a changed weight. What is drawn from it, and in which language, is the caller's: texts
// and formulas are named by keys.
//
//   const explain::Input input = explain::make_input(model, tokenizer, {.text = "...", ...});
//   explain::Trace trace = explain::trace_model(threads, model, input);
//   for (const explain::TracedTensor& tensor : trace.tensors()) { ... trace.values(tensor.name) }
//   explain_cell(trace, parse_cell(trace, "encoder.0.self.head.2.scores[3,5]"));
//   explain::write_trace(files, "trace.safetensors", trace, explain::trace_tensors(trace));
//
// A Trace and what is asked of it belong to one thread at a time. Mistakes of the caller (unknown
// names, cells out of range, texts without words) are Error(bad_input).
#pragma once

#include "headlight/explain/backward.h"
#include "headlight/explain/cell.h"
#include "headlight/explain/cell_terms.h"
#include "headlight/explain/compare.h"
#include "headlight/explain/edges.h"
#include "headlight/explain/explanation_json.h"
#include "headlight/explain/input.h"
#include "headlight/explain/mistakes.h"
#include "headlight/explain/operation.h"
#include "headlight/explain/tile.h"
#include "headlight/explain/trace.h"
#include "headlight/explain/trace_json.h"
#include "headlight/explain/variants.h"
