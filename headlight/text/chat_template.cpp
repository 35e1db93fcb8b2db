// Where templates are found, and what they are given.
#include "headlight/text/chat_template.h"

#include <algorithm>
#include <array>

#include "headlight/text/jinja/template.h"
#include "headlight/text/tokenizer_class.h"
#include "headlight/text/tokenizer_read.h"
#include "headlight/text/tokenizer_settings.h"

namespace headlight::text {
namespace {

using jinja::Meter;
using jinja::Value;

constexpr const char* kTemplateFile = "chat_template.jinja";
constexpr const char* kConfigFile = "tokenizer_config.json";
constexpr uint64_t kMostTemplateBytes = 1'000'000;

// Whether Llama's class is named for a tokenizer of another kind, which has no tokens of its own.
bool has_byte_level_llama(base::FileSystem& files, const std::string& directory,
                          const TokenizerSettings& settings) {
  const std::string path = directory + "/tokenizer.json";
  return settings.chosen_class == "LlamaTokenizer" && base::exists(files, path) &&
         is_byte_level(io::read_json(files, path, kTokenizerFileLimit));
}

// Loaded models are named by their folder, or by a GGUF file that holds everything.
std::map<std::string, std::string> tokens_of(base::FileSystem& files,
                                             const std::string& directory) {
  if (io::is_gguf_file(files, directory)) return token_roles(load_tokenizer(files, directory));
  std::map<std::string, std::string> tokens;
  const TokenizerSettings settings = read_tokenizer_settings(files, directory);
  for (const auto& [role, token] : settings.roles) tokens[role] = token.content;
  if (!has_byte_level_llama(files, directory, settings)) {
    const auto& usual = usual_tokens(settings.chosen_class);
    tokens.insert(usual.begin(), usual.end());
  }
  return tokens;
}

std::string read_source(base::FileSystem& files, const std::string& path) {
  return base::read_all(*base::open_input(files, path), kMostTemplateBytes);
}

// Of a list of named ones, the one named "default".
const std::string* chosen_template(const io::Json& value, const std::string& path) {
  if (value.is_null()) return nullptr;
  if (value.text()) return value.text();
  if (!value.array()) refuse_tokenizer(path, "\"chat_template\" is neither a text nor a list");
  std::string names;
  for (const io::Json& entry : *value.array()) {
    const io::Json* name = entry.find("name");
    const io::Json* source = entry.find("template");
    if (!name || !name->text() || !source || !source->text()) {
      refuse_tokenizer(path, "\"chat_template\" has an entry without \"name\" and \"template\"");
    }
    if (*name->text() == "default") return source->text();
    names.append(names.empty() ? "" : ", ").append(io::in_quotes(*name->text()));
  }
  refuse_tokenizer(path, "\"chat_template\" has no template named \"default\", only " +
                             (names.empty() ? "none" : names));
}

// Reasoning is known by several names.
io::Json::Object with_reasoning(const io::Json::Object& message) {
  constexpr std::array<const char*, 3> kNames = {"reasoning_content", "thinking", "reasoning"};
  const io::Json whole(message);
  const io::Json* reasoning = nullptr;
  for (const char* name : kNames) {
    const io::Json* found = whole.find(name);
    if (!reasoning && found && !found->is_null()) reasoning = found;
  }
  if (!reasoning) return message;
  io::Json::Object result;
  if (!whole.find("thinking")) result.emplace_back("thinking", *reasoning);
  for (const io::Json::Member& member : message) {
    if (member.first != kNames[0]) {
      result.push_back(member);
    } else {
      result.emplace_back(kNames[0], *reasoning);
    }
  }
  if (!whole.find(kNames[0])) result.emplace_back(kNames[0], *reasoning);
  return result;
}

Value message_value(const io::Json& message, Meter& meter) {
  std::vector<std::pair<Value, Value>> members;
  for (const auto& [key, value] : with_reasoning(*message.object())) {
    if (value.is_null()) continue;
    // The role is not a text of anybody's: templates make special tokens of it.
    const bool is_role = key == "role" && value.text();
    members.emplace_back(Value(key), is_role ? Value(*value.text()) : given_value(value, meter));
  }
  return make_dict(std::move(members), meter);
}

void check_roles(const std::vector<io::Json>& messages) {
  for (const io::Json& message : messages) {
    const io::Json* role = message.find("role");
    if (role && role->text()) continue;
    base::refuse("conversation", "", "a message has no \"role\"");
  }
}

}  // namespace

io::Json::Object chat_message(std::string_view role, std::string_view content) {
  return {{"role", role}, {"content", content}};
}

ChatTemplate::ChatTemplate(std::string_view source, const std::string& name,
                           std::map<std::string, std::string> tokens)
    : template_(std::make_shared<const jinja::Template>(source, name)),
      tokens_(std::move(tokens)) {}

const std::string& ChatTemplate::name() const { return template_->name(); }

MarkedText ChatTemplate::render(const std::vector<io::Json>& messages,
                                const ChatOptions& options) const {
  check_roles(messages);
  constexpr jinja::Limits kLimits{};
  Meter meter(name(), kLimits);
  jinja::Values list;
  for (const io::Json& message : messages) list.push_back(message_value(message, meter));
  jinja::Template::Variables variables;
  // The first of a name counts.
  for (const auto& [variable, value] : options.variables) {
    variables.emplace_back(variable, given_value(value, meter));
  }
  variables.emplace_back("messages",
                         make_sequence(jinja::SequenceKind::list, std::move(list), meter));
  variables.emplace_back("add_generation_prompt", Value(options.asks_for_answer));
  variables.emplace_back("tools", Value());
  variables.emplace_back("documents", Value());
  for (const auto& [role, token] : tokens_) variables.emplace_back(role, Value(token));
  return template_->render(variables, options.now, kLimits);
}

std::optional<ChatTemplate> find_chat_template(base::FileSystem& files,
                                               const std::string& directory) {
  if (io::is_gguf_file(files, directory)) {
    const std::string source = gguf_chat_template(io::open_gguf(files, directory));
    if (source.empty()) return std::nullopt;
    return ChatTemplate(source, directory, tokens_of(files, directory));
  }
  const std::string path = directory + "/" + kTemplateFile;
  if (base::exists(files, path)) return read_chat_template(files, path, directory);
  const std::string config_path = directory + "/" + kConfigFile;
  if (!base::exists(files, config_path)) return std::nullopt;
  const io::Json config = io::read_json(files, config_path, kTokenizerFileLimit);
  const io::Json* stored = config.find("chat_template");
  const std::string* source = stored ? chosen_template(*stored, config_path) : nullptr;
  if (!source) return std::nullopt;
  return ChatTemplate(*source, config_path, tokens_of(files, directory));
}

ChatTemplate read_chat_template(base::FileSystem& files, const std::string& path,
                                const std::string& directory) {
  return ChatTemplate(read_source(files, path), path, tokens_of(files, directory));
}

std::map<std::string, std::string> token_roles(const Tokenizer& tokenizer) {
  std::map<std::string, std::string> tokens;
  const SpecialIds& ids = tokenizer.special();
  const auto add = [&](const char* role, const std::optional<int64_t>& id) {
    if (id) tokens[role] = tokenizer.token(*id);
  };
  add("bos_token", ids.bos);
  add("eos_token", ids.eos);
  add("unk_token", ids.unk);
  add("pad_token", ids.pad);
  return tokens;
}

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm result{};
  localtime_r(&now, &result);
  return result;
}

}  // namespace headlight::text
