// Checkpoints: what a run needs to go on to the same bits, written so that a crash at any moment
// leaves the one before or the one after.
#pragma once

#include <optional>
#include <string>

#include "headlight/train/trainer.h"

namespace headlight::train {

// In the folder of a run:
//   config.json, model.safetensors         the best model so far, as other tools read it
//   checkpoint/model-<step>.safetensors    the weights at a step
//   checkpoint/optimizer-<step>.safetensors
//   checkpoint/manifest.json               which step counts, and the sums of its files
// Files are written one by one, each whole and synced before it has its name; the manifest comes
// last, and only then the files of the step before go. Before the first save the manifest says that
// there is none: a folder of models without a manifest has lost it. Of several ranks the first
// reads and writes, whatever the others own goes through it; files do not tell how many there were.
class Checkpoints {
 public:
  Checkpoints(base::FileSystem& files, std::string folder);

  // For a run that starts. Throws as save() does.
  void begin();

  // Where the last save was; nothing when there was none. Throws Error(bad_input) for a manifest
  // that is wrong, or missing beside what was saved: starting anew would overwrite it.
  std::optional<Progress> progress() const;

  // Saves where the trainer stands; when that is its best step, the best model too. Throws
  // Error(out_of_memory) when the disk is full and Error(failed); what was saved before stays.
  void save(Trainer& trainer);

  // Brings the trainer to where the last save was and returns true; false when there was none.
  // Throws Error(bad_input) when a file is missing, was changed or belongs to another model.
  bool restore(Trainer& trainer);

 private:
  std::string path(const std::string& name) const { return folder_ + "/checkpoint/" + name; }
  bool holds_models() const;
  void write(Trainer& trainer);
  void write_first(Trainer& trainer, const std::vector<io::PromisedTensor>& optimizer_state);
  void write_manifest(const Progress& progress, io::Json::Array entries);
  void remove_all_but(int64_t step);

  base::FileSystem& files_;
  std::string folder_;
};

}  // namespace headlight::train
