// `headlight generate`: what a model writes after a prompt.
#include "apps/cli/program/input.h"
#include "apps/cli/program/program.h"
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

Printed is the continuation alone and a line break; without a tokenizer, its ids. It ends at the context's end, at the model's end
token, before a stop text or at the limit. One line break at the end of a file or of standard input is not part of the prompt.
Greedy by default; --top-k, --top-p and --min-p alone sample at temperature 1. Beam scores are log p / length^A, the end counted.
--json: {"prompt_ids":[],"ids":[],"text":"","log_probability":0,"stopped":"limit|context|end|stop_text","log_probabilities":[]},
with --beam "score" and "hypotheses":[{"ids":[],"text":"","log_probability":0,"stopped":"","score":0}], the best first.
)";

constexpr Option kGenerateOptions[] = {
    {"prompt", "TEXT", "what to continue (default: standard input)"},
    {"prompt-file", "FILE", "the same from a file"},
    {"prompt-ids", "1,2,3", "the same as ids; needs no tokenizer"},
    {"max-new-tokens", "N", "at most so many (default: 200)"},
    {"temperature", "T", "sample: logits are divided by T; 0 is greedy (default: 0)"},
    {"top-k", "K", "sample among the K likeliest; 0 is all"},
    {"top-p", "P", "sample among the fewest whose probabilities sum to P"},
    {"min-p", "P", "sample among those at least P times as likely as the likeliest"},
    {"repetition-penalty", "R", "above 1: what is there already becomes less likely"},
    {"beam", "N", "search with N beams for the likeliest continuation"},
    {"length-penalty", "A", "of beam scores (default: 1)"},
    {"stop", "TEXT", "end before this text"},
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
  std::vector<recipes::HeadName> heads_off;
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
  GenerateSettings settings;
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

void print_best(Session& session, autograd::Context& context, const Generating& work) {
  const auto found = infer::beam_search(context, work.model, {work.prompt},
                                        {.beams = work.settings.search->beams,
                                         .length_penalty = work.settings.search->length_penalty,
                                         .ending = work.ending,
                                         .use_cache = work.use_cache})
                         .front();
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
  }
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
  const infer::GenerateOptions options{
      .sampling = work.settings.sampling, .ending = work.ending, .use_cache = work.use_cache};
  const auto result = infer::generate(context, work.model, {work.prompt}, options,
                                      session.json ? infer::OnToken() : print)
                          .front();
  if (!session.json) {
    session.output.write("\n");
    return;
  }
  io::Json::Object document =
      with_prompt(work.prompt, recipes::continuation_json(result, has_text));
  io::Json::Array log_probabilities;
  for (const float number : result.log_probabilities) {
    log_probabilities.emplace_back(static_cast<double>(number));
  }
  document.emplace_back("log_probabilities", std::move(log_probabilities));
  session.output.write(io::json_text(document) + "\n");
}

void run_generate(Session& session) {
  const GenerateSettings settings = read_settings(session);
  const recipes::LoadedModel loaded = load_model(session);
  if (!loaded.model->capabilities().continues_prompt) {
    const std::string types =
        models::known_architectures().types_that({&models::Capabilities::continues_prompt});
    throw Error(ErrorKind::bad_input, "generate", loaded.folder,
                "the model is a " + std::string(loaded.model->type()) + ", only a " + types +
                    " continues a prompt; `headlight translate` and `headlight "
                    "embed` are for others");
  }
  recipes::HeadsOff heads_off(settings.heads_off, *loaded.model, "--heads-off");
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
  work.prompt.ids =
      settings.prompt_ids
          ? *settings.prompt_ids
          : tokenizer->encode(prompt_text(session), {.special = session.arguments.has("special")});
  base::ThreadPool threads(session.threads);
  tensor::Arena arena;
  autograd::Context context{
      .threads = threads, .arena = arena, .intervention = heads_off.empty() ? nullptr : &heads_off};
  if (settings.search) {
    print_best(session, context, work);
  } else {
    print_as_it_comes(session, context, work);
  }
}

}  // namespace

const Command kGenerate = {"generate",        "what a model writes after a prompt",
                           kGenerateExamples, kGenerateOptions,
                           run_generate,      {.name = "MODEL"}};

}  // namespace headlight::cli
