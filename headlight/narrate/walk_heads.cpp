// Parts of the walk beyond its steps: heads token to token.
#include <algorithm>

#include "headlight/narrate/walk.h"

namespace headlight::narrate {
namespace {

constexpr size_t kMostShownHeads = 24;

// What the heads at a place look at: "encoder.0.self".
const explain::TracedTensor& attention_at(const explain::Trace& trace, const std::string& place) {
  const auto found = std::ranges::find_if(trace.tensors(), [&](const explain::TracedTensor& one) {
    return one.is_attention && one.variant.empty() && one.name.starts_with(place + ".");
  });
  return found == trace.tensors().end() ? trace.at(place) : *found;
}

// "one token: thrones".
std::string role_text(const Walk& walk, const heads::HeadStatistics& head) {
  std::string text = walk.catalogue.text("role." + std::string(name_of(head.role)));
  if (head.key < 0) return text;
  const std::vector<std::string> keys =
      walk.trace.labels(attention_at(walk.trace, head.place).axes[3]);
  const auto at = static_cast<size_t>(head.key);
  return text + ": " + (at < keys.size() ? visible(keys[at]) : std::to_string(head.key));
}

}  // namespace

std::vector<heads::HeadStatistics> heads_of(const explain::Trace& trace) {
  return heads::head_statistics(trace.threads(), trace.recording(), trace.input().batch);
}

ShownStep heads_step(const Walk& walk, const std::vector<heads::HeadStatistics>& heads) {
  const Catalogue& catalogue = walk.catalogue;
  ShownStep step{.title = catalogue.text("heads.title"),
                 .paragraphs = {catalogue.text("heads.text")}};
  for (const char* key : {"share", "entropy", "distance"}) {
    step.paragraphs.push_back(catalogue.text(std::string("label.") + key) + ": " +
                              catalogue.text(std::string("heads.") + key));
  }
  ShownTable table{
      {{catalogue.text("label.head"), catalogue.text("label.role"), catalogue.text("label.share"),
        catalogue.text("label.entropy"), catalogue.text("label.distance")}}};
  double difference = 0;
  int64_t rows = 0, columns = 0;  // of the largest drawing
  for (const heads::HeadStatistics& head : heads) {
    difference = std::max(difference, head.output_difference);
    if (table.lines.size() > kMostShownHeads) continue;
    const std::string role = role_text(walk, head);
    table.lines.push_back({head.name(), role, catalogue.number(head.measure, 2),
                           catalogue.number(head.entropy, 3),
                           catalogue.number(head.mean_distance, 2)});
    const explain::TracedTensor& tensor = attention_at(walk.trace, head.place);
    const tensor::Tensor weights = walk.trace.values(
        head.place + ".head." + std::to_string(head.head) + tensor.name.substr(head.place.size()));
    rows = std::max(rows, weights.size(-2));
    columns = std::max(columns, weights.size(-1));
    step.heads.push_back({head.name() + ": " + role,
                          weights.reshaped({weights.size(-2), weights.size(-1)}),
                          {walk.trace.labels(tensor.axes[2]), walk.trace.labels(tensor.axes[3])}});
  }
  step.tables.push_back(std::move(table));
  if (std::max(rows, columns) > kMostHeadTokens) {
    const auto beyond = [](int64_t count) { return std::max<int64_t>(0, count - kMostHeadTokens); };
    step.afterwards.push_back(
        left_out_text(catalogue, {beyond(rows), rows, beyond(columns), columns}));
  }
  if (heads.size() > kMostShownHeads) {
    step.afterwards.push_back(catalogue.text(
        "message.left_out_matrices", {{"matrices", std::to_string(heads.size() - kMostShownHeads)},
                                      {"all_matrices", std::to_string(heads.size())}}));
  }
  step.afterwards.push_back(
      catalogue.text("heads.difference", {{"difference", catalogue.number(difference, 4)}}));
  return step;
}

}  // namespace headlight::narrate
