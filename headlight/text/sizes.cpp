// Cutting and filling as Hugging Face's `tokenizers` does for one text.
#include "headlight/text/sizes.h"

#include <algorithm>

namespace headlight::text {
namespace {

constexpr int64_t kLongest = 10'000'000;  // ids that a text is filled up to

bool is_left(const Component& component) {
  const std::string direction = component.text("direction", "Right");
  if (direction != "Left" && direction != "Right") {
    component.refuse("\"direction\" is neither \"Left\" nor \"Right\"");
  }
  return direction == "Left";
}

int64_t length_of(const Component& component, std::string_view key, int64_t missing) {
  const int64_t length = component.integer(key, missing);
  if (length >= 0 && length <= kLongest) return length;
  component.refuse("\"" + std::string(key) + "\" is " + std::to_string(length) +
                   ", it must be from 0 to " + std::to_string(kLongest));
}

// Programs write huge numbers where they mean that nothing is cut.
int64_t longest_of(const Component& component) {
  const io::Json* length = component.find("max_length");
  if (!length) component.refuse("\"max_length\" is missing");
  const std::optional<double> number = length->number();
  if (number && *number >= 0 && (length->integer() || *number >= 0x1p63)) {
    return length->integer().value_or(INT64_MAX);
  }
  component.refuse("\"max_length\" is " + io::json_text(*length).substr(0, 40) +
                   ", a whole number from 0 on is needed");
}

Sizes::Cut read_cut(const Component& component) {
  if (component.text("strategy", "LongestFirst") == "OnlySecond") {
    component.refuse("the strategy \"OnlySecond\" cuts the second of two texts, here is one");
  }
  return {.longest = longest_of(component), .at_front = is_left(component)};
}

// "strategy": "BatchLongest" or {"Fixed": 128}
int64_t fixed_length(const Component& component) {
  const io::Json* strategy = component.find("strategy");
  if (!strategy || (strategy->text() && *strategy->text() == "BatchLongest")) return 0;
  const io::Json* fixed = strategy->find("Fixed");
  if (fixed && fixed->integer() && *fixed->integer() >= 0 && *fixed->integer() <= kLongest) {
    return *fixed->integer();
  }
  component.refuse("\"strategy\" is neither \"BatchLongest\" nor {\"Fixed\": a length}");
}

Sizes::Filling read_filling(const Component& component, const Vocabulary& vocabulary) {
  Sizes::Filling filling{
      .length = fixed_length(component),
      .multiple_of = std::max<int64_t>(1, length_of(component, "pad_to_multiple_of", 1)),
      .id = component.integer("pad_id", 0),
      .at_front = is_left(component)};
  if (!vocabulary.contains(filling.id)) {
    component.refuse("\"pad_id\" is " + std::to_string(filling.id) + ", the vocabulary has " +
                     std::to_string(vocabulary.size()) + " tokens");
  }
  return filling;
}

}  // namespace

void Sizes::shorten(Ids& ids, int64_t around) const {
  // `tokenizers` cuts nothing where not even what is put around the text has room.
  if (!cut || cut->longest < around) return;
  const auto count = static_cast<int64_t>(ids.size());
  const int64_t kept = std::min(cut->longest - around, count);
  if (cut->at_front) {
    ids.erase(ids.begin(), ids.end() - kept);
  } else {
    ids.resize(static_cast<size_t>(kept));
  }
}

void Sizes::fill(Ids& ids) const {
  if (!filling) return;
  const auto count = static_cast<int64_t>(ids.size());
  const int64_t least = filling->length > 0 ? filling->length : count;
  const int64_t rounded =
      (least + filling->multiple_of - 1) / filling->multiple_of * filling->multiple_of;
  if (rounded <= count) return;
  ids.insert(filling->at_front ? ids.begin() : ids.end(), static_cast<size_t>(rounded - count),
             filling->id);
}

Sizes read_sizes(const Component& truncation, const Component& padding,
                 const Vocabulary& vocabulary) {
  Sizes sizes;
  if (!truncation.is_absent()) sizes.cut = read_cut(truncation);
  if (!padding.is_absent()) sizes.filling = read_filling(padding, vocabulary);
  return sizes;
}

}  // namespace headlight::text
