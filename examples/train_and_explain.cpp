// train_and_explain [FOLDER]: trains a small model from a recipe, lets it write, explains a
// sentence of it and writes the page. What the command line does, as calls.
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "headlight/narrate/narrate.h"
#include "headlight/recipes/recipes.h"

using namespace headlight;

int main(int count, char** words) {
  namespace fs = std::filesystem;
  const std::string name = "headlight-" + std::to_string(getpid());
  const fs::path folder = count > 1 ? fs::path(words[1]) : fs::temp_directory_path() / name;
  const std::string model = folder / "model", page = folder / "walk.html";
  const std::string data = folder / "sentences.tsv";
  base::ThreadPool threads;
  recipes::FilesWithEmbedded files;

  // Three sentences and what follows them.
  const std::vector<recipes::SentencePair> sentences = recipes::default_sentences();
  std::string lines;
  for (const auto& pair : sentences) lines += pair.source + "\t" + pair.target + "\n";
  base::make_directories(files, folder);
  base::write_file(files, data, lines);

  const auto recipe = recipes::train_values({{"preset", "tiny"},
                                             {"task", "translate"},
                                             {"data", data},
                                             {"valid", data},
                                             {"tokenizer", "word"},
                                             {"label_smoothing", "0"}});
  recipes::train_model(threads, files, {.folder = model, .values = recipe},
                       {.evaluation = [](const recipes::TrainEvaluation& event) {
                         std::printf("step %3d  loss %.4f\n", static_cast<int>(event.step),
                                     event.valid_loss);
                       }});

  const recipes::LoadedModel trained = recipes::load_named_model(files, model);
  const std::string said = recipes::continuation_of(
      threads, *trained.model, recipes::need_tokenizer(files, trained), sentences[0].source);
  std::printf("%s ... %s\n", sentences[0].source.c_str(), said.c_str());

  const narrate::Explanation walk(threads, files,
                                  {.model = model,
                                   .text = sentences[0].source,
                                   .target = sentences[0].target,
                                   .format = narrate::ExplainFormat::html});
  base::write_file(files, page, [&](base::Output& output) { walk.write(output); });
  std::printf("the page: %s, %d kB\n", page.c_str(), static_cast<int>(fs::file_size(page) / 1000));
  if (count < 2) fs::remove_all(folder);
  return said == sentences[0].target ? 0 : 1;
}
