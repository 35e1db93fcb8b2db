// A conversation with a model, by its chat template.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "headlight/infer/infer.h"
#include "headlight/recipes/named_model.h"
#include "headlight/text/text.h"

namespace headlight::recipes {

// The template that comes with a model; nothing where there is none. Throws Error(bad_input).
std::optional<text::ChatTemplate> model_chat_template(base::FileSystem& files,
                                                      const LoadedModel& loaded);
// The same where a conversation cannot do without it; or the one of the file `path`, where that is
// not empty.
text::ChatTemplate need_chat_template(base::FileSystem& files, const LoadedModel& loaded,
                                      const std::string& path = "");

// "enable_thinking=false,mode=short": names and values, each a JSON value or else a text. Throws
// Error(usage) about `source`.
std::vector<std::pair<std::string, io::Json>> template_variables(const std::string& source,
                                                                 const std::string& text);

struct ConversationOptions {
  std::string system = {};  // empty: none
  infer::SamplingOptions sampling = {};
  int64_t max_new_tokens = infer::kNoLimit;  // of an answer
  std::vector<std::string> stop_texts = {};
  // Where the context is full: answers go on from its last half, and the oldest messages are left
  // out; or else they end there.
  bool slides = true;
  bool special = false;  // texts of special tokens in messages become these
  std::vector<std::pair<std::string, io::Json>> variables = {};  // of the template
};

struct ConversationAnswer {
  infer::Continuation continuation;
  int64_t prompt_tokens = 0;
  int64_t left_out = 0;  // messages that had no place in the context, and were forgotten
};

// What was read in earlier turns is not read again as far as the ids agree. Model, tokenizer and
// template outlive it.
class Conversation {
 public:
  Conversation(const models::Model& model, const text::Tokenizer& tokenizer,
               const text::ChatTemplate& chat_template, ConversationOptions options);

  // False ends the answer. Asked with an empty text while a long message is read: a message that
  // was not read to its end is no part of the conversation.
  using OnText = std::function<bool(std::string_view)>;
  // What the model answers; both are part of the conversation from then on. The draws depend on the
  // seed and the number of answers before. Throws Error(bad_input) for what the template refuses
  // and for a message longer than the context; nothing has been said then.
  ConversationAnswer answer(autograd::Context& context, const std::string& message,
                            const OnText& on_text = {});

  // Forgets all but the system message, and the number of answers.
  void reset();
  // Another system message, from the beginning; empty: none.
  void set_system(std::string system);

 private:
  std::vector<int64_t> prompt() const;
  bool leave_out_oldest();
  std::vector<int64_t> fitting_prompt(int64_t& left_out);

  const models::Model& model_;
  const text::Tokenizer& tokenizer_;
  const text::ChatTemplate& template_;
  ConversationOptions options_;
  std::vector<io::Json> messages_;
  infer::ReadPrompts read_before_;
  uint64_t answers_ = 0;
};

// The ids of a conversation up to where the answer begins. `special`: as ConversationOptions has
// it. Throws Error(bad_input).
std::vector<int64_t> conversation_ids(
    const text::ChatTemplate& chat_template, const text::Tokenizer& tokenizer,
    const std::vector<io::Json>& messages,
    const std::vector<std::pair<std::string, io::Json>>& variables = {}, bool special = false);

}  // namespace headlight::recipes
