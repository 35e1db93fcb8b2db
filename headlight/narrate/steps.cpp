// The list of steps, and names of tensors taken apart.
#include "headlight/narrate/steps.h"

#include <algorithm>

namespace headlight::narrate {
namespace {

using explain::Trace;
using explain::TracedTensor;

struct StepEntry {
  std::string_view name;
  std::vector<std::string_view> slips = {};
  std::string_view closing = {};
};

// In the order of the enumeration.
const std::array<StepEntry, kStepCount>& entries() {
  static const std::array<StepEntry, kStepCount> kEntries = {{
      {"data_set"},
      {"vocabulary"},
      {"encoding"},
      {"embedding"},
      {"positions"},
      {"sum"},
      {"attention", {"scaling", "split"}},
      {"add_norm"},
      {"feed_forward"},
      {"output"},
      {"decoder", {"cross_attention"}, "variant.cross_values"},
      {"mask", {"masking"}},
      {"prediction"},
      {"learning"},
  }};
  return kEntries;
}

const StepEntry& entry_of(Step step) { return entries()[static_cast<size_t>(step)]; }

// The parts of "encoder.0.self.scores".
std::vector<std::string_view> name_parts(std::string_view name) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool has_encoder(const Trace& trace) {
  return trace.find("encoder.ids") != nullptr || trace.find("encoder.output") != nullptr;
}

// Beside the layers of a side: what goes into them and what comes out.
std::optional<Step> step_of_side(std::string_view part) {
  if (part == "embedding" || part == "segments") return Step::embedding;
  if (part == "positions") return Step::positions;
  if (part == "sum" || part == "embedding_norm") return Step::sum;
  if (part == "norm" || part == "output") return Step::output;
  return std::nullopt;
}

// In a layer. Of two norms the first belongs to attention, of four the first two.
std::optional<Step> step_in_layer(const Trace& trace, const std::string& layer,
                                  std::string_view part) {
  if (part == "self" || part == "residual_in") return Step::attention;
  if (part == "cross") return Step::decoder;
  if (part == "ffn") return Step::feed_forward;
  if (part == "residual_out") return Step::output;
  if (part == "norm_1") return Step::add_norm;
  if (part == "norm_2") {
    return trace.find(layer + ".norm_4.output") != nullptr ? Step::add_norm : Step::output;
  }
  return part.starts_with("norm_") ? std::optional(Step::output) : std::nullopt;
}

std::optional<Step> step_of_name(const Trace& trace, std::string_view name) {
  const std::vector<std::string_view> parts = name_parts(name);
  const std::string_view side = parts.front();
  constexpr std::string_view kHeads[] = {"logits", "probabilities", "prediction", "classifier"};
  if (std::ranges::find(kHeads, side) != std::end(kHeads)) return Step::prediction;
  if ((side != "encoder" && side != "decoder") || parts.size() < 2) return std::nullopt;
  const std::string_view part = parts[1];
  if (part == "ids" || part == "segment_ids") return Step::encoding;
  if (part == "position_ids") return Step::positions;
  if (side == "decoder" && has_encoder(trace)) return Step::decoder;
  const bool is_layer = part.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_layer) return step_of_side(part);
  if (parts.size() < 3) return std::nullopt;
  return step_in_layer(trace, std::string(side).append(".").append(part), parts[2]);
}

}  // namespace

std::span<const Step> all_steps() {
  static const std::array<Step, kStepCount> kSteps = [] {
    std::array<Step, kStepCount> steps;
    for (int i = 0; i < kStepCount; ++i) steps[static_cast<size_t>(i)] = static_cast<Step>(i);
    return steps;
  }();
  return kSteps;
}

std::string_view name_of(Step step) { return entry_of(step).name; }

int number_of(Step step) { return static_cast<int>(step) + 1; }

Step step_numbered(int number) { return static_cast<Step>(number - 1); }

std::span<const std::string_view> slips_of(Step step) { return entry_of(step).slips; }

std::string_view closing_of(Step step) { return entry_of(step).closing; }

std::vector<Placeholder> step_numbers() {
  std::vector<Placeholder> numbers;
  for (const Step step : all_steps()) {
    numbers.emplace_back(name_of(step), std::to_string(number_of(step)));
  }
  return numbers;
}

std::optional<Step> step_of(const Trace& trace, const TracedTensor& tensor) {
  if (tensor.is_parameter()) return std::nullopt;
  std::string_view name = tensor.name;
  if (!tensor.variant.empty()) name.remove_prefix(("variant." + tensor.variant + ".").size());
  return step_of_name(trace, name);
}

std::optional<Step> step_of(const Trace& trace, const explain::Variant& variant) {
  return step_of_name(trace, variant.place);
}

std::optional<Step> step_of_use(const Trace& trace, const TracedTensor& tensor) {
  if (!tensor.is_parameter()) return step_of(trace, tensor);
  const auto uses = [&](const TracedTensor& other) {
    return std::ranges::any_of(other.operands, [&](const explain::Operand& operand) {
      return operand.name == tensor.name;
    });
  };
  const auto first = std::ranges::find_if(trace.tensors(), uses);
  return first == trace.tensors().end() ? std::nullopt : step_of(trace, *first);
}

std::vector<const TracedTensor*> tensors_of(const Trace& trace, Step step) {
  std::vector<const TracedTensor*> found;
  for (const TracedTensor& tensor : trace.tensors()) {
    if (!tensor.variant.empty()) continue;
    const bool is_shown = step == Step::mask ? tensor.shows_mask : step_of(trace, tensor) == step;
    if (is_shown) found.push_back(&tensor);
  }
  return found;
}

}  // namespace headlight::narrate
