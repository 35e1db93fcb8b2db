// `headlight convert`: any model that can be read, as a Hugging Face folder.
#include "apps/cli/program/program.h"
#include "apps/cli/program/terminal.h"
#include "headlight/io/io.h"
#include "headlight/models/models.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {
namespace {

constexpr std::string_view kConvertExamples =
    R"(  headlight convert MODEL --to folder
      a PyTorch checkpoint or shards as config.json and one model.safetensors
  headlight convert checkpoints/ckpt.pt --to folder
      the same of one file, with its config.json beside it
  headlight convert model.Q4_K_M.gguf --to folder
      a GGUF file as config.json, model.safetensors, tokenizer.json and chat_template.jinja
  headlight convert thrones --to opened
      a model that comes with the program, to open elsewhere
  headlight convert thrones --to opened-marian --as marian
      a translator trained here, as other programs open it; where its switches do not allow that, the one is named

The tokenizer, the chat template and settings for generating and for sentence vectors are copied. Numbers that are stored as float16 or
bfloat16 stay so, quantised ones become float32; none is rounded.
)";

constexpr Option kConvertOptions[] = {
    {"to", "DIR", "where the folder is to be; it must not be there yet"},
    {"as", "TYPE", "the model_type to write (default: the one it has)"},
};

void run_convert(Session& session) {
  const Arguments& arguments = session.arguments;
  const std::optional<std::string> folder = arguments.text("to");
  if (!folder) {
    throw base::Error(base::ErrorKind::usage, "--to", "",
                      "is missing: a folder to write, e.g. `headlight convert MODEL --to folder`");
  }
  if (arguments.has("as")) arguments.choice("as", models::known_architectures().types());
  recipes::check_new_folder(session.files, *folder, "--to");
  const recipes::ConvertedModel converted =
      recipes::convert_model(session.files, load_model(session), *folder, arguments.text("as"));
  session.output.write(session.json ? io::json_text(recipes::converted_json(converted)) + "\n"
                                    : narrate::converted_text(catalogue_of(arguments), converted));
}

}  // namespace

const Command kConvert = {"convert",        "any model that can be read, as a Hugging Face folder",
                          kConvertExamples, kConvertOptions,
                          run_convert,      {.name = "MODEL"}};

}  // namespace headlight::cli
