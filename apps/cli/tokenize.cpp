// `headlight tokenize`: from a text to tokens, and back.
#include <deque>

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
(beside vocab.bpe), tokenizer.model, spiece.model, source.spm or target.spm (beside vocab.json) or vocab.txt. Text becomes a special
token such as <|endoftext|> only with --special.
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

// The ids of a long text: nowhere twice, and in half the bytes of int64.
using CompactIds = std::deque<int32_t>;

// Tokens as JSON texts, each made once.
class QuotedTokens {
 public:
  explicit QuotedTokens(const text::Tokenizer& tokenizer)
      : tokenizer_(tokenizer), texts_(static_cast<size_t>(tokenizer.size())) {}

  const std::string& text(int64_t id) {
    std::string& text = texts_[static_cast<size_t>(id)];
    if (text.empty()) text = io::json_text(tokenizer_.token(id));
    return text;
  }

 private:
  const text::Tokenizer& tokenizer_;
  std::vector<std::string> texts_;
};

// Text for standard output in pieces of some size.
class Pieces {
 public:
  explicit Pieces(Session& session) : session_(session) {}

  void add(std::string_view text) {
    text_ += text;
    if (text_.size() >= kSize) finish();
  }
  void finish() {
    session_.output.write(text_);
    text_.clear();
  }

 private:
  static constexpr size_t kSize = size_t{1} << 16;
  Session& session_;
  std::string text_;
};

// {"ids":[…],"tokens":[…]}, with the members of `more` after them.
void print_document(Session& session, const text::Tokenizer& tokenizer, const CompactIds& ids,
                    std::string_view more = "") {
  Pieces pieces(session);
  QuotedTokens tokens(tokenizer);
  const auto list = [&](const auto& text_of) {
    bool is_first = true;
    for (const int32_t id : ids) {
      if (!is_first) pieces.add(",");
      is_first = false;
      pieces.add(text_of(id));
    }
  };
  pieces.add(R"({"ids":[)");
  list([](int32_t id) { return std::to_string(id); });
  pieces.add(R"(],"tokens":[)");
  list([&](int32_t id) -> const std::string& { return tokens.text(id); });
  pieces.add("]");
  pieces.add(more);
  pieces.add("}\n");
  pieces.finish();
}

void print_tokens(Session& session, const text::Tokenizer& tokenizer, const CompactIds& ids) {
  Pieces pieces(session);
  QuotedTokens tokens(tokenizer);
  for (const int32_t id : ids) {
    pieces.add(std::to_string(id));
    pieces.add("\t");
    pieces.add(tokens.text(id));
    pieces.add("\n");
  }
  pieces.finish();
}

void print_decoded(Session& session, const text::Tokenizer& tokenizer,
                   const std::vector<int64_t>& ids) {
  const std::string text = tokenizer.decode(ids);
  if (session.json) {
    print_document(session, tokenizer, CompactIds(ids.begin(), ids.end()),
                   R"(,"text":)" + io::json_text(text));
  } else {
    session.output.write(text + "\n");
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
  if (arguments.has("decode")) return print_decoded(session, tokenizer, ids);
  const std::string text = text_given(session);
  CompactIds found;
  {
    const Progress progress(session, command_text(session, "command.progress.computing"));
    tokenizer.encode(text,
                     {.special = arguments.has("special"),
                      .framed = arguments.has("framed"),
                      .sizing = text::Sizing::cut_and_filled},
                     [&found](std::span<const int64_t> some) {
                       found.insert(found.end(), some.begin(), some.end());
                     });
  }
  if (session.json) {
    print_document(session, tokenizer, found);
  } else {
    print_tokens(session, tokenizer, found);
  }
}

}  // namespace

const Command kTokenize = {"tokenize",        "tokens and ids of a text, and back",
                           kTokenizeExamples, kTokenizeOptions,
                           run_tokenize,      {.name = "MODEL"}};

}  // namespace headlight::cli
