// What the body of POST /api/compare asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace headlight::server::studio {

// Two runs of traces.
struct CompareOrder {
  std::string a = {}, b = {};
  std::optional<int64_t> a_run = {}, b_run = {};
  double tolerance = 0;
};

// Throws HttpError 400 that names the field.
CompareOrder read_compare_order(const std::string& body);

}  // namespace headlight::server::studio
