// The configuration that the settings of a GGUF file amount to, as config.json would have it.
// Inside models only.
#pragma once

#include "headlight/models/gguf_settings_reader.h"

namespace headlight::models {

// Throws Error(bad_input) for an architecture that is not read, and for a setting that would change
// the numbers and is not computed, by its key. What a file leaves unsaid is as llama.cpp takes it.
io::Json gguf_config(const GgufSettingsReader& settings);

}  // namespace headlight::models
