// Pre-tokenizers of tokenizer.json, read.
#include "headlight/text/splitter.h"

#include <algorithm>

#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

constexpr std::string_view kReadSplitters =
    "ByteLevel, Metaspace, Digits, Punctuation, Split, Whitespace, WhitespaceSplit, "
    "BertPreTokenizer and a Sequence of them";
constexpr std::string_view kAnyCharacter = R"([\s\S])";

SplitBehavior behavior_of(const Component& component, std::string_view missing) {
  const std::string name = component.text("behavior", missing);
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  component.refuse(
      "\"behavior\" is not one of Removed, Isolated, MergedWithPrevious, "
      "MergedWithNext and Contiguous");
}

bool is_any_character(const Component& component) {
  const io::Json* pattern = component.find("pattern");
  const io::Json* expression = pattern ? pattern->find("Regex") : nullptr;
  return expression && expression->text() && *expression->text() == kAnyCharacter;
}

}  // namespace

Splitter::Splitter(const Component& component) {
  if (component.is_absent()) return;
  add(component);
  // At the end, letters for bytes would only be read as bytes again.
  gives_bytes_ = !steps_.empty() && steps_.back().kind == Kind::byte_letters &&
                 std::ranges::count(steps_, Kind::byte_letters, &Step::kind) == 1;
  if (gives_bytes_) steps_.pop_back();
}

void Splitter::add(const Component& component) {
  const std::string& type = component.type();
  const auto add_plain = [&](Kind kind) { steps_.push_back({.kind = kind}); };
  if (type == "ByteLevel") {
    if (component.flag("add_prefix_space", true)) add_plain(Kind::prefix_space);
    if (component.flag("use_regex", true)) add_plain(Kind::gpt2);
    add_plain(Kind::byte_letters);
  } else if (type == "WhitespaceSplit") {
    add_plain(Kind::white_space);
  } else if (type == "Whitespace") {
    add_plain(Kind::words);
  } else if (type == "BertPreTokenizer") {
    add_plain(Kind::bert);
  } else if (type == "Digits") {
    steps_.push_back({.kind = Kind::digits,
                      .behavior = component.flag("individual_digits", false)
                                      ? SplitBehavior::isolated
                                      : SplitBehavior::contiguous});
  } else if (type == "Punctuation") {
    steps_.push_back({.kind = Kind::punctuation, .behavior = behavior_of(component, "Isolated")});
  } else if (type == "Metaspace") {
    add_metaspace(component);
  } else if (type == "Split") {
    add_split(component);
  } else if (type == "Sequence") {
    for (const io::Json& part : component.array("pretokenizers")) {
      const Component step(part, "pre_tokenizer", component.name());
      if (step.is_absent()) component.refuse("one of its steps is null");
      add(step);
    }
  } else {
    component.refuse_type(kReadSplitters);
  }
  component.check_steps(steps_.size());
}

void Splitter::add_metaspace(const Component& component) {
  Step step{.kind = Kind::metaspace, .replacement = component.character("replacement", "▁")};
  const std::string scheme = component.text("prepend_scheme", "always");
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    component.refuse("\"prepend_scheme\" is not one of always, first and never");
  }
  step.scheme = scheme == "always"  ? Scheme::always
                : scheme == "first" ? Scheme::first
                                    : Scheme::never;
  // Earlier files have this flag alone.
  if (!component.flag("add_prefix_space", true)) {
    if (component.find("prepend_scheme") != nullptr && step.scheme != Scheme::never) {
      component.refuse("\"add_prefix_space\" and \"prepend_scheme\" disagree");
    }
    step.scheme = Scheme::never;
  }
  step.splits = component.flag("split", true);
  steps_.push_back(std::move(step));
}

void Splitter::add_split(const Component& component) {
  Step step{.kind = Kind::pattern,
            .behavior = behavior_of(component, ""),
            .is_inverted = component.flag("invert", false)};
  if (is_any_character(component) && step.behavior == SplitBehavior::isolated) {
    step.kind = Kind::characters;
  } else {
    step.pattern.emplace(component);
  }
  steps_.push_back(std::move(step));
}

bool Splitter::is_by_character() const {
  return steps_.size() == 1 && steps_[0].kind == Kind::characters;
}

bool Splitter::minds_the_beginning() const {
  return std::ranges::any_of(steps_, [](const Step& step) {
    return step.kind == Kind::metaspace && step.scheme == Scheme::first;
  });
}

io::Json character_splitter() {
  using Object = io::Json::Object;
  return Object{{"type", "Split"},
                {"pattern", Object{{"Regex", kAnyCharacter}}},
                {"behavior", "Isolated"},
                {"invert", false}};
}

}  // namespace headlight::text
