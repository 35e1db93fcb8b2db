// Writing and reading checkpoints. The manifest is the one file that says which others count.
#include "headlight/train/checkpoint.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "headlight/train/checksum.h"
#include "headlight/train/shared_state.h"

namespace headlight::train {
namespace {

using base::Error;
using base::ErrorKind;

constexpr int64_t kVersion = 1;
constexpr const char* kManifest = "manifest.json";

std::string weights_name(int64_t step) { return "model-" + std::to_string(step) + ".safetensors"; }
std::string state_name(int64_t step) {
  return "optimizer-" + std::to_string(step) + ".safetensors";
}

io::Json entry_of(base::FileSystem& files, const std::string& path, const std::string& name) {
  const auto input = base::open_input(files, path);
  return io::Json::Object{{"name", name},
                          {"bytes", static_cast<int64_t>(input->size())},
                          {"xxh64", file_sum(files, path)}};
}

// A field of the manifest, or an Error that names it.
const io::Json& field(const io::Json& json, const std::string& path, std::string_view key) {
  const io::Json* value = json.find(key);
  if (value == nullptr) throw Error(ErrorKind::bad_input, path, key, "is missing in this manifest");
  return *value;
}

int64_t integer_field(const io::Json& json, const std::string& path, std::string_view key) {
  const auto value = field(json, path, key).integer();
  if (!value || *value < 0)
    throw Error(ErrorKind::bad_input, path, key, "must be a whole number from 0 on");
  return *value;
}

// Before the first evaluation there is no loss: null.
io::Json loss_json(double loss) { return std::isfinite(loss) ? io::Json(loss) : io::Json(); }
double loss_field(const io::Json& json, const std::string& path, std::string_view key) {
  const io::Json& value = field(json, path, key);
  if (value.is_null()) return std::numeric_limits<double>::infinity();
  if (const auto loss = value.number()) return *loss;
  throw Error(ErrorKind::bad_input, path, key, "must be a number or null");
}

Progress progress_of(const io::Json& manifest, const std::string& path) {
  if (const int64_t version = integer_field(manifest, path, "version"); version != kVersion) {
    throw Error(
        ErrorKind::bad_input, path, "version",
        "is " + std::to_string(version) + ", this program reads " + std::to_string(kVersion));
  }
  Progress progress{
      .step = integer_field(manifest, path, "step"),
      .evaluated_step = integer_field(manifest, path, "evaluated_step"),
      .best_step = integer_field(manifest, path, "best_step"),
      .evaluations_since_best = integer_field(manifest, path, "evaluations_since_best")};
  progress.valid_loss = loss_field(manifest, path, "valid_loss");
  progress.best_loss = loss_field(manifest, path, "best_valid_loss");
  return progress;
}

// The files of the checkpoint are those that were written.
void check_files(base::FileSystem& files, const std::string& path, const std::string& folder,
                 const Progress& progress) {
  const io::Json manifest = io::read_json(files, path);
  const io::Json::Array* entries = field(manifest, path, "files").array();
  const std::array<std::string, 2> names = {weights_name(progress.step), state_name(progress.step)};
  for (const std::string& name : names) {
    const io::Json* found = nullptr;
    for (size_t i = 0; entries != nullptr && i < entries->size(); ++i) {
      const io::Json* entry_name = (*entries)[i].find("name");
      if (entry_name && entry_name->text() && *entry_name->text() == name) found = &(*entries)[i];
    }
    if (found == nullptr) throw Error(ErrorKind::bad_input, path, "files", "does not name " + name);
    const std::string file = folder + "/checkpoint/" + name;
    const std::string* sum = field(*found, path, "xxh64").text();
    if (sum == nullptr || *sum != file_sum(files, file)) {
      throw Error(ErrorKind::bad_input, "checkpoint", file,
                  "is not the file that was saved: its bytes have changed");
    }
  }
}

}  // namespace

Checkpoints::Checkpoints(base::FileSystem& files, std::string folder)
    : files_(files), folder_(std::move(folder)) {}

void Checkpoints::begin() {
  base::make_directories(files_, folder_ + "/checkpoint");
  write_manifest({}, {});
}

void Checkpoints::save(Trainer& trainer) {
  try {
    write(trainer);
  } catch (const Error& error) {
    // Not being able to read back what was just written is no fault of the user's files.
    if (error.kind() == ErrorKind::bad_input) throw error.with_kind(ErrorKind::failed);
    throw;
  }
}

void Checkpoints::write(Trainer& trainer) {
  const std::vector<io::PromisedTensor> state = promised_state(trainer);
  if (trainer.group().is_first()) {
    write_first(trainer, state);
  } else {
    for (const io::PromisedTensor& tensor : state) tensor.load();  // sends what this rank owns
  }
  // Nobody goes on before all is on the disk.
  trainer.group().any(false);
}

void Checkpoints::write_first(Trainer& trainer,
                              const std::vector<io::PromisedTensor>& optimizer_state) {
  const Progress& progress = trainer.progress();
  const std::string weights = weights_name(progress.step), state = state_name(progress.step);
  base::make_directories(files_, folder_ + "/checkpoint");
  models::write_state(files_, path(weights), trainer.model());
  io::write_promised_safetensors(files_, path(state), optimizer_state);
  if (progress.best_step == progress.step && progress.step > 0)
    models::save_model(files_, folder_, trainer.model());
  write_manifest(progress,
                 {entry_of(files_, path(weights), weights), entry_of(files_, path(state), state)});
  remove_all_but(progress.step);
}

void Checkpoints::write_manifest(const Progress& progress, io::Json::Array entries) {
  const io::Json manifest =
      io::Json::Object{{"format", "headlight-checkpoint"},
                       {"version", kVersion},
                       {"step", progress.step},
                       {"evaluated_step", progress.evaluated_step},
                       {"valid_loss", loss_json(progress.valid_loss)},
                       {"best_valid_loss", loss_json(progress.best_loss)},
                       {"best_step", progress.best_step},
                       {"evaluations_since_best", progress.evaluations_since_best},
                       {"files", std::move(entries)}};
  base::write_file(files_, path(kManifest), io::json_text(manifest) + "\n");
}

bool Checkpoints::holds_models() const {
  if (base::exists(files_, folder_ + "/model.safetensors")) return true;
  if (!base::exists(files_, folder_ + "/checkpoint")) return false;
  return !std::ranges::all_of(base::list_directory(files_, folder_ + "/checkpoint"),
                              base::is_temporary);
}

std::optional<Progress> Checkpoints::progress() const {
  const std::string manifest = path(kManifest);
  if (!base::exists(files_, manifest)) {
    if (!holds_models()) return std::nullopt;
    throw Error(
        ErrorKind::bad_input, "checkpoint", manifest,
        "is missing beside a trained model, which a new start would overwrite; put it back, "
        "or train in another folder with init " +
            folder_);
  }
  const Progress progress = progress_of(io::read_json(files_, manifest), manifest);
  if (progress.step == 0) return std::nullopt;
  return progress;
}

bool Checkpoints::restore(Trainer& trainer) {
  const bool is_first = trainer.group().is_first();
  const auto last = shared_progress(trainer.group(), is_first ? progress() : std::nullopt);
  if (!last) return false;
  if (is_first) {
    check_files(files_, path(kManifest), folder_, *last);
    const std::string weights = path(weights_name(last->step));
    const io::Safetensors numbers = io::open_safetensors(files_, weights);
    trainer.model().load_state(models::stored_state(numbers), weights);
    const io::Safetensors moments = io::open_safetensors(files_, path(state_name(last->step)));
    share_state(trainer, models::stored_state(moments));
    remove_all_but(last->step);
  } else {
    share_state(trainer, {});
  }
  trainer.set_progress(*last);
  return true;
}

// What earlier steps and interrupted writes have left.
void Checkpoints::remove_all_but(int64_t step) {
  for (const std::string& name : base::list_directory(files_, folder_)) {
    if (base::is_left_behind(name)) base::remove_file(files_, folder_ + "/" + name);
  }
  for (const std::string& name : base::list_directory(files_, folder_ + "/checkpoint")) {
    const bool is_ours = name.starts_with("model-") || name.starts_with("optimizer-");
    if (name == weights_name(step) || name == state_name(step)) continue;
    if (is_ours || base::is_left_behind(name)) base::remove_file(files_, path(name));
  }
}

}  // namespace headlight::train
