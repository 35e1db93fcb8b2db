// Messages to prompts, prompts to answers, answers to messages.
#include "headlight/recipes/conversation.h"

#include "headlight/recipes/typed_words.h"

namespace headlight::recipes {

using base::Error;
using base::ErrorKind;

namespace {

const std::string& role_of(const io::Json& message) { return *message.find("role")->text(); }

}  // namespace

std::optional<text::ChatTemplate> model_chat_template(base::FileSystem& files,
                                                      const LoadedModel& loaded) {
  return text::find_chat_template(files, loaded.folder);
}

text::ChatTemplate need_chat_template(base::FileSystem& files, const LoadedModel& loaded,
                                      const std::string& path) {
  if (!path.empty()) return text::read_chat_template(files, path, loaded.folder);
  if (auto found = model_chat_template(files, loaded)) return *std::move(found);
  throw Error(ErrorKind::bad_input, "model", loaded.folder,
              "has no chat template: neither chat_template.jinja nor \"chat_template\" in "
              "tokenizer_config.json or a GGUF file; --template FILE gives one, and `headlight "
              "generate` goes on "
              "from a text without one");
}

std::vector<std::pair<std::string, io::Json>> template_variables(const std::string& source,
                                                                 const std::string& text) {
  std::vector<std::pair<std::string, io::Json>> variables;
  for (const std::string& word : split_words(text, ',')) {
    const size_t sign = word.find('=');
    if (sign == std::string::npos || sign == 0) {
      throw Error(ErrorKind::usage, source, io::in_quotes(word),
                  "is not NAME=VALUE, as enable_thinking=false");
    }
    const std::string value = word.substr(sign + 1);
    io::Json json = value;
    try {
      json = io::parse_json(value, source);
    } catch (const Error&) {
      // A text without quotes.
    }
    variables.emplace_back(word.substr(0, sign), std::move(json));
  }
  return variables;
}

std::vector<int64_t> conversation_ids(
    const text::ChatTemplate& chat_template, const text::Tokenizer& tokenizer,
    const std::vector<io::Json>& messages,
    const std::vector<std::pair<std::string, io::Json>>& variables, bool special) {
  text::MarkedText text =
      chat_template.render(messages, {.now = text::local_time(), .variables = variables});
  if (special) text.given.clear();
  return tokenizer.encode(text);
}

Conversation::Conversation(const models::Model& model, const text::Tokenizer& tokenizer,
                           const text::ChatTemplate& chat_template, ConversationOptions options)
    : model_(model), tokenizer_(tokenizer), template_(chat_template), options_(std::move(options)) {
  reset();
}

void Conversation::reset() {
  messages_.clear();
  answers_ = 0;
  if (!options_.system.empty()) {
    messages_.emplace_back(text::chat_message("system", options_.system));
  }
}

void Conversation::set_system(std::string system) {
  options_.system = std::move(system);
  reset();
}

std::vector<int64_t> Conversation::prompt() const {
  return conversation_ids(template_, tokenizer_, messages_, options_.variables, options_.special);
}

// The first question and its answer; false: there is only the last question.
bool Conversation::leave_out_oldest() {
  const size_t first = !messages_.empty() && role_of(messages_[0]) == "system" ? 1 : 0;
  size_t end = first + 1;
  while (end < messages_.size() && role_of(messages_[end]) != "user") ++end;
  if (end >= messages_.size()) return false;
  messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(first),
                  messages_.begin() + static_cast<std::ptrdiff_t>(end));
  return true;
}

std::vector<int64_t> Conversation::fitting_prompt(int64_t& left_out) {
  std::vector<int64_t> ids = prompt();
  const int64_t context = model_.context_length();
  if (static_cast<int64_t>(ids.size()) <= context) return ids;
  const size_t before = messages_.size();
  // Down to half of it, so that this does not happen again at once.
  while (options_.slides && static_cast<int64_t>(ids.size()) > context / 2 && leave_out_oldest()) {
    ids = prompt();
  }
  left_out = static_cast<int64_t>(before - messages_.size());
  if (static_cast<int64_t>(ids.size()) <= context) return ids;
  const auto tokens_of = [&](const std::string& text) { return tokenizer_.encode(text).size(); };
  if (tokens_of(options_.system) > tokens_of(*messages_.back().find("content")->text())) {
    throw Error(ErrorKind::bad_input, "chat", "system message",
                "the conversation has " + std::to_string(ids.size()) +
                    " tokens with it, the model's context is " + std::to_string(context) +
                    "; shorten the system message");
  }
  throw Error(ErrorKind::bad_input, "chat", left_out > 0 || !options_.slides ? "" : "message",
              "the conversation has " + std::to_string(ids.size()) +
                  " tokens, the model's context is " + std::to_string(context) +
                  (options_.slides ? "; shorten the message"
                                   : "; --context slide leaves out the oldest messages"));
}

ConversationAnswer Conversation::answer(autograd::Context& context, const std::string& message,
                                        const OnText& on_text) {
  const std::vector<io::Json> before = messages_;
  messages_.emplace_back(text::chat_message("user", message));
  try {
    ConversationAnswer answer;
    const infer::Prompt prompt{.ids = fitting_prompt(answer.left_out)};
    answer.prompt_tokens = static_cast<int64_t>(prompt.ids.size());
    const infer::GenerateOptions options{.sampling = options_.sampling,
                                         .ending = {.max_new_tokens = options_.max_new_tokens,
                                                    .stop_texts = options_.stop_texts,
                                                    .tokenizer = &tokenizer_},
                                         .slides = options_.slides,
                                         .first_sequence = answers_,
                                         .read_before = &read_before_,
                                         .is_stopped = [&] { return on_text && !on_text(""); }};
    const auto pass_on = [&](const infer::NewToken& token) {
      return !on_text || on_text(token.text);
    };
    answer.continuation =
        std::move(infer::generate(context, model_, {prompt}, options, pass_on).front());
    if (answer.continuation.reason == infer::StopReason::caller &&
        answer.continuation.ids.empty()) {
      messages_ = before;
      answer.left_out = 0;
      return answer;
    }
    messages_.emplace_back(text::chat_message("assistant", answer.continuation.text));
    ++answers_;
    return answer;
  } catch (...) {
    messages_ = before;
    throw;
  }
}

}  // namespace headlight::recipes
