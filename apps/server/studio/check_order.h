// What the body of POST /api/check asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace headlight::server::studio {

// What is checked: an exercise of a lesson, or any cell of a trace.
struct CheckOrder {
  std::string lesson = {};
  uint64_t seed = 1;
  int64_t exercise = 0;
  std::string trace = {};
  std::optional<int64_t> run = {};
  std::string cell = {};
  std::string answer = {};
};

// Throws HttpError 400 that names the field.
CheckOrder read_check_order(const std::string& body);

}  // namespace headlight::server::studio
