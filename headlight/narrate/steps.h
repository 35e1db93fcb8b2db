// The steps of the walk: one list of names, and which tensors of a run each of them shows.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/explain/explain.h"
#include "headlight/narrate/catalogue.h"

namespace headlight::narrate {

// In the order in which they are walked; a step's number is its place in this list, counted from 1.
// `output` is the second add & norm, with what leaves the stack of layers.
enum class Step {
  data_set,
  vocabulary,
  encoding,
  embedding,
  positions,
  sum,
  attention,
  add_norm,
  feed_forward,
  output,
  decoder,
  mask,
  prediction,
  learning,
};
inline constexpr int kStepCount = 14;

std::span<const Step> all_steps();
// "attention": as in the catalogue's "step.attention.title".
std::string_view name_of(Step step);
int number_of(Step step);
// 0 where there is none.
inline int number_of(std::optional<Step> step) { return step ? number_of(*step) : 0; }
// Of 1 to kStepCount.
Step step_numbered(int number);

// Keys of slips of well-known texts that a step puts right: "masking" of "slip.masking.said".
std::span<const std::string_view> slips_of(Step step);
// The key of a text that ends a step which shows something; "" where there is none.
std::string_view closing_of(Step step);
// The numbers of all steps by name, for texts that mention steps.
std::vector<Placeholder> step_numbers();

// The step to which a tensor belongs by its public name; a variant's tensor to that of the tensor
// it stands for. Everything of a decoder beside an encoder but its ids is the step `decoder`.
// Nothing for parameters, which belong to where they are used, and for names that no step knows.
std::optional<Step> step_of(const explain::Trace& trace, const explain::TracedTensor& tensor);
// The step in which variants of a place are told.
std::optional<Step> step_of(const explain::Trace& trace, const explain::Variant& variant);
// The same, and for a parameter the step in which it is first used.
std::optional<Step> step_of_use(const explain::Trace& trace, const explain::TracedTensor& tensor);

// What a step shows, in order; variants are not among it. The mask has no tensors of its own: it
// shows again scaled and masked scores, the maximum and sum of each row, and weights of the
// attentions that have a causal mask.
std::vector<const explain::TracedTensor*> tensors_of(const explain::Trace& trace, Step step);

}  // namespace headlight::narrate
