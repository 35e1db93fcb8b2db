// Rotary positions in config.json, in both of the ways in which they are written: rope_theta and
// rope_scaling, or all in rope_parameters. Inside models only.
#pragma once

#include "headlight/models/config_reader.h"

namespace headlight::models {

struct RotaryDefaults {
  int64_t width = 0;      // of a head
  double base = 10000;    // where the configuration names none
  int64_t positions = 0;  // max_position_embeddings: what llama3 scaling begins with if not said
  // The share of a head's columns that is rotated, and whether it may be another than this.
  double share = 1;
  bool any_share = false;
  std::string_view base_key = "rope_theta";  // at the top level
  std::string_view share_key = "partial_rotary_factor";
  // Of layers with a window, where these have a rotation of their own.
  double window_base = 0;
  std::string_view window_key = "rope_local_base_freq";
};

// One rotation for all layers. Throws Error(bad_input) for a kind of scaling that is not computed,
// for what belongs to none, and where both ways disagree.
kernels::RotaryRates read_rotary(const ConfigReader& reader, const RotaryDefaults& defaults);
// The share of a head's columns that the same configuration names.
double read_rotary_share(const ConfigReader& reader, const RotaryDefaults& defaults);
// The same where layers with a window have a rotation of their own: its base stands beside the
// other one, or rope_parameters has an entry for each kind of layers.
struct RotaryOfWindows {
  kernels::RotaryRates whole;
  kernels::RotaryRates windowed;
};
RotaryOfWindows read_rotary_of_windows(const ConfigReader& reader, const RotaryDefaults& defaults);

// Adds rope_theta, under the name that it has at the top level, and rope_scaling.
void write_rotary(io::Json::Object& config, const kernels::RotaryRates& rates,
                  std::string_view base_key = "rope_theta");
// Adds both bases under these keys and rope_scaling; or rope_parameters, where that says too
// little.
void write_rotary_of_windows(io::Json::Object& config, const kernels::RotaryRates& whole,
                             const kernels::RotaryRates& windowed, const RotaryDefaults& keys);

}  // namespace headlight::models
