// Files of other formats that are often given by mistake. For io's own use.
#pragma once

#include <string>

#include "headlight/base/base.h"

namespace headlight::io {

// "it is a zip archive …" with the way out; empty when the file's first bytes tell nothing.
std::string foreign_format(const base::Input& input);

}  // namespace headlight::io
