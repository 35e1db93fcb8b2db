// The settings of a training run, put together from presets, a file and what was typed; the keys
// themselves are in train_keys.cpp. And what a run folder remembers of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/io/io.h"
#include "headlight/recipes/given_values.h"

namespace headlight::recipes {

inline constexpr std::string_view kTasks[] = {"lm",      "mlm",  "translate",
                                              "numbers", "copy", "reverse"};
// Whether a task makes its data.
inline bool is_generated_task(std::string_view task) {
  return task != "lm" && task != "mlm" && task != "translate";
}

struct TrainSettings {
  std::string preset, task, arch, data, valid, source, target, tokenizer, init, encoding;
  // The model. 0 stands for "as the other keys say". What its architecture has no choice of, and
  // all that comes with the model of `init`, is left open: 0, empty or without a value.
  int64_t n_layer = 0, n_encoder_layer = 0, n_decoder_layer = 0, n_head = 0, n_kv_head = 0;
  int64_t n_embd = 0, d_ff = 0, block_size = 0, sliding_window = 0;
  double rope_theta = 0, dropout = 0;
  std::optional<bool> bias, tie_embeddings;
  std::string norm, positions, activation;
  // The steps.
  int64_t batch_size = 0, batch_tokens = 0, gradient_accumulation_steps = 1, shards = 1;
  int64_t max_iters = 0, eval_interval = 0, log_interval = 0, patience = 0;
  std::string optimizer, schedule;
  double learning_rate = 0, min_lr = 0, weight_decay = 0, beta1 = 0, beta2 = 0, grad_clip = 0;
  int64_t warmup_iters = 0, lr_decay_iters = 0;
  double label_smoothing = 0;
  int64_t seed = 0;
  // That share the work, and of these on this machine; no keys, since nothing but memory and time
  // depends on them.
  int64_t ranks = 1, ranks_here = 1;

  bool is_generated() const { return is_generated_task(task); }
};

// Keys with values, of a program that calls the library: {{"task", "copy"}, {"max_iters", "100"}}.
// Throws Error(usage) for what is no key.
GivenValues train_values(const std::vector<std::pair<std::string, std::string>>& values);

// Fills what flags and environment left open, in this order: the configuration file, what a run
// that is resumed was started with, the preset, the task's own defaults. Throws Error(usage) for
// values that no run can have, Error(bad_input) when they come from a file, and as
// check_unchanged() does of run.json in `run_path`. `shards`: where nothing else says how many.
TrainSettings read_train_settings(GivenValues values, base::FileSystem& files,
                                  const io::Json* resumed, int64_t shards = 1,
                                  const std::string& run_path = "run.json");

// All keys with their values; what run.json holds.
io::Json settings_json(const TrainSettings& settings);
// Adds to what run.json of an earlier version holds the keys that came later, with what they stand
// for there.
void add_later_keys(io::Json& run);
// Throws Error(bad_input) naming a key that may not change while a run is resumed and has. Both
// hold all keys.
void check_unchanged(const io::Json& before, const io::Json& now, const std::string& path);

}  // namespace headlight::recipes
