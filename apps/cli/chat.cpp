// `headlight chat`: a conversation with a model, by its chat template.
#include <unistd.h>

#include <utility>

#include "apps/cli/program/input.h"
#include "apps/cli/program/interruption.h"
#include "apps/cli/program/progress.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kChatExamples =
    R"(  headlight chat MODEL
      type a message and press Enter; the answer appears as it comes
  headlight chat MODEL --system "You answer in one sentence." --temperature 0.7
      with a system message; --seed N gives other answers, the same each time
  printf 'Hello\nAnd why?\n' | headlight chat MODEL
      each line is a turn, each answer follows its line
  headlight chat MODEL --template-set enable_thinking=false
      for templates that ask for more than messages

MODEL is a folder or a GGUF file. It reads the conversation by its own template:
chat_template.jinja, "chat_template" of tokenizer_config.json, or the one in the
GGUF file; --template FILE gives another. Special tokens come from the template
alone: what you type stays text, unless --special is given. What was read in
earlier turns is not read again.

Lines that are commands: /help, /reset (forget the conversation), /system TEXT
(begin anew with this system message), /quit. Ctrl-C ends an answer, or the
program where there is none; Ctrl-D ends.

An answer ends at the model's end tokens, before a stop text or at the limit.
Where the model's context is full, an answer goes on from its last half and the
oldest messages are forgotten, which is said; --context stop ends there instead.

--json, a line for each answer:
    {"event":"answer","turn":1,"prompt_tokens":0,"reused_tokens":0,"ids":[],
     "text":"","log_probability":0,
     "stopped":"limit|context|end|stop_text|interrupted"}
with "left_out":2 where messages were forgotten and "context_slides":1 where
the answer slid.
)";

constexpr Option kChatOptions[] = {
    {"system", "TEXT", "what the model is told before the conversation"},
    {"template", "FILE", "a Jinja template (default: the model's own)"},
    {"template-set", "NAME=VALUE,...", "names that the template asks for, as JSON or text"},
    {"max-new-tokens", "N", "of an answer, at most (default: what the context holds)"},
    {"temperature", "T", "sample: logits are divided by T; 0 is greedy (default: 0)"},
    {"top-k", "K", "sample among the K likeliest; 0 is all"},
    {"top-p", "P", "sample among the fewest whose probabilities sum to P"},
    {"min-p", "P", "sample among those at least P times as likely as the likeliest"},
    {"repetition-penalty", "R", "above 1: tokens already there become less likely"},
    {"stop", "TEXT", "end an answer before this text"},
    {"context", "slide|stop", "at the context's end: go on without the oldest, or stop"},
    {"encoding", "NAME", "of standard input, where it is not UTF-8: cp1254, cp949, latin1, ..."},
    {"special", "", "the text of a special token in a message becomes that token"},
};

recipes::ConversationOptions read_options(const Session& session) {
  Arguments& arguments = session.arguments;
  constexpr std::string_view kContexts[] = {"slide", "stop"};
  recipes::ConversationOptions options;
  options.system = arguments.text("system").value_or("");
  if (const auto stop = arguments.text("stop")) {
    if (stop->empty()) {
      throw Error(ErrorKind::usage, arguments.source("stop"), io::in_quotes(""),
                  "an empty stop text would end each answer before its first token");
    }
    options.stop_texts = {*stop};
  }
  options.slides = arguments.choice("context", kContexts) == "slide";
  options.special = arguments.has("special");
  // Before a model is read: whether there is such an encoding.
  text::to_utf8("", "standard input", arguments.text("encoding").value_or(""));
  if (const auto names = arguments.text("template-set")) {
    options.variables = recipes::template_variables(arguments.source("template-set"), *names);
  }
  options.sampling = recipes::read_sampling_options(arguments, session.seed);
  options.max_new_tokens = recipes::read_token_limit(arguments).value_or(-1);
  return options;
}

// Who sits at the other end.
bool is_typed() { return isatty(STDIN_FILENO) == 1; }

class Chat {
 public:
  Chat(Session& session, autograd::Context& context, const models::Model& model,
       recipes::Conversation& conversation)
      : session_(session),
        context_(context),
        model_(model),
        conversation_(conversation),
        encoding_(session.arguments.text("encoding").value_or("")) {}

  void run() {
    TypedLines lines = all_lines();
    const bool has_prompt = is_typed() && session_.talkative;
    if (has_prompt) say_line(session_, "command.chat.begin");
    for (size_t number = 1;; ++number) {
      const std::optional<std::string> line = next_line(lines, has_prompt);
      if (!line) break;
      try {
        if (!take(checked(*line, number))) return;
      } catch (const Error& error) {
        // Somebody can say it in other words.
        if (!is_typed() || error.kind() != ErrorKind::bad_input) throw;
        print_line("headlight: " + text::printable(error.what()));
      }
    }
    if (has_prompt) print_as_it_is("\n");
  }

 private:
  // Of other encodings a terminal's lines are told apart by a byte, those of a file are not.
  TypedLines all_lines() {
    constexpr size_t kLongestLine = size_t{16} << 20;
    if (encoding_.empty() || is_typed()) return TypedLines(kLongestLine);
    return {kLongestLine,
            text::to_utf8(read_standard_input(), "standard input", std::exchange(encoding_, ""))};
  }

  static std::optional<std::string> next_line(TypedLines& lines, bool has_prompt) {
    if (!has_prompt) return lines.next();
    const TypingRow row("> ");
    return lines.next();
  }

  std::string checked(std::string line, size_t number) const {
    if (is_typed() && line.size() >= kMostTypedBytes) {
      base::refuse("chat", "message",
                   "was not sent: a terminal cuts lines after " + std::to_string(kMostTypedBytes) +
                       " bytes; a file or a pipe hands them over whole, headlight chat MODEL < "
                       "FILE");
    }
    if (line.ends_with('\r')) line.pop_back();
    return text::to_utf8(std::move(line), "standard input, line " + std::to_string(number),
                         encoding_);
  }

  // False: that was the end.
  bool take(const std::string& line) {
    if (text::words(line).empty()) return true;
    if (line == "/quit" || line == "/exit") return false;
    if (line == "/help") {
      say_line(session_, "command.chat.help");
    } else if (line == "/reset") {
      conversation_.reset();
      tell("command.chat.reset");
    } else if (line == "/system" || line.starts_with("/system ")) {
      conversation_.set_system(line.size() > 8 ? line.substr(8) : "");
      tell("command.chat.reset");
    } else {
      answer(line);
    }
    return true;
  }

  void tell(std::string_view key) {
    if (session_.talkative) say_line(session_, key);
  }

  void answer(const std::string& message) {
    const Uninterrupted held;
    const auto print = [&](std::string_view text) {
      if (!session_.json && !text.empty()) {
        session_.output.write(text);
        session_.output.flush();
      }
      return !held.is_signalled();
    };
    const recipes::ConversationAnswer answer = conversation_.answer(context_, message, print);
    ++turns_;
    session_.output.write(session_.json ? io::json_text(event_of(answer)) + "\n" : "\n");
    session_.output.flush();
    say_what_was_lost(answer);
    // Of somebody at a terminal it was the answer that was to end.
    if (is_typed()) take_interrupt();
  }

  io::Json::Object event_of(const recipes::ConversationAnswer& answer) const {
    const infer::Continuation& continuation = answer.continuation;
    io::Json::Object event = {{"event", "answer"},
                              {"turn", turns_},
                              {"prompt_tokens", answer.prompt_tokens},
                              {"reused_tokens", continuation.reused}};
    for (io::Json::Member& member : recipes::continuation_json(continuation, true)) {
      const bool is_reason = member.first == "stopped";
      if (is_reason && continuation.reason == infer::StopReason::caller) {
        member.second = "interrupted";
      }
      event.push_back(std::move(member));
    }
    if (answer.left_out > 0) event.emplace_back("left_out", answer.left_out);
    if (continuation.slides > 0) event.emplace_back("context_slides", continuation.slides);
    return event;
  }

  // What a reader cannot see: once for the answers that slide, each time for what is forgotten.
  void say_what_was_lost(const recipes::ConversationAnswer& answer) {
    const std::string context = std::to_string(model_.context_length());
    if (!session_.arguments.has("quiet")) {
      if (answer.left_out > 0) {
        say_line(session_, "command.chat.left_out",
                 {{"context", context}, {"count", std::to_string(answer.left_out)}});
      }
      if (answer.continuation.slides > 0 && !has_slid_) {
        say_line(session_, "command.generate.slides",
                 {{"context", context},
                  {"kept", std::to_string(std::max<int64_t>(1, model_.context_length() / 2))}});
        has_slid_ = true;
      }
    }
    const std::string count = std::to_string(answer.continuation.ids.size());
    if (answer.continuation.reason == infer::StopReason::limit) {
      if (session_.talkative) say_line(session_, "command.generate.limit", {{"count", count}});
    } else if (answer.continuation.reason == infer::StopReason::context) {
      if (session_.talkative)
        say_line(session_, "command.generate.context", {{"context", context}});
    }
  }

  Session& session_;
  autograd::Context& context_;
  const models::Model& model_;
  recipes::Conversation& conversation_;
  std::string encoding_;  // of the lines; empty: UTF-8
  int64_t turns_ = 0;
  bool has_slid_ = false;
};

void run_chat(Session& session) {
  recipes::ConversationOptions options = read_options(session);
  const recipes::LoadedModel loaded = load_packed_model(session);
  follow_generation_settings(session, loaded, options.sampling);
  if (!loaded.model->capabilities().continues_prompt) {
    throw Error(
        ErrorKind::bad_input, "chat", loaded.folder,
        "the model is a " + std::string(loaded.model->type()) + ", only a " +
            models::known_architectures().types_that({&models::Capabilities::continues_prompt}) +
            " answers");
  }
  const text::Tokenizer tokenizer = recipes::need_tokenizer(session.files, loaded);
  const text::ChatTemplate chat_template = recipes::need_chat_template(
      session.files, loaded, session.arguments.text("template").value_or(""));
  if (options.max_new_tokens < 0) options.max_new_tokens = loaded.model->context_length();
  recipes::Conversation conversation(*loaded.model, tokenizer, chat_template, std::move(options));
  base::ThreadPool threads(session.threads);
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena};
  Chat(session, context, *loaded.model, conversation).run();
}

}  // namespace

const Command kChat = {"chat",        "a conversation with a model, by its template",
                       kChatExamples, kChatOptions,
                       run_chat,      {.name = "MODEL"}};

}  // namespace headlight::cli
