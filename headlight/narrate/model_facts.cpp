// Facts of models, aligned; of GGUF files the settings too, long ones shortened.
#include "headlight/narrate/model_facts.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "headlight/io/io.h"
#include "headlight/narrate/command_lines.h"
#include "headlight/narrate/text_layout.h"
#include "headlight/text/text.h"

namespace headlight::narrate {
namespace {

// What is told, and what is told of it.
using Facts = std::vector<std::pair<std::string, std::string>>;

// Aligned, in ended lines. Names are a file's own: they steer no terminal.
std::string facts_text(const Facts& facts) {
  int64_t width = 12;
  for (const auto& [label, _] : facts) width = std::max(width, text::columns(label) + 2);
  std::string text;
  for (const auto& [label, value] : facts) {
    text += narrate::padded(label, width) + text::printable(value) + "\n";
  }
  return text;
}

// "decoder.0.self: heads left: 2 of 4 (0, 2)", of attentions that were pruned.
std::string pruned_lines(const Catalogue& catalogue, const recipes::ModelInformation& information) {
  std::string lines;
  for (const recipes::AttentionInformation& one : information.attentions) {
    if (std::ssize(one.heads) == one.original) continue;
    std::string numbers;
    for (const int64_t head : one.heads) {
      numbers += (numbers.empty() ? "" : ", ") + std::to_string(head);
    }
    lines += "  " + one.place + ": " +
             catalogue.text(one.heads.empty() ? "info.no_heads_left" : "info.heads_left",
                            {{"left", std::to_string(one.heads.size())},
                             {"heads", std::to_string(one.original)},
                             {"numbers", numbers}}) +
             "\n";
  }
  return lines;
}

// "decoder.self: 2 layers of 4 heads", by kind of attention.
std::string attention_lines(const Catalogue& catalogue,
                            const recipes::ModelInformation& information) {
  std::map<std::string, std::vector<int64_t>> kinds;
  for (const recipes::AttentionInformation& one : information.attentions) {
    const size_t first = one.place.find('.');
    const size_t last = one.place.rfind('.');
    kinds[one.place.substr(0, first) + one.place.substr(last)].push_back(std::ssize(one.heads));
  }
  std::string lines;
  for (const auto& [kind, heads] : kinds) {
    const auto [fewest, most] = std::minmax_element(heads.begin(), heads.end());
    const std::string count =
        *fewest == *most ? std::to_string(*fewest)
                         : catalogue.text("info.range", {{"fewest", std::to_string(*fewest)},
                                                         {"most", std::to_string(*most)}});
    lines += "  " + kind + ": " +
             catalogue.text("info.layers",
                            {{"layers", std::to_string(heads.size())}, {"heads", count}}) +
             "\n";
  }
  return lines + pruned_lines(catalogue, information);
}

// "continues a text (generate), ..."
std::string can_text(const Catalogue& catalogue, const models::Capabilities& can, bool chats) {
  std::vector<std::string_view> names = recipes::names_of(can);
  if (chats) names.insert(names.begin() + 1, "chats");
  std::string text;
  for (const std::string_view name : names) {
    text += (text.empty() ? "" : ", ") + catalogue.text("info.can." + std::string(name));
  }
  return text.empty() ? catalogue.text("info.none") : text;
}

// "3: negative, neutral, positive", of many the first ones.
std::string labels_text(const std::vector<std::string>& labels) {
  constexpr size_t kMost = 20;
  std::string text = std::to_string(labels.size()) + ":";
  for (size_t i = 0; i < std::min(labels.size(), kMost); ++i) {
    text += (i == 0 ? " " : ", ") + visible(labels[i]);
  }
  return labels.size() > kMost ? text + ", …" : text;
}

constexpr size_t kShownSetting = 60;  // bytes

// "Q4_1 (105 tensors), F32 (61 tensors)"
std::string types_text(const Catalogue& catalogue, const recipes::GgufInformation& information) {
  std::string text;
  for (const recipes::TypeShare& share : information.types) {
    text += (text.empty() ? "" : ", ") +
            catalogue.text("info.type_tensors",
                           {{"type", share.type}, {"tensors", std::to_string(share.tensors)}});
  }
  return text;
}

// At most so many bytes of it, no code point cut in two.
std::string shortened(std::string text) {
  if (text.size() <= kShownSetting) return text;
  text.resize(kShownSetting);
  text.resize(io::valid_utf8_length(text));
  return text + "…";
}

}  // namespace

std::string model_text(const Catalogue& catalogue, const recipes::ModelInformation& information) {
  Facts facts;
  const auto add = [&](const char* key, const std::string& value) {
    facts.emplace_back(catalogue.text(key), value);
  };
  add("info.model", information.type);
  add("info.parameters", std::to_string(information.parameters));
  if (information.source_vocab_size != information.vocab_size) {
    add("info.source_ids", std::to_string(information.source_vocab_size));
  }
  add("info.ids", std::to_string(information.vocab_size));
  add("info.context", std::to_string(information.context_length));
  add("info.tokenizer",
      information.tokenizer.empty() ? catalogue.text("info.none") : information.tokenizer);
  add("info.can", can_text(catalogue, information.can, information.chats));
  if (!information.labels.empty()) add("info.labels", labels_text(information.labels));
  add("info.memory", size_text(catalogue, information.memory));
  std::string text = facts_text(facts);
  text += catalogue.text("info.attention") + "\n" + attention_lines(catalogue, information) +
          catalogue.text("info.configuration") + "\n";
  for (const auto& [key, value] : *information.config.object()) {
    text += "  " + text::printable(key) + ": " + text::printable(io::json_text(value)) + "\n";
  }
  return text;
}

std::string gguf_text(const Catalogue& catalogue, const recipes::GgufInformation& information) {
  Facts facts;
  const auto add = [&](const char* key, const std::string& value) {
    facts.emplace_back(catalogue.text(key), value);
  };
  const std::string none = catalogue.text("info.none");
  const auto or_none = [&](int64_t count) { return count > 0 ? std::to_string(count) : none; };
  add("info.file", "GGUF " + std::to_string(information.version));
  add("info.model", information.architecture.empty() ? none : information.architecture);
  if (!information.name.empty()) add("info.name", information.name);
  if (information.parts > 1) add("info.parts", std::to_string(information.parts));
  add("info.parameters", std::to_string(information.parameters));
  add("info.types", types_text(catalogue, information));
  add("info.ids", or_none(information.vocab_size));
  add("info.context", or_none(information.context_length));
  add("info.tokenizer", information.tokenizer.empty() ? none : information.tokenizer);
  add("info.can", can_text(catalogue, information.can, information.chats));
  if (!information.refusal.empty()) add("info.refused", information.refusal);
  add("info.memory", size_text(catalogue, information.memory));
  std::string text = facts_text(facts) + catalogue.text("info.configuration") + "\n";
  for (const auto& [key, value] : information.settings) {
    text +=
        "  " + text::printable(key) + ": " +
        (value.array() != nullptr
             ? catalogue.text("info.elements", {{"count", std::to_string(value.array()->size())}})
             : text::printable(shortened(io::json_text(value)))) +
        "\n";
  }
  return text;
}

std::string converted_text(const Catalogue& catalogue, const recipes::ConvertedModel& converted) {
  return facts_text({{catalogue.text("info.folder"), converted.folder},
                     {catalogue.text("info.model"), converted.type},
                     {catalogue.text("info.parameters"), std::to_string(converted.parameters)},
                     {catalogue.text("info.types"), tensor::name_of(converted.kind)},
                     {catalogue.text("info.size"), size_text(catalogue, converted.bytes)}});
}

}  // namespace headlight::narrate
