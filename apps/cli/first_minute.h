// The first minute: what the program shows when nothing is asked of it.
#pragma once

#include "apps/cli/program.h"

namespace headlight::cli {

// Three sentences and a tiny model that does not know them; it learns them before one's eyes, its
// heads are drawn, and the whole walk is written as a page in the user's cache folder (or, without
// one, in a fresh folder among temporary files), which is opened where there is a desktop. Asks
// nothing, and takes a few seconds.
void run_first_minute(Session& session);

}  // namespace headlight::cli
