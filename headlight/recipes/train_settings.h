// The settings of a training run, put together from presets, a file and what was typed; the keys
// themselves are in train_keys.cpp. And what a run folder remembers of them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/io/io.h"
#include "headlight/recipes/given_values.h"

namespace headlight::recipes {

inline constexpr std::string_view kTasks[] = {"lm", "translate", "numbers", "copy", "reverse"};
// Whether a task makes its data.
inline bool is_generated_task(std::string_view task) { return task != "lm" && task != "translate"; }

struct TrainSettings {
  std::string preset, task, data, valid, source, target, tokenizer, init, encoding;
  // The model. 0 stands for "as the other keys say".
  int64_t n_layer = 0, n_encoder_layer = 0, n_decoder_layer = 0, n_head = 0, n_embd = 0, d_ff = 0;
  int64_t block_size = 0;
  double dropout = 0;
  bool bias = true, tie_embeddings = true;
  std::string norm, positions, activation;
  // The steps.
  int64_t batch_size = 0, batch_tokens = 0, gradient_accumulation_steps = 1;
  int64_t max_iters = 0, eval_interval = 0, log_interval = 0, patience = 0;
  std::string optimizer, schedule;
  double learning_rate = 0, min_lr = 0, weight_decay = 0, beta1 = 0, beta2 = 0, grad_clip = 0;
  int64_t warmup_iters = 0, lr_decay_iters = 0;
  double label_smoothing = 0;
  int64_t seed = 0;

  bool is_generated() const { return is_generated_task(task); }
};

// Keys with values, of a program that calls the library: {{"task", "copy"}, {"max_iters", "100"}}.
// Throws Error(usage) for what is no key.
GivenValues train_values(const std::vector<std::pair<std::string, std::string>>& values);

// Fills what flags and environment left open, in this order: the configuration file, what a run
// that is resumed was started with, the preset, the task's own defaults. Throws Error(usage) for
// values that no run can have, Error(bad_input) when they come from a file.
TrainSettings read_train_settings(GivenValues values, base::FileSystem& files,
                                  const io::Json* resumed);

// All keys with their values; what run.json holds.
io::Json settings_json(const TrainSettings& settings);
// Throws Error(bad_input) naming a key that may not change while a run is resumed and has. Both
// hold all keys.
void check_unchanged(const io::Json& before, const io::Json& now, const std::string& path);

}  // namespace headlight::recipes
