// The terminal behind standard output.
#pragma once

#include "headlight/narrate/narrate.h"

namespace headlight::cli {

// 80 columns where standard output is no terminal or does not say; colours only on a terminal that
// has them, and not with NO_COLOR.
narrate::TextStyle style_of_output();

}  // namespace headlight::cli
