// Reading the files beside a tokenizer, and changing its plan by them.
#include "headlight/text/tokenizer_settings.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "headlight/text/tokenizer_class.h"

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

void add_special(const io::Json& value, const std::string& place, const std::string& path,
                 TokenizerSettings& settings) {
  auto token = token_of(value, place, path);
  if (token && !token->content.empty()) settings.other_special.push_back(*std::move(token));
}

// Tokens that a model has for itself, "image_token", come before those of lists.
void read_own_tokens(const io::Json& document, const std::string& path,
                     TokenizerSettings& settings) {
  for (const auto& [key, value] : *document.object()) {
    const bool is_role = std::ranges::find(kRoles, std::string_view(key)) != kRoles.end();
    if (key.ends_with("_token") && !is_role && value.text())
      add_special(value, key, path, settings);
  }
  for (const char* key : {"model_specific_special_tokens", "extra_special_tokens"}) {
    const io::Json* tokens = document.find(key);
    if (!tokens || !tokens->object()) continue;
    for (const auto& [name, value] : *tokens->object()) add_special(value, name, path, settings);
  }
}

void read_roles(const io::Json& document, const std::string& path, TokenizerSettings& settings) {
  if (!document.object()) return;
  for (const std::string_view role : kRoles) {
    const io::Json* value = document.find(role);
    if (!value) continue;
    auto token = token_of(*value, std::string(role), path);
    if (token && !token->content.empty()) settings.roles[std::string(role)] = *std::move(token);
  }
  read_own_tokens(document, path, settings);
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
    const io::Json* list = document.find(key);
    if (!list || !list->array()) continue;
    for (const io::Json& value : *list->array()) add_special(value, key, path, settings);
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
  std::unordered_set<std::string_view> special;
  for (const AddedToken& token : settings.other_special) special.insert(token.content);
  for (const auto& [role, token] : settings.roles) special.insert(token.content);
  for (const auto& [content, value] : *document.object()) {
    const auto id = value.integer();
    if (!id || content.empty()) {
      refuse_tokenizer(path, io::in_quotes(content) + " has no whole number as its id");
    }
    const bool is_special = special.contains(content);
    settings.added.push_back(
        {.id = *id, .content = content, .is_special = is_special, .is_normalized = !is_special});
  }
}

int64_t id_in(const TokenizerPlan& plan, const std::string& token) {
  const auto added = std::ranges::find(plan.added, token, &AddedToken::content);
  if (added != plan.added.end()) return added->id;
  const auto entry =
      std::ranges::find(plan.entries, token, &Vocabulary::Entries::value_type::first);
  if (entry != plan.entries.end()) return entry->second;
  refuse_tokenizer(plan.name, "the token " + io::in_quotes(token) + " is missing");
}

// Whether a token's name is one that no word of a text has: "<end>", "[SEP]", "{eos}", "|x|".
bool is_bracketed(std::string_view token) {
  constexpr std::string_view kOpening = "<[{|";
  constexpr std::string_view kClosing = ">]}|";
  return token.size() > 2 && kOpening.find(token.front()) != kOpening.npos &&
         kClosing.find(token.back()) != kClosing.npos;
}

// Adds tokens to a plan, whose tokens it finds by their text: there may be thousands of them.
class TokenAdder {
 public:
  explicit TokenAdder(TokenizerPlan& plan) : plan_(plan) {
    for (const auto& [token, id] : plan.entries) entries_.emplace(token, id);
    for (size_t i = 0; i < plan.added.size(); ++i) added_.emplace(plan.added[i].content, i);
  }

  // A token that is there already keeps its id, as others keep it.
  void add(AddedToken token) {
    const auto known = entries_.find(token.content);
    if (known != entries_.end()) token.id = known->second;
    const auto [same, is_new] = added_.emplace(token.content, plan_.added.size());
    if (is_new) {
      plan_.added.push_back(std::move(token));
    } else {
      AddedToken& earlier = plan_.added[same->second];
      token.id = earlier.id;
      earlier = std::move(token);
    }
  }

  bool has(const std::string& token) const {
    return added_.contains(token) || entries_.contains(token);
  }

  // A word or a mark that has a role stays what it is in a text. What is no token at
  // all has no id: models have no row for the one that transformers would give it.
  void make_special(const AddedToken& token) {
    if (added_.contains(token.content)) return;
    const auto known = entries_.find(token.content);
    if (known != entries_.end() && !is_bracketed(token.content)) return;
    AddedToken special = token;
    special.is_special = true;
    if (known == entries_.end()) {
      special.is_normalized = false;
      if (missing_.insert(special.content).second) plan_.missing.push_back(std::move(special));
      return;
    }
    special.id = known->second;
    added_.emplace(special.content, plan_.added.size());
    plan_.added.push_back(std::move(special));
  }

 private:
  TokenizerPlan& plan_;
  std::unordered_map<std::string_view, int64_t> entries_;
  std::unordered_map<std::string, size_t> added_;  // places
  std::unordered_set<std::string> missing_;
};

// The class by what the folder's model is, too.
std::string class_beside(base::FileSystem& files, const std::string& directory,
                         const std::string& named) {
  const io::Json model = read_settings_file(files, directory + "/config.json");
  const auto text_of = [&](std::string_view key) {
    const io::Json* value = model.find(key);
    return value && value->text() ? *value->text() : std::string();
  };
  return chosen_class(named.empty() ? text_of("tokenizer_class") : named, text_of("model_type"));
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
  settings.adds_begin = flag_of(config, "add_bos_token", path);
  settings.adds_end = flag_of(config, "add_eos_token", path);
  const io::Json* name = config.find("tokenizer_class");
  if (name && name->text()) settings.class_name = *name->text();
  settings.chosen_class = class_beside(files, directory, settings.class_name);
  settings.is_generic = settings.chosen_class == kGenericClass;
  settings.is_legacy = flag_of(config, "legacy", path).value_or(false);
  settings.keeps_accents = flag_of(config, "keep_accents", path).value_or(false);
  settings.splits_special = flag_of(config, "split_special_tokens", path).value_or(false);
  settings.cleans_up = flag_of(config, "clean_up_tokenization_spaces", path).value_or(false);
  settings.cleans_up_bpe = flag_of(config, kCleansUpBpe, path).value_or(false);
  settings.has_two_vocabularies = flag_of(config, "separate_vocabs", path).value_or(false);
  const io::Json* options = config.find("sp_model_kwargs");
  settings.has_options = options && options->object() && !options->object()->empty();
  const io::Json* extra = config.find("extra_ids");
  if (extra && !extra->is_null()) {
    settings.extra_ids = extra->integer();
    if (!settings.extra_ids || *settings.extra_ids < 0 || *settings.extra_ids > 100'000) {
      refuse_tokenizer(path, "\"extra_ids\" is not a whole number from 0 to 100000");
    }
  }
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

io::Json begin_and_end(const TokenizerSettings& settings, const TokenizerPlan& plan,
                       bool adds_begin, bool adds_end, const std::string& usual_begin,
                       const std::string& usual_end) {
  Object ids;
  const auto special = [&](const char* role, const std::string& usual, int64_t segment) {
    const std::string token = settings.token(role, usual);
    if (std::ranges::find(ids, token, &io::Json::Member::first) == ids.end()) {
      ids.emplace_back(token, Object{{"id", token},
                                     {"ids", io::Json::Array{id_in(plan, token)}},
                                     {"tokens", io::Json::Array{token}}});
    }
    return io::Json(Object{{"SpecialToken", Object{{"id", token}, {"type_id", segment}}}});
  };
  const auto add_text = [&](io::Json::Array& parts, const char* text, int64_t segment) {
    if (adds_begin) parts.push_back(special("bos_token", usual_begin, segment));
    parts.emplace_back(Object{{"Sequence", Object{{"id", text}, {"type_id", segment}}}});
    if (adds_end) parts.push_back(special("eos_token", usual_end, segment));
  };
  io::Json::Array single;
  add_text(single, "A", 0);
  if (ids.empty()) return {};
  io::Json::Array pair = single;
  add_text(pair, "B", 1);
  return Object{
      {"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", ids}};
}

void apply_settings(const TokenizerSettings& settings, TokenizerPlan& plan) {
  apply_class(settings, plan);
  TokenAdder tokens(plan);
  for (const AddedToken& token : settings.added) tokens.add(token);
  for (const std::string_view role : kRoles) {
    const auto found = settings.roles.find(std::string(role));
    if (found == settings.roles.end()) continue;
    plan.roles[found->first] = found->second.content;
    tokens.make_special(found->second);
  }
  for (const AddedToken& token : settings.other_special) tokens.make_special(token);
  for (const auto& [role, token] : usual_tokens(settings.chosen_class)) {
    if (settings.roles.contains(role) || !tokens.has(token)) continue;
    plan.roles[role] = token;
    tokens.make_special({.content = token});
  }
  plan.splits_special = settings.splits_special;
  plan.cleans_up = settings.cleans_up;
  plan.cleans_up_bpe = settings.cleans_up && settings.cleans_up_bpe;
}

}  // namespace headlight::text
