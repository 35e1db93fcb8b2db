// One text, or two that are parted by a tab.
#include "headlight/recipes/classification.h"

namespace headlight::recipes {
namespace {

infer::ClassifiedText encoded(const text::Tokenizer& tokenizer, const models::Model& model,
                              const std::string& line) {
  const size_t tab = line.find('\t');
  if (tab == line.npos) {
    return {.ids = tokenizer.encode(line, {.framed = true, .sizing = text::Sizing::cut})};
  }
  const std::string second = line.substr(tab + 1);
  if (second.find('\t') != second.npos) {
    base::refuse("classify", "", "has more than one tab; one stands between two texts");
  }
  text::PairIds pair = tokenizer.encode_pair(line.substr(0, tab), second);
  if (!model.reads_segments()) pair.segments.clear();
  return {.ids = std::move(pair.ids), .segments = std::move(pair.segments)};
}

}  // namespace

infer::ClassifiedText classified_text(const text::Tokenizer& tokenizer, const models::Model& model,
                                      const std::string& line, const std::string& place) {
  infer::ClassifiedText text;
  try {
    text = encoded(tokenizer, model, line);
  } catch (const base::Error& error) {
    throw base::Error(error.kind(), "classify", place, error.what());
  }
  if (text.ids.empty()) base::refuse("classify", place, "has no tokens");
  if (std::ssize(text.ids) > model.context_length()) {
    base::refuse("classify", place,
                 "has " + std::to_string(text.ids.size()) + " tokens, the model's context is " +
                     std::to_string(model.context_length()));
  }
  return text;
}

}  // namespace headlight::recipes
