// Checkpoints: what a run needs to go on to the same bits, written so that a crash at any moment
// leaves the one before or the one after.
#pragma once

#include <string>

#include "headlight/train/trainer.h"

namespace headlight::train {

// In the folder of a run:
//   config.json, model.safetensors         the best model so far, as other tools read it
//   checkpoint/model-<step>.safetensors    the weights at a step
//   checkpoint/optimizer-<step>.safetensors
//   checkpoint/manifest.json               which step counts, and the sums of its files
// Files are written one by one, each whole and synced before it has its name; the manifest comes
// last, and only then the files of the step before go.
class Checkpoints {
 public:
  Checkpoints(base::FileSystem& files, std::string folder);

  // Saves where the trainer stands; when that is its best step, the best model too. Throws
  // Error(out_of_memory) when the disk is full and Error(failed); what was saved before stays.
  void save(Trainer& trainer);

  // Brings the trainer to where the last save was and returns true; false when there was none.
  // Throws Error(bad_input) when a file is missing, was changed or belongs to another model.
  bool restore(Trainer& trainer);

 private:
  std::string path(const std::string& name) const { return folder_ + "/checkpoint/" + name; }
  void write(Trainer& trainer);
  void remove_all_but(int64_t step);

  base::FileSystem& files_;
  std::string folder_;
};

}  // namespace headlight::train
