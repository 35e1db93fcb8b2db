// Options of `headlight explain`: what they say, decided from the command line alone.
#pragma once

#include <optional>
#include <string>

#include "apps/cli/program/program.h"
#include "headlight/narrate/narrate.h"

namespace headlight::cli {

struct ExplainOptions {
  narrate::ExplainRequest request;
  std::optional<std::string> out;
};

extern const std::span<const Option> kExplainOptions;
ExplainOptions read_explain_options(const Session& session);

}  // namespace headlight::cli
