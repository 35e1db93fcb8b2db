// What classes of transformers make of a tokenizer by their settings.
#include <algorithm>
#include <array>

#include "headlight/text/tokenizer_settings.h"

namespace headlight::text {
namespace {

using Object = io::Json::Object;

// Sets a member, where the settings say anything of it.
void set_flag(io::Json& component, const char* key, const std::optional<bool>& value) {
  if (!value) return;
  Object& object = *component.object();
  const auto found = std::ranges::find(object, key, &io::Json::Member::first);
  if (found == object.end()) {
    object.emplace_back(key, *value);
  } else {
    found->second = *value;
  }
}

bool has_type(const io::Json& component, std::string_view type) {
  const io::Json* name = component.find("type");
  return name && name->text() && *name->text() == type;
}

io::Json& member_of(Object& object, const char* key) {
  const auto found = std::ranges::find(object, key, &io::Json::Member::first);
  if (found != object.end()) return found->second;
  return object.emplace_back(key, io::Json()).second;
}

// Whether the component, or a step of its sequence, is of this type.
bool holds_type(const io::Json* component, std::string_view type, const char* steps) {
  if (!component) return false;
  if (has_type(*component, type)) return true;
  const io::Json* list = component->find(steps);
  return list && list->array() && std::ranges::any_of(*list->array(), [&](const io::Json& step) {
           return has_type(step, type);
         });
}

// Llama's spaces, as LlamaTokenizer makes them of its two settings.
void apply_llama(const TokenizerSettings& settings, Object& document) {
  const bool adds_space = settings.adds_prefix_space.value_or(true);
  const io::Json& known = member_of(document, "model");
  const bool is_bpe = has_type(known, "BPE") || (!known.find("type") && known.find("merges"));
  Object* model = member_of(document, "model").object();
  if (!model || !is_bpe) return;
  member_of(*model, "unk_token") = io::Json();
  member_of(*model, "ignore_merges") = false;
  member_of(*model, "byte_fallback") = true;
  member_of(*model, "fuse_unk") = true;
  member_of(document, "normalizer") = io::Json();
  member_of(document, "pre_tokenizer") = Object{{"type", "Metaspace"},
                                                {"replacement", "▁"},
                                                {"prepend_scheme", !adds_space          ? "never"
                                                                   : settings.is_legacy ? "always"
                                                                                        : "first"},
                                                {"split", false}};
  io::Json::Array steps = {
      Object{{"type", "Replace"}, {"pattern", Object{{"String", "▁"}}}, {"content", " "}},
      Object{{"type", "ByteFallback"}}, Object{{"type", "Fuse"}}};
  if (adds_space) {
    steps.emplace_back(Object{{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  member_of(document, "decoder") = Object{{"type", "Sequence"}, {"decoders", std::move(steps)}};
}

void apply_albert(const TokenizerSettings& settings, Object& document) {
  io::Json& normalizer = member_of(document, "normalizer");
  io::Json::Array steps;
  for (const char* quote : {"``", "''"}) {
    steps.emplace_back(
        Object{{"type", "Replace"}, {"pattern", Object{{"String", quote}}}, {"content", "\""}});
  }
  if (!settings.keeps_accents) {
    steps.emplace_back(Object{{"type", "NFKD"}});
    steps.emplace_back(Object{{"type", "StripAccents"}});
  }
  if (settings.lower_case.value_or(true)) steps.emplace_back(Object{{"type", "Lowercase"}});
  const io::Json* parts = normalizer.find("normalizers");
  const io::Json::Array alone = {normalizer};
  for (const io::Json& part : parts && parts->array() ? *parts->array() : alone) {
    if (has_type(part, "Precompiled")) steps.push_back(part);
  }
  normalizer = Object{{"type", "Sequence"}, {"normalizers", std::move(steps)}};
}

// Of byte-level tokenizers: the step that may put a space before a text.
void apply_prefix_space(const TokenizerSettings& settings, io::Json& pre_tokenizer) {
  std::optional<bool> adds_space = settings.adds_prefix_space;
  constexpr std::array<std::string_view, 5> kWithout = {"CodeGenTokenizer", "GPT2Tokenizer",
                                                        "GPTNeoXTokenizer", "Qwen2Tokenizer",
                                                        "RobertaTokenizer"};
  if (!adds_space && std::ranges::find(kWithout, settings.chosen_class) != kWithout.end()) {
    adds_space = false;
  }
  if (has_type(pre_tokenizer, "ByteLevel")) {
    set_flag(pre_tokenizer, "add_prefix_space", adds_space);
  }
  if (!has_type(pre_tokenizer, "Sequence")) return;
  io::Json& steps = member_of(*pre_tokenizer.object(), "pretokenizers");
  if (!steps.array()) return;
  for (io::Json& step : *steps.array()) {
    if (has_type(step, "ByteLevel")) {
      set_flag(step, "add_prefix_space", adds_space);
    }
  }
}

}  // namespace

void apply_class(const TokenizerSettings& settings, io::Json& document) {
  const std::string& name = settings.chosen_class;
  if (name == "LlamaTokenizer") apply_llama(settings, *document.object());
  if (name == "AlbertTokenizer") apply_albert(settings, *document.object());
  if (name == "GPTNeoXTokenizer") {
    // It puts nothing around a text, whatever the file says.
    member_of(*document.object(), "post_processor") = io::Json();
    member_of(*document.object(), "normalizer") = Object{{"type", "NFC"}};
  }
}

bool is_byte_level(const io::Json& document) {
  return holds_type(document.find("pre_tokenizer"), "ByteLevel", "pretokenizers");
}

void apply_class(const TokenizerSettings& settings, TokenizerPlan& plan) {
  if (settings.is_generic) return;
  apply_prefix_space(settings, plan.pre_tokenizer);
  if (!has_type(plan.normalizer, "BertNormalizer")) return;
  set_flag(plan.normalizer, "lowercase", settings.lower_case);
  set_flag(plan.normalizer, "strip_accents", settings.strips_accents);
  set_flag(plan.normalizer, "handle_chinese_chars", settings.parts_chinese);
}

}  // namespace headlight::text
