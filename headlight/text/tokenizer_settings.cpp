// Reading the files beside a tokenizer, and changing its plan by them.
#include "headlight/text/tokenizer_settings.h"

#include <algorithm>
#include <array>

namespace headlight::text {
namespace {

using Object = io::Json::Object;

constexpr std::array<std::string_view, 7> kRoles = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

io::Json read_settings_file(base::FileSystem& files, const std::string& path) {
  if (!base::exists(files, path)) return {};
  io::Json document = io::read_json(files, path, kTokenizerFileLimit);
  if (!document.object()) refuse_tokenizer(path, "is not an object");
  return document;
}

std::optional<bool> flag_of(const io::Json& document, std::string_view key,
                            const std::string& path) {
  const io::Json* value = document.find(key);
  if (!value || value->is_null()) return std::nullopt;
  if (!value->boolean()) {
    refuse_tokenizer(path, "\"" + std::string(key) + "\" is not true or false");
  }
  return value->boolean();
}

// A token as these files write it: its text, or an object with its "content".
std::optional<AddedToken> token_of(const io::Json& value, const std::string& place,
                                   const std::string& path) {
  if (value.is_null()) return std::nullopt;
  if (const std::string* content = value.text()) return AddedToken{.content = *content};
  const Component entry(value, place, path);
  return AddedToken{.content = entry.text("content", ""),
                    .is_special = entry.flag("special", true),
                    .is_normalized = entry.flag("normalized", false),
                    .is_single_word = entry.flag("single_word", false),
                    .takes_left = entry.flag("lstrip", false),
                    .takes_right = entry.flag("rstrip", false)};
}

void read_roles(const io::Json& document, const std::string& path, TokenizerSettings& settings) {
  for (const std::string_view role : kRoles) {
    const io::Json* value = document.find(role);
    if (!value) continue;
    auto token = token_of(*value, std::string(role), path);
    if (token && !token->content.empty()) settings.roles[std::string(role)] = *std::move(token);
  }
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
    const io::Json* list = document.find(key);
    if (!list || !list->array()) continue;
    for (const io::Json& value : *list->array()) {
      const auto token = token_of(value, key, path);
      if (token && !token->content.empty()) settings.other_special.push_back(token->content);
    }
  }
}

// {"50257": {"content": "<pad>", …}}
void read_added_decoder(const io::Json& decoder, const std::string& path,
                        TokenizerSettings& settings) {
  constexpr const char* kPlace = "added_tokens_decoder";
  if (!decoder.object()) refuse_tokenizer(path, std::string("\"") + kPlace + "\" is no object");
  for (const auto& [key, value] : *decoder.object()) {
    const auto id = io::parse_number<int64_t>(key);
    auto token = token_of(value, kPlace, path);
    if (!id || !token || token->content.empty()) {
      refuse_tokenizer(path, std::string(kPlace) + ": " + io::in_quotes(key) +
                                 " is no id with a token and its \"content\"");
    }
    const Component entry(value, kPlace, path);
    token->id = *id;
    token->is_special = entry.flag("special", false);
    token->is_normalized = entry.flag("normalized", !token->is_special);
    settings.added.push_back(*std::move(token));
  }
}

// {"<pad>": 50257}
void read_added_tokens_file(const io::Json& document, const std::string& path,
                            TokenizerSettings& settings) {
  if (!document.object()) return;
  for (const auto& [content, value] : *document.object()) {
    const auto id = value.integer();
    if (!id || content.empty()) {
      refuse_tokenizer(path, io::in_quotes(content) + " has no whole number as its id");
    }
    const auto is_it = [&name = content](const auto& role) { return role.second.content == name; };
    const bool is_special =
        std::ranges::any_of(settings.roles, is_it) ||
        std::ranges::find(settings.other_special, content) != settings.other_special.end();
    settings.added.push_back(
        {.id = *id, .content = content, .is_special = is_special, .is_normalized = !is_special});
  }
}

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

// A token that is there already keeps its id, as others keep it.
void add_token(AddedToken token, TokenizerPlan& plan) {
  const auto known =
      std::ranges::find(plan.entries, token.content, &Vocabulary::Entries::value_type::first);
  if (known != plan.entries.end()) token.id = known->second;
  const auto same = std::ranges::find(plan.added, token.content, &AddedToken::content);
  if (same == plan.added.end()) {
    plan.added.push_back(std::move(token));
  } else {
    token.id = same->id;
    *same = std::move(token);
  }
}

// Whether a token's name is one that no word of a text has: "<end>", "[SEP]", "{eos}", "|x|".
bool is_bracketed(std::string_view token) {
  constexpr std::string_view kOpening = "<[{|";
  constexpr std::string_view kClosing = ">]}|";
  return token.size() > 2 && kOpening.find(token.front()) != kOpening.npos &&
         kClosing.find(token.back()) != kClosing.npos;
}

// A word or a mark that has a role stays what it is in a text.
void make_special(const AddedToken& token, TokenizerPlan& plan) {
  const auto known =
      std::ranges::find(plan.entries, token.content, &Vocabulary::Entries::value_type::first);
  const auto added = std::ranges::find(plan.added, token.content, &AddedToken::content);
  if (added != plan.added.end() || known == plan.entries.end()) return;
  if (!is_bracketed(token.content)) return;
  AddedToken special = token;
  special.id = known->second;
  special.is_special = true;
  plan.added.push_back(std::move(special));
}

}  // namespace

std::string TokenizerSettings::token(const std::string& role, const std::string& usual) const {
  const auto found = roles.find(role);
  return found == roles.end() ? usual : found->second.content;
}

TokenizerSettings read_tokenizer_settings(base::FileSystem& files, const std::string& directory) {
  TokenizerSettings settings;
  const std::string path = directory + "/tokenizer_config.json";
  const io::Json config = read_settings_file(files, path);
  settings.adds_prefix_space = flag_of(config, "add_prefix_space", path);
  settings.adds_begin = flag_of(config, "add_bos_token", path).value_or(false);
  settings.adds_end = flag_of(config, "add_eos_token", path).value_or(false);
  const io::Json* name = config.find("tokenizer_class");
  settings.is_generic =
      name && name->text() &&
      (*name->text() == "PreTrainedTokenizerFast" || *name->text() == "TokenizersBackend");
  settings.lower_case = flag_of(config, "do_lower_case", path);
  settings.strips_accents = flag_of(config, "strip_accents", path);
  settings.parts_chinese = flag_of(config, "tokenize_chinese_chars", path);
  read_roles(config, path, settings);
  const io::Json* decoder = config.find("added_tokens_decoder");
  if (decoder && !decoder->is_null()) {
    read_added_decoder(*decoder, path, settings);
    return settings;
  }
  // Earlier versions of transformers wrote these instead.
  const std::string map_path = directory + "/special_tokens_map.json";
  read_roles(read_settings_file(files, map_path), map_path, settings);
  const std::string added_path = directory + "/added_tokens.json";
  read_added_tokens_file(read_settings_file(files, added_path), added_path, settings);
  return settings;
}

void apply_settings(const TokenizerSettings& settings, TokenizerPlan& plan) {
  if (has_type(plan.pre_tokenizer, "ByteLevel")) {
    set_flag(plan.pre_tokenizer, "add_prefix_space", settings.adds_prefix_space);
  }
  if (has_type(plan.normalizer, "BertNormalizer") && !settings.is_generic) {
    set_flag(plan.normalizer, "lowercase", settings.lower_case);
    set_flag(plan.normalizer, "strip_accents", settings.strips_accents);
    set_flag(plan.normalizer, "handle_chinese_chars", settings.parts_chinese);
  }
  for (const AddedToken& token : settings.added) add_token(token, plan);
  for (const auto& [role, token] : settings.roles) {
    plan.roles[role] = token.content;
    make_special(token, plan);
  }
  for (const std::string& content : settings.other_special) {
    make_special({.content = content}, plan);
  }
}

}  // namespace headlight::text
