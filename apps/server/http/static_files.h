// Files of the page as routes: compressed for those who take it, and only once.
#pragma once

#include "apps/server/http/options.h"
#include "apps/server/http/router.h"

namespace headlight::server {

// GET routes for each; they need no key, since they hold nothing of anybody.
void add_static_files(Router& router, const std::vector<StaticFile>& files);

// Whether an Accept-Encoding header takes gzip.
bool takes_gzip(std::string_view accept_encoding);

}  // namespace headlight::server
