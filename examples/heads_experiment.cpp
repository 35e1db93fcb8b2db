// heads_experiment FOLDER [--quick] [--no-scratch] [--seed N]: what heads of the model `numbers`
// are worth, measured in several ways, and what is left when they go; for models of three seeds, or
// the embedded one alone in less than five minutes. The folder then holds result.json, tables.md
// and pictures. Run again, it goes on where it was, so that seeds may be run one by one, or at the
// same time, and put together at last. --no-scratch leaves out what takes longest: training smaller
// models from scratch. docs/heads.md says what came out. Without a folder it is done in
// miniature and nothing is kept.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "examples/heads_experiment/pictures.h"
#include "examples/heads_experiment/tables.h"

using namespace headlight;
using recipes::HeadsStudy;

namespace {

struct Form {
  const char* name;
  std::vector<int64_t> seeds;  // 0: the embedded model
  int64_t scratch_steps = 0;   // 0: nothing is trained from scratch
  recipes::HeadsStudyOptions options;
};

Form whole_form() {
  // Half of the steps that the models themselves were trained for.
  Form form{"full", {0, 1, 2}, 2500, {}};
  form.options.measured_examples = 1000;
  form.options.shares = {0, 1 / 24.0, 1 / 12.0, 1 / 8.0, 1 / 6.0, 0.25, 1 / 3.0, 0.5, 0.75, 1};
  form.options.coarse_shares = {0.25, 0.5};
  return form;
}

Form quick_form() {
  Form form{"quick", {0}, 0, {}};
  form.options.chosen_examples = 128;
  form.options.attributed_examples = 64;
  form.options.measured_examples = 500;
  form.options.shares = {0, 1 / 6.0, 1 / 3.0, 0.5, 2 / 3.0, 5 / 6.0, 1};
  form.options.gate_steps = 50;
  form.options.finetune = 40;
  form.options.coarse_shares = {0.5, 5 / 6.0};
  return form;
}

Form miniature_form() {
  Form form{"miniature", {0}, 0, {}};
  form.options.chosen_examples = 4;
  form.options.attributed_examples = 2;
  form.options.measured_examples = 4;
  form.options.shares = {0, 0.5, 1};
  form.options.random_orders = 2;
  form.options.gate_steps = 1;
  form.options.finetune = 1;
  form.options.coarse_shares = {0.5};
  return form;
}

// Seconds since the start, on the clock and of the processor; those of trainings by themselves.
struct Times {
  double clock = 0;
  double processor = 0;
};
class Stopwatch {
 public:
  Times since_start() const {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    return {passed.count(), static_cast<double>(std::clock()) / CLOCKS_PER_SEC};
  }
  template <class Work>
  void train(const Work& work) {
    const Times before = since_start();
    work();
    const Times after = since_start();
    trained_.clock += after.clock - before.clock;
    trained_.processor += after.processor - before.processor;
  }
  const Times& trained() const { return trained_; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Times trained_;
};

class Experiment {
 public:
  Experiment(std::string folder, Form form) : folder_(std::move(folder)), form_(std::move(form)) {
    base::make_directories(files_, folder_ + "/models");
  }

  std::vector<StudiedSeed> run() {
    std::vector<StudiedSeed> studies;
    for (const int64_t seed : form_.seeds) studies.push_back({seed, study(seed)});
    return studies;
  }
  const Form& form() const { return form_; }
  const std::string& folder() const { return folder_; }
  base::FileSystem& files() { return files_; }
  const Stopwatch& stopwatch() const { return stopwatch_; }

 private:
  void tell(const std::string& what) const {
    std::fprintf(stderr, "%6.0f s  %s\n", stopwatch_.since_start().clock, what.c_str());
  }

  // A run folder, made by what `headlight train --task numbers` does with these keys.
  void train(const std::string& run, const std::vector<std::pair<std::string, std::string>>& keys) {
    stopwatch_.train([&] {
      recipes::train_model(threads_, files_,
                           {.folder = run,
                            .resume = base::exists(files_, run),
                            .values = recipes::train_values(keys)});
    });
  }

  std::string model_of(int64_t seed) {
    if (seed == 0) return "numbers";
    const std::string run = folder_ + "/models/seed-" + std::to_string(seed);
    tell("training the model of seed " + std::to_string(seed));
    train(run, {{"task", "numbers"}, {"seed", std::to_string(seed)}});
    return run;
  }

  std::unique_ptr<models::Model> from_scratch(const models::Model& shape, int64_t seed) {
    const std::string heads = std::to_string(heads::heads_of(shape).size());
    const std::string run = folder_ + "/models/seed-" + std::to_string(seed) + "-scratch-" + heads;
    const std::string fresh = run + "-fresh";
    tell("training " + heads + " heads from scratch");
    if (!base::exists(files_, fresh)) {
      recipes::write_fresh_model(files_, shape, recipes::model_folder(files_, "numbers"),
                                 static_cast<uint64_t>(seed), fresh);
    }
    train(run, {{"task", "numbers"},
                {"seed", std::to_string(seed)},
                {"init", fresh},
                {"max_iters", std::to_string(form_.scratch_steps)}});
    return recipes::load_named_model(files_, run).model;
  }

  // What the parts depend on that are kept.
  io::Json::Object request_of(const models::Model& model) const {
    const recipes::HeadsStudyOptions& options = form_.options;
    return {{"model", recipes::model_sum(model)},
            {"chosen_examples", options.chosen_examples},
            {"measured_examples", options.measured_examples},
            {"gate_steps", options.gate_steps},
            {"finetune", options.finetune}};
  }

  HeadsStudy study(int64_t seed) {
    const recipes::LoadedModel loaded = recipes::load_named_model(files_, model_of(seed));
    const std::string name = "seed-" + std::to_string(seed);
    const std::string measured = folder_ + "/measured-" + name;
    recipes::ExperimentState state(files_, {.folder = measured,
                                            .resume = base::exists(files_, measured),
                                            .request = request_of(*loaded.model)});
    recipes::HeadsStudyOptions options = form_.options;
    if (form_.scratch_steps > 0) {
      options.from_scratch = [this, seed](const models::Model& shape) {
        return from_scratch(shape, seed);
      };
    }
    options.begins = [&](const std::string& stage) { tell(name + ": " + stage); };
    options.known = [&](const std::string& part) -> std::optional<io::Json> {
      const io::Json* found = state.find(part);
      return found == nullptr ? std::nullopt : std::optional(*found);
    };
    options.finished = [&](const std::string& part, const io::Json& result) {
      state.add(part, result);
    };
    HeadsStudy result = recipes::study_heads(threads_, files_, loaded, options);
    state.save();
    return result;
  }

  std::string folder_;
  Form form_;
  base::ThreadPool threads_;
  recipes::FilesWithEmbedded files_;
  Stopwatch stopwatch_;
};

void write_results(Experiment& experiment, const std::vector<StudiedSeed>& studies) {
  const auto write = [&](const std::string& name, const std::string& text) {
    base::write_file(experiment.files(), experiment.folder() + "/" + name, text);
  };
  for (const NamedDrawing& drawing : study_drawings(studies)) write(drawing.name, drawing.svg);
  const std::string tables = study_tables(studies);
  write("tables.md", tables);
  const Times all = experiment.stopwatch().since_start();
  const Times& trained = experiment.stopwatch().trained();
  io::Json::Array of_seeds;
  for (const StudiedSeed& one : studies) {
    io::Json::Object facts{{"seed", one.seed}};
    for (auto& fact : recipes::heads_study_json(one.study)) facts.push_back(std::move(fact));
    of_seeds.emplace_back(std::move(facts));
  }
  write("result.json",
        io::json_text(io::Json::Object{{"form", experiment.form().name},
                                       {"seconds", all.clock - trained.clock},
                                       {"processor_seconds", all.processor - trained.processor},
                                       {"training_seconds", trained.clock},
                                       {"training_processor_seconds", trained.processor},
                                       {"models", std::move(of_seeds)}}) +
            "\n");
  std::printf("%s%.0f s, %.0f s of processor time; trainings: %.0f s, %.0f s\n", tables.c_str(),
              all.clock - trained.clock, all.processor - trained.processor, trained.clock,
              trained.processor);
}

}  // namespace

int main(int count, char** words) {
  namespace fs = std::filesystem;
  std::string folder;
  bool is_quick = false;
  bool trains_from_scratch = true;
  std::vector<int64_t> seeds;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--quick") {
      is_quick = true;
    } else if (word == "--no-scratch") {
      trains_from_scratch = false;
    } else if (word == "--seed" && i + 1 < count) {
      seeds = {std::atoll(words[++i])};
    } else if (folder.empty() && !word.starts_with("-")) {
      folder = word;
    } else {
      std::fprintf(stderr,
                   "usage: heads_experiment [FOLDER [--quick] [--no-scratch] [--seed N]]\n");
      return 2;
    }
  }
  const bool is_miniature = folder.empty();
  if (is_miniature)
    folder = fs::temp_directory_path() / ("headlight-heads-" + std::to_string(getpid()));
  Form form = is_miniature ? miniature_form() : is_quick ? quick_form() : whole_form();
  if (!seeds.empty()) form.seeds = seeds;
  if (!trains_from_scratch) form.scratch_steps = 0;
  try {
    Experiment experiment(folder, form);
    write_results(experiment, experiment.run());
  } catch (const base::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  if (is_miniature) fs::remove_all(folder);
  return 0;
}
