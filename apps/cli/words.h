// Words of the command line.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/base.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {

using base::nearest;

using recipes::in_small_letters;
using recipes::split_words;

}  // namespace headlight::cli
