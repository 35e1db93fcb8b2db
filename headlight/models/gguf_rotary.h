// Rotary positions in GGUF files: settings under "rope.", and factors in a tensor. Inside models
// only.
#pragma once

#include "headlight/models/gguf_settings_reader.h"

namespace headlight::models {

// The tensor that divides the rate of each pair of columns; it is no parameter.
inline constexpr std::string_view kRotaryFactors = "rope_freqs.weight";

// Adds rope_theta and rope_scaling of models that rotate all columns of a head. Factors become the
// llama3 scaling that makes them; others are refused, and so is other scaling than a linear one.
void add_rotation(const GgufSettingsReader& settings, int64_t head_dim, io::Json::Object& config);
// The same where a share of a head's columns is rotated and nothing scaled: rotary_pct and
// rotary_emb_base.
void add_partial_rotation(const GgufSettingsReader& settings, int64_t head_dim,
                          io::Json::Object& config);
// Throws where all columns of a head are not rotated.
void check_rotated_columns(const GgufSettingsReader& settings, int64_t head_dim);
void refuse_rotary_scaling(const GgufSettingsReader& settings);

}  // namespace headlight::models
