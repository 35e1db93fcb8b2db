// ChatTemplate: how a model wants to read a conversation.
#pragma once

#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/io/io.h"
#include "headlight/text/marked_text.h"
#include "headlight/text/tokenizer.h"

namespace headlight::text {

namespace jinja {
class Template;
}

// A message: {"role":"user","content":"..."}, and what else a template may know ("name",
// "reasoning_content"). Only the role is the program's; all other texts are somebody's.
io::Json::Object chat_message(std::string_view role, std::string_view content);

struct ChatOptions {
  bool asks_for_answer = true;  // add_generation_prompt: the text ends where the answer begins
  std::tm now = {};             // what strftime_now() tells, local time
  // Further names that templates ask for, e.g. {"enable_thinking", false}.
  std::vector<std::pair<std::string, io::Json>> variables = {};
};

// A value that never changes: several threads may use it.
class ChatTemplate {
 public:
  // Tokens by their role, {"bos_token", "<s>"}: names that the template may use. Throws
  // Error(bad_input) with the line of a mistake; `name` (a path) is for errors.
  ChatTemplate(std::string_view source, const std::string& name,
               std::map<std::string, std::string> tokens);

  // The conversation as the template writes it, as transformers renders it: each message is an
  // object with a "role". Throws Error(bad_input) where the template refuses the conversation, in
  // its words.
  MarkedText render(const std::vector<io::Json>& messages, const ChatOptions& options) const;

  const std::string& name() const;  // of the template, for errors

 private:
  std::shared_ptr<const jinja::Template> template_;
  std::map<std::string, std::string> tokens_;
};

// That of a folder: chat_template.jinja, or else "chat_template" of tokenizer_config.json, of
// several the one named "default"; nothing where there is none. Throws Error(bad_input).
std::optional<ChatTemplate> find_chat_template(base::FileSystem& files,
                                               const std::string& directory);
// A template in a file of its own, for the model of a folder.
ChatTemplate read_chat_template(base::FileSystem& files, const std::string& path,
                                const std::string& directory);
// The tokens of a tokenizer by their roles, for templates that come without a
// tokenizer_config.json.
std::map<std::string, std::string> token_roles(const Tokenizer& tokenizer);

// Now, in local time.
std::tm local_time();

}  // namespace headlight::text
