// `headlight tokenize`: from a text to tokens, and back.
#include "apps/cli/program/input.h"
#include "apps/cli/program/progress.h"
#include "headlight/io/io.h"
#include "headlight/recipes/recipes.h"
#include "headlight/text/text.h"

namespace headlight::cli {
namespace {

constexpr std::string_view kTokenizeExamples =
    R"(  headlight tokenize MODEL --text "Hello world"
      a line per token: its id and the token
  headlight tokenize tokenizer.json --json < text.txt
      ids and tokens of a whole text, for programs
  headlight tokenize MODEL --decode 15496,995
      the text that ids stand for

MODEL is a model directory, a folder with a tokenizer, or a file: tokenizer.json, vocab.json (beside merges.txt), encoder.json
(beside vocab.bpe) or vocab.txt. Text becomes a special token such as <|endoftext|> only with --special.
)";

constexpr Option kTokenizeOptions[] = {
    {"text", "TEXT", "the text (default: standard input)"},
    {"decode", "1,2,3", "the other way: the text of these ids"},
    {"special", "", "the text of a special token becomes that token"},
    {"framed", "", "with the tokens that models put around a text, such as [CLS] and [SEP]"},
    {"encoding", "NAME", "of standard input, where it is not UTF-8: cp1254, cp949, latin1, ..."},
};

void settle_tokenize_options(Arguments& arguments) {
  for (const char* option : {"text", "special", "framed", "encoding"}) {
    exclude(arguments, option, "decode");
  }
  exclude(arguments, "encoding", "text");
}

std::string text_given(const Session& session) {
  const Arguments& arguments = session.arguments;
  if (const auto text = arguments.text("text")) return *text;
  say_what_is_awaited(session, "command.waits.text");
  return text::to_utf8(read_standard_input(), "standard input",
                       arguments.text("encoding").value_or(""));
}

io::Json::Object document(const text::Tokenizer& tokenizer, const std::vector<int64_t>& ids) {
  io::Json::Array tokens;
  for (const int64_t id : ids) tokens.emplace_back(tokenizer.token(id));
  return {{"ids", io::Json::Array(ids.begin(), ids.end())}, {"tokens", std::move(tokens)}};
}

void print_tokens(Session& session, const text::Tokenizer& tokenizer,
                  const std::vector<int64_t>& ids) {
  for (const int64_t id : ids) {
    session.output.write(std::to_string(id) + "\t" + io::json_text(tokenizer.token(id)) + "\n");
  }
}

void run_tokenize(Session& session) {
  Arguments& arguments = session.arguments;
  settle_tokenize_options(arguments);
  std::vector<int64_t> ids;
  if (const auto list = arguments.text("decode")) {
    ids = integers_of(arguments.source("decode"), *list, {0, INT64_MAX});
  }
  const text::Tokenizer tokenizer = text::load_tokenizer(
      session.files, recipes::model_folder(session.files, *arguments.text("model")));
  if (arguments.has("decode")) {
    const std::string text = tokenizer.decode(ids);
    io::Json::Object result = document(tokenizer, ids);
    result.emplace_back("text", text);
    session.output.write((session.json ? io::json_text(result) : text) + "\n");
    return;
  }
  const std::string text = text_given(session);
  {
    const Progress progress(session, command_text(session, "command.progress.computing"));
    ids = tokenizer.encode(
        text, {.special = arguments.has("special"), .framed = arguments.has("framed")});
  }
  if (session.json) {
    session.output.write(io::json_text(document(tokenizer, ids)) + "\n");
  } else {
    print_tokens(session, tokenizer, ids);
  }
}

}  // namespace

const Command kTokenize = {"tokenize",        "tokens and ids of a text, and back",
                           kTokenizeExamples, kTokenizeOptions,
                           run_tokenize,      {.name = "MODEL"}};

}  // namespace headlight::cli
