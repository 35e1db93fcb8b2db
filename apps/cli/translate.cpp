// `headlight translate`: what an encoder-decoder writes for each line.
#include "apps/cli/program/input.h"
#include "apps/cli/program/progress.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kTranslateExamples =
    R"(  headlight translate MODEL --text "How are you?"
      one sentence
  headlight translate MODEL --beam 4 < sentences.txt > translations.txt
      a line for each line, by beam search
  headlight translate MODEL --text "yüz kırk iki" --beam 4 --json
      the four best with their scores

A line in gives a line out; an empty one stays empty. A line that cannot be
read ends it, after the answers to those before; so does one that is nothing
the model was trained on, where this is known (numbers: number words). A
translation is at most 50 tokens longer than its source.
Greedy by default; beam scores are log p / length^A, the end counted.

--json, a line for each:
    {"source":"","text":"","ids":[],"log_probability":0,
     "stopped":"end|limit|context"}
with --beam also "score" and
    "hypotheses":[{"ids":[],"text":"","log_probability":0,"stopped":"",
     "score":0}]
the best first.
)";

constexpr Option kTranslateOptions[] = {
    {"text", "TEXT", "what to translate (default: standard input, one sentence per line)"},
    {"beam", "N", "search with N beams for the likeliest translation"},
    {"length-penalty", "A", "of beam scores (default: 1)"},
    {"max-new-tokens", "N", "at most this many tokens for each line"},
    {"encoding", "NAME", "of standard input, where it is not UTF-8: cp1254, cp949, latin1, ..."},
};

// The answers to one line, the best first.
void print_translation(Session& session, const std::string& source,
                       const std::vector<infer::Hypothesis>& found, bool with_scores) {
  const infer::Hypothesis& best = found.front();
  if (!session.json) {
    // One line whatever the model writes.
    std::string text = best.text;
    for (char& c : text) c = c == '\n' || c == '\r' ? ' ' : c;
    session.output.write(text + "\n");
    return;
  }
  io::Json::Object document = recipes::continuation_json(best, true);
  document.insert(document.begin(), {"source", source});
  if (with_scores) {
    document.emplace_back("score", best.score);
    document.emplace_back("hypotheses", recipes::hypotheses_json(found, true));
  }
  session.output.write(io::json_text(document) + "\n");
}

void run_translate(Session& session) {
  TextLines lines(session);
  recipes::TranslateOptions options{
      .search = recipes::read_search_options(session.arguments),
      .max_new_tokens = recipes::read_token_limit(session.arguments).value_or(infer::kNoLimit)};
  const recipes::LoadedModel loaded = load_packed_model(session);
  models::check_generation_settings(session.files, loaded.folder);
  if (!loaded.model->capabilities().translates) {
    throw Error(ErrorKind::bad_input, "translate", loaded.folder,
                "the model is a " + std::string(loaded.model->type()) +
                    ", only an encoder-decoder (" +
                    models::known_architectures().types_that({&models::Capabilities::translates}) +
                    ") translates");
  }
  const text::Tokenizer tokenizer = recipes::need_tokenizer(session.files, loaded);
  const recipes::TaskSources sources(session.files, loaded.folder);
  const EncodeLine encode = [&](const std::string& line, const std::string& place) {
    auto ids = encode_line("translate", tokenizer, *loaded.model, line, place);
    if (!ids.empty()) {
      sources.check("translate", place, tokenizer.decode(ids));
      ids = encode_line("translate", tokenizer, *loaded.model, line, place, {.framed = true});
    }
    say_unknown_words(session, tokenizer, line);
    return ids;
  };
  base::ThreadPool threads(session.threads);
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena};
  BlockProgress progress(session, command_text(session, "command.progress.writing"));
  options.progress = [&](double share) { progress.reached(share); };
  for (auto block = lines.next(); !block.empty(); block = lines.next()) {
    const EncodedBlock encoded = encode_block(lines, block, encode);
    progress.begin_block();
    const auto found =
        recipes::translate(context, *loaded.model, tokenizer, encoded.lines, options);
    progress.end_block();
    for (size_t i = 0; i < found.size(); ++i)
      print_translation(session, block[i], found[i], options.search.has_value());
    session.output.flush();
    if (encoded.refusal) std::rethrow_exception(encoded.refusal);
  }
}

}  // namespace

const Command kTranslate = {"translate",        "what an encoder-decoder writes for each line",
                            kTranslateExamples, kTranslateOptions,
                            run_translate,      {.name = "MODEL"}};

}  // namespace headlight::cli
