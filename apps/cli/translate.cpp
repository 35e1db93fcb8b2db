// `headlight translate`: what an encoder-decoder writes for each line.
#include "apps/cli/decoding_options.h"
#include "apps/cli/program.h"
#include "apps/cli/text_lines.h"
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

A line in gives a line out; an empty one stays empty. A line that cannot be read ends it, after the answers to those before. A
translation is at most 50 tokens longer than its source.
Greedy by default; beam scores are log p / length^A, the end counted.
--json: a line {"source":"","text":"","ids":[],"log_probability":0,"stopped":"end|limit|context"} for each, with --beam also "score"
and "hypotheses":[{"ids":[],"text":"","log_probability":0,"stopped":"","score":0}], the best first.
)";

constexpr Option kTranslateOptions[] = {
    {"text", "TEXT", "what to translate (default: standard input, a sentence a line)"},
    {"beam", "N", "search with N beams for the likeliest translation"},
    {"length-penalty", "A", "of beam scores (default: 1)"},
    {"max-new-tokens", "N", "at most so many tokens for each line"},
    {"encoding", "NAME", "of standard input, where it is not UTF-8: cp1254, cp949, latin1, ..."},
};

struct TranslateSettings {
  std::optional<infer::SearchOptions> search;
  int64_t max_new_tokens = infer::kNoLimit;
};

class Translator {
 public:
  Translator(Session& session, const TranslateSettings& settings, const models::Model& model,
             text::Tokenizer tokenizer)
      : session_(session),
        model_(model),
        tokenizer_(std::move(tokenizer)),
        search_(settings.search),
        threads_(session.threads) {
    options_.ending.tokenizer = &tokenizer_;
    options_.ending.max_new_tokens = settings.max_new_tokens;
  }
  Translator(const Translator&) = delete;
  Translator& operator=(const Translator&) = delete;

  void print(const TextLines& lines, const std::vector<std::string>& block) {
    const EncodedBlock encoded =
        encode_block(lines, block, [this](const std::string& line, const std::string& place) {
          return encode_line("translate", tokenizer_, model_, line, place);
        });
    std::vector<std::vector<int64_t>> sources;
    for (const std::vector<int64_t>& ids : encoded.lines) {
      if (!ids.empty()) sources.push_back(ids);
    }
    const auto found = outputs(sources);
    std::vector<infer::Hypothesis> nothing(1);
    nothing.front().reason = infer::StopReason::end;
    size_t next = 0;
    for (size_t i = 0; i < encoded.lines.size(); ++i) {
      print_line_of(block[i], encoded.lines[i].empty() ? nothing : found[next++]);
    }
    session_.output.flush();
    if (encoded.refusal) std::rethrow_exception(encoded.refusal);
  }

 private:
  // Greedy ones as hypotheses without a search.
  std::vector<std::vector<infer::Hypothesis>> outputs(
      const std::vector<std::vector<int64_t>>& sources) {
    autograd::Context context{.threads = threads_, .arena = arena_};
    if (search_) return infer::beam_outputs(context, model_, sources, *search_, options_);
    std::vector<std::vector<infer::Hypothesis>> results;
    for (infer::Continuation& output : infer::greedy_outputs(context, model_, sources, options_)) {
      results.push_back({{std::move(output), 0}});
    }
    return results;
  }

  void print_line_of(const std::string& source, const std::vector<infer::Hypothesis>& found) {
    const infer::Hypothesis& best = found.front();
    if (!session_.json) {
      // One line whatever the model writes.
      std::string text = best.text;
      for (char& c : text) c = c == '\n' || c == '\r' ? ' ' : c;
      session_.output.write(text + "\n");
      return;
    }
    io::Json::Object document = continuation_json(best, true);
    document.insert(document.begin(), {"source", source});
    if (search_) {
      document.emplace_back("score", best.score);
      document.emplace_back("hypotheses", hypotheses_json(found, true));
    }
    session_.output.write(io::json_text(document) + "\n");
  }

  Session& session_;
  const models::Model& model_;
  const text::Tokenizer tokenizer_;
  const std::optional<infer::SearchOptions> search_;
  infer::OutputOptions options_;
  base::ThreadPool threads_;
  tensor::Arena arena_;
};

void run_translate(Session& session) {
  TextLines lines(session.arguments);
  const TranslateSettings settings{
      .search = read_search_options(session.arguments),
      .max_new_tokens = read_token_limit(session.arguments).value_or(infer::kNoLimit)};
  const recipes::LoadedModel loaded = load_model(session);
  if (!loaded.model->capabilities().translates) {
    throw Error(ErrorKind::bad_input, "translate", loaded.folder,
                "the model is a " + std::string(loaded.model->type()) +
                    ", only an encoder-decoder (" +
                    models::known_architectures().types_that({&models::Capabilities::translates}) +
                    ") translates");
  }
  Translator translator(session, settings, *loaded.model,
                        recipes::need_tokenizer(session.files, loaded));
  for (auto block = lines.next(); !block.empty(); block = lines.next()) {
    translator.print(lines, block);
  }
}

}  // namespace

const Command kTranslate = {"translate",        "what an encoder-decoder writes for each line",
                            kTranslateExamples, kTranslateOptions,
                            run_translate,      {.name = "MODEL"}};

}  // namespace headlight::cli
