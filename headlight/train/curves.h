// The curves of a run as a picture.
#pragma once

#include <string>
#include <vector>

#include "headlight/train/run_log.h"

namespace headlight::train {

// An SVG document: losses over steps, training as a line, validation as a line with dots.
std::string curves_svg(const std::vector<LogPoint>& training,
                       const std::vector<LogPoint>& validation);

}  // namespace headlight::train
