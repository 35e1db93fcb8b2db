// `headlight generate`: what a model writes after a prompt.
#include "apps/cli/program/input.h"
#include "apps/cli/program/progress.h"
#include "apps/cli/program/terminal.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kGenerateExamples =
    R"(  headlight generate MODEL --prompt "To be, or"
      the likeliest continuation, as it comes
  headlight generate MODEL --prompt-file start.txt --max-new-tokens 500 --temperature 0.8 --top-k 40
      sampled; --seed N gives another one, the same each time
  echo "Once upon a time" | headlight generate MODEL --stop "."
      up to the first full stop, which is not printed
  headlight generate MODEL --prompt-ids 0,2,1 --beam 4 --json
      the four best continuations with their scores, as JSON

Printed is the continuation alone and a line break; without a tokenizer, its
ids. It ends at the model's end token, before a stop text or at the limit; at a
terminal it says which. Where the model's context is full, the last half is
kept and read again, unless --context stop ends it there; a beam search always
stops there. One line break at the end of a file or of standard input is not
part of the prompt.

Greedy by default; --top-k, --top-p and --min-p alone sample at temperature 1.
Beam scores are log p / length^A, the end counted.

--json:
    {"prompt_ids":[],"ids":[],"text":"","log_probability":0,
     "stopped":"limit|context|end|stop_text","log_probabilities":[]}
with "context_slides":1 where it slid, and with --beam "score" and
    "hypotheses":[{"ids":[],"text":"","log_probability":0,"stopped":"",
     "score":0}]
the best first.
)";

constexpr Option kGenerateOptions[] = {
    {"prompt", "TEXT", "what to continue (default: standard input)"},
    {"prompt-file", "FILE", "the same from a file"},
    {"prompt-ids", "1,2,3", "the same as ids; needs no tokenizer"},
    {"max-new-tokens", "N", "at most this many (default: 200)"},
    {"temperature", "T", "sample: logits are divided by T; 0 is greedy (default: 0)"},
    {"top-k", "K", "sample among the K likeliest; 0 is all"},
    {"top-p", "P", "sample among the fewest whose probabilities sum to P"},
    {"min-p", "P", "sample among those at least P times as likely as the likeliest"},
    {"repetition-penalty", "R", "above 1: tokens already there become less likely"},
    {"beam", "N", "search with N beams for the likeliest continuation"},
    {"length-penalty", "A", "of beam scores (default: 1)"},
    {"stop", "TEXT", "end before this text"},
    {"context", "slide|stop", "at the context's end: continue from its last half, or stop"},
    {"no-cache", "", "compute everything from scratch for each token; the same result, slower"},
    {"heads-off", "HEAD,...", "leave out what these heads give, e.g. decoder.0.self.3"},
    {"special", "", "the text of a special token in the prompt becomes that token"},
    {"encoding", "NAME", "of the prompt's file or standard input, where it is not UTF-8"},
};

struct GenerateSettings {
  std::optional<std::vector<int64_t>> prompt_ids;
  int64_t max_new_tokens = 200;
  infer::SamplingOptions sampling;
  std::optional<infer::SearchOptions> search;
  std::vector<heads::HeadName> heads_off;
  bool slides = true;
};

GenerateSettings read_settings(const Session& session) {
  Arguments& arguments = session.arguments;
  exclude(arguments, "prompt", "prompt-file");
  for (const char* option : {"prompt", "prompt-file", "special", "encoding"}) {
    exclude(arguments, option, "prompt-ids");
  }
  exclude(arguments, "encoding", "prompt");
  for (const char* option : {"temperature", "top-k", "top-p", "min-p", "repetition-penalty"}) {
    exclude(arguments, option, "beam");
  }
  if (arguments.has("stop") && arguments.text("stop")->empty()) {
    throw Error(ErrorKind::usage, arguments.source("stop"), io::in_quotes(""),
                "an empty stop text would end it before the first token; leave the option out to "
                "stop nowhere");
  }
  constexpr std::string_view kContexts[] = {"slide", "stop"};
  GenerateSettings settings;
  settings.slides = arguments.choice("context", kContexts) == "slide";
  if (settings.slides) {
    exclude(arguments, "context", "beam",
            "slide has no meaning with --beam: a beam search stops at the context's end");
  }
  if (const auto ids = arguments.text("prompt-ids")) {
    settings.prompt_ids = integers_of(arguments.source("prompt-ids"), *ids, {0, INT64_MAX});
  }
  settings.max_new_tokens = recipes::read_token_limit(arguments).value_or(settings.max_new_tokens);
  settings.sampling = recipes::read_sampling_options(arguments, session.seed);
  settings.search = recipes::read_search_options(arguments);
  settings.heads_off = head_names(arguments, "heads-off");
  return settings;
}

std::string without_last_break(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

std::string prompt_text(const Session& session) {
  const Arguments& arguments = session.arguments;
  const std::string encoding = arguments.text("encoding").value_or("");
  if (const auto text = arguments.text("prompt")) return *text;
  if (const auto path = arguments.text("prompt-file")) {
    return without_last_break(text::read_text(session.files, *path, encoding));
  }
  say_what_is_awaited(session, "command.waits.prompt");
  return without_last_break(text::to_utf8(read_standard_input(), "standard input", encoding));
}

std::string joined(const std::vector<int64_t>& ids) {
  std::string text;
  for (const int64_t id : ids) text.append(text.empty() ? "" : ",").append(std::to_string(id));
  return text;
}

// What a run of the command has at hand.
struct Generating {
  const GenerateSettings& settings;
  const models::Model& model;
  const text::Tokenizer* tokenizer;
  infer::Prompt prompt;
  infer::Ending ending;
  bool use_cache;
};

io::Json::Object with_prompt(const infer::Prompt& prompt, io::Json::Object result) {
  result.insert(result.begin(),
                {"prompt_ids", io::Json::Array(prompt.ids.begin(), prompt.ids.end())});
  return result;
}

// At a terminal: why there is no more.
void say_why_it_ended(const Session& session, const Generating& work,
                      const infer::Continuation& result) {
  if (!session.talkative) return;
  using infer::StopReason;
  const bool is_beam = work.settings.search.has_value();
  const std::string_view key = result.reason == StopReason::limit ? "command.generate.limit"
                               : result.reason == StopReason::end ? "command.generate.end"
                               : result.reason == StopReason::stop_text
                                   ? "command.generate.stop_text"
                               : is_beam ? "command.generate.beam_context"
                                         : "command.generate.context";
  say_line(session, key,
           {{"count", std::to_string(result.ids.size())},
            {"context", std::to_string(work.model.context_length())}});
}

// Once, also where nobody sits at a terminal: what follows is written without what was before.
void say_that_it_slides(const Session& session, const Generating& work) {
  if (session.arguments.has("quiet")) return;
  const int64_t context = work.model.context_length();
  say_line(session, "command.generate.slides",
           {{"context", std::to_string(context)},
            {"kept", std::to_string(std::max<int64_t>(1, context / 2))}});
}

void print_best(Session& session, autograd::Context& context, const Generating& work) {
  const auto search = [&] {
    const Progress progress(session, command_text(session, "command.progress.writing"));
    return infer::beam_search(context, work.model, {work.prompt},
                              {.beams = work.settings.search->beams,
                               .length_penalty = work.settings.search->length_penalty,
                               .ending = work.ending,
                               .use_cache = work.use_cache})
        .front();
  };
  const auto found = search();
  const infer::Hypothesis& best = found.front();
  const bool has_text = work.tokenizer != nullptr;
  if (session.json) {
    io::Json::Object document =
        with_prompt(work.prompt, recipes::continuation_json(best, has_text));
    document.emplace_back("score", best.score);
    document.emplace_back("hypotheses", recipes::hypotheses_json(found, has_text));
    session.output.write(io::json_text(document) + "\n");
  } else {
    session.output.write((has_text ? best.text : joined(best.ids)) + "\n");
    session.output.flush();
  }
  say_why_it_ended(session, work, best);
}

io::Json::Object document_of(const Generating& work, const infer::Continuation& result) {
  io::Json::Object document =
      with_prompt(work.prompt, recipes::continuation_json(result, work.tokenizer != nullptr));
  io::Json::Array log_probabilities;
  for (const float number : result.log_probabilities) {
    log_probabilities.emplace_back(static_cast<double>(number));
  }
  document.emplace_back("log_probabilities", std::move(log_probabilities));
  if (result.slides > 0) document.emplace_back("context_slides", result.slides);
  return document;
}

infer::GenerateOptions options_of(const Generating& work) {
  return {.sampling = work.settings.sampling,
          .ending = work.ending,
          .use_cache = work.use_cache,
          .slides = work.settings.slides};
}

void print_as_json(Session& session, autograd::Context& context, const Generating& work) {
  const auto generate = [&] {
    Progress progress(session, command_text(session, "command.progress.writing"));
    int64_t count = 0;
    const auto note = [&](const infer::NewToken&) {
      progress.reached(static_cast<double>(++count) /
                       static_cast<double>(work.settings.max_new_tokens));
      return true;
    };
    return infer::generate(context, work.model, {work.prompt}, options_of(work), note).front();
  };
  const infer::Continuation result = generate();
  if (result.slides > 0) say_that_it_slides(session, work);
  session.output.write(io::json_text(document_of(work, result)) + "\n");
}

void print_as_it_comes(Session& session, autograd::Context& context, const Generating& work) {
  const bool has_text = work.tokenizer != nullptr;
  bool is_first = true;
  const auto print = [&](const infer::NewToken& token) {
    if (has_text) {
      session.output.write(token.text);
    } else if (!token.is_stop) {
      session.output.write((is_first ? "" : ",") + std::to_string(token.id));
    }
    session.output.flush();
    is_first = false;
    return true;
  };
  const infer::Continuation result =
      infer::generate(context, work.model, {work.prompt}, options_of(work), print).front();
  session.output.write("\n");
  session.output.flush();
  // Not in the middle of the text.
  if (result.slides > 0) say_that_it_slides(session, work);
  say_why_it_ended(session, work, result);
}

void run_generate(Session& session) {
  GenerateSettings settings = read_settings(session);
  const recipes::LoadedModel loaded = load_packed_model(session);
  if (settings.search) {
    models::check_generation_settings(session.files, loaded.folder);
  } else {
    follow_generation_settings(session, loaded, settings.sampling);
  }
  if (loaded.model->classifier() != nullptr) {
    throw Error(ErrorKind::bad_input, "generate", loaded.folder,
                "the model classifies texts and writes none; `headlight classify` is for it");
  }
  if (!loaded.model->capabilities().continues_prompt) {
    const std::string types =
        models::known_architectures().types_that({&models::Capabilities::continues_prompt});
    throw Error(ErrorKind::bad_input, "generate", loaded.folder,
                "the model is a " + std::string(loaded.model->type()) + ", only a " + types +
                    " continues a prompt; `headlight translate` and `headlight "
                    "embed` are for others");
  }
  heads::HeadsOff heads_off(settings.heads_off, *loaded.model, "--heads-off");
  const auto tokenizer = settings.prompt_ids ? recipes::find_tokenizer(session.files, loaded)
                                             : recipes::need_tokenizer(session.files, loaded,
                                                                       "; --prompt-ids needs none");
  Generating work{.settings = settings,
                  .model = *loaded.model,
                  .tokenizer = tokenizer ? &*tokenizer : nullptr,
                  .prompt = {},
                  .ending = {.max_new_tokens = settings.max_new_tokens},
                  .use_cache = !session.arguments.has("no-cache")};
  work.ending.tokenizer = work.tokenizer;
  if (const auto stop = session.arguments.text("stop")) work.ending.stop_texts = {*stop};
  if (settings.prompt_ids) {
    work.prompt.ids = *settings.prompt_ids;
  } else {
    const std::string text = prompt_text(session);
    work.prompt.ids = tokenizer->encode_prompt(text, session.arguments.has("special"));
    say_unknown_words(session, *tokenizer, text);
  }
  base::ThreadPool threads(session.threads);
  tensor::Arena arena;
  autograd::Context context{
      .threads = threads, .arena = arena, .intervention = heads_off.empty() ? nullptr : &heads_off};
  if (settings.search) {
    print_best(session, context, work);
  } else if (session.json) {
    print_as_json(session, context, work);
  } else {
    print_as_it_comes(session, context, work);
  }
}

}  // namespace

const Command kGenerate = {"generate",        "what a model writes after a prompt",
                           kGenerateExamples, kGenerateOptions,
                           run_generate,      {.name = "MODEL"}};

}  // namespace headlight::cli
