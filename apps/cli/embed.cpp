// `headlight embed`: sentence vectors of an encoder.
#include "apps/cli/program/input.h"
#include "apps/cli/program/progress.h"
#include "headlight/infer/infer.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kEmbedExamples =
    R"(  headlight embed MODEL --text "A sentence."
      its vector: numbers with spaces between them
  headlight embed MODEL --json < sentences.txt
      a line {"text":"","vector":[]} for each line

A vector is the mean of the encoder's last hidden states over all tokens, those around the text included, brought to length 1; so
the product of two vectors is the cosine between them. A folder of sentence-transformers may ask for the first token ([CLS]) instead,
for a length at which sentences are cut, for small letters and for a prompt before them.
)";

constexpr Option kEmbedOptions[] = {
    {"text", "TEXT", "the sentence (default: standard input, one sentence per line)"},
    {"encoding", "NAME", "of standard input, where it is not UTF-8: cp1254, cp949, latin1, ..."},
};

void print(Session& session, const std::string& text, const std::vector<float>& vector) {
  if (session.json) {
    session.output.write(R"({"text":)" + io::json_text(text) + R"(,"vector":)");
    io::write_json_array(session.output,
                         tensor::Tensor::of({static_cast<int64_t>(vector.size())}, vector));
    session.output.write("}\n");
    return;
  }
  std::string line;
  for (const float number : vector) {
    line.append(line.empty() ? "" : " ").append(io::number_text(number));
  }
  session.output.write(line + "\n");
}

void run_embed(Session& session) {
  TextLines lines(session);
  const recipes::LoadedModel loaded = load_packed_model(session);
  const models::Model& model = *loaded.model;
  if (!model.capabilities().embeds) {
    throw Error(ErrorKind::bad_input, "embed", loaded.folder,
                "the model is a " + std::string(model.type()) + ", only an encoder (" +
                    models::known_architectures().types_that({&models::Capabilities::embeds}) +
                    ") gives sentence vectors");
  }
  const text::Tokenizer tokenizer = recipes::need_tokenizer(session.files, loaded);
  const recipes::SentenceSettings settings = recipes::sentence_settings(session.files, loaded);
  const EncodeLine encode = [&](const std::string& line, const std::string& place) {
    auto ids =
        encode_line("embed", tokenizer, model, settings.prepared(line), place,
                    {.framed = true, .sizing = text::Sizing::cut, .longest = settings.longest});
    if (ids.empty()) throw Error(ErrorKind::bad_input, "embed", place, "has no tokens");
    return ids;
  };
  base::ThreadPool threads(session.threads);
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena};
  BlockProgress progress(session, command_text(session, "command.progress.computing"));
  for (auto block = lines.next(); !block.empty(); block = lines.next()) {
    const EncodedBlock encoded = encode_block(lines, block, encode);
    progress.begin_block();
    const auto vectors =
        infer::sentence_vectors(context, model, encoded.lines, {.pooling = settings.pooling});
    progress.end_block();
    for (size_t i = 0; i < encoded.lines.size(); ++i) {
      print(session, block[i], vectors[i]);
    }
    session.output.flush();
    if (encoded.refusal) std::rethrow_exception(encoded.refusal);
  }
}

}  // namespace

const Command kEmbed = {"embed",        "sentence vectors of an encoder",
                        kEmbedExamples, kEmbedOptions,
                        run_embed,      {.name = "MODEL"}};

}  // namespace headlight::cli
