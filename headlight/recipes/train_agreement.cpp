// Settings are compared by their values, what is read by checksums.
#include "headlight/recipes/train_agreement.h"

#include "headlight/recipes/experiment_state.h"

namespace headlight::recipes {
namespace {

using base::ErrorKind;

// All that training asks of a tokenizer once its texts are ids: the tokens, which of them are
// special, and what for.
std::string token_sum(const text::Tokenizer& tokenizer) {
  std::string tokens;
  const auto add_id = [&](std::optional<int64_t> id) {
    tokens += (id ? std::to_string(*id) : "none") + "\n";
  };
  for (int64_t id = 0; id < tokenizer.size(); ++id)
    tokens += (tokenizer.is_special(id) ? "special " : "") + tokenizer.token(id) + "\n";
  const text::SpecialIds& special = tokenizer.special();
  for (const auto& id : {special.pad, special.bos, special.eos, special.unk, special.mask})
    add_id(id);
  for (const auto* part : {&tokenizer.frame().before, &tokenizer.frame().after}) {
    for (const int64_t id : *part) add_id(id);
    add_id(std::nullopt);
  }
  train::Checksum sum;
  sum.add(std::as_bytes(std::span(tokens)));
  return sum.text();
}

}  // namespace

void check_same_settings(ranks::Group& group, io::Json settings, bool is_resumed) {
  settings.object()->emplace_back("resume", is_resumed);
  const std::string text = io::json_text(settings);
  if (group.is_alone() || !group.any(group.from_first(text) != text)) return;
  std::vector<ranks::SharedFact> facts;
  for (const auto& [name, value] : *settings.object())
    facts.push_back({name, io::json_text(value)});
  ranks::check_same(group, facts, ErrorKind::usage);
}

void check_same_setup(ranks::Group& group, const TrainSetup& setup) {
  if (group.is_alone()) return;
  const std::string advice = "every machine needs the same files";
  const std::string tokens = setup.tokenizer ? token_sum(*setup.tokenizer) : "none";
  ranks::check_same(
      group,
      {{.name = "the checksum of its data", .value = setup.data_sum, .advice = advice},
       {.name = "the checksum of its tokenizer", .value = tokens, .advice = advice},
       {.name = "the checksum of its first model",
        .value = model_sum(*setup.model),
        .advice = advice}},
      ErrorKind::bad_input);
}

}  // namespace headlight::recipes
