// Templates in tests: rendering one, and what is said of a bad one.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "headlight/text/jinja/template.h"
#include "headlight/text/text.h"

namespace headlight::text::jinja {

inline Template::Variables variables_of(const io::Json& json) {
  Meter meter("test", {});
  Template::Variables variables;
  for (const auto& [name, value] : *json.object()) {
    variables.emplace_back(name, given_value(value, meter));
  }
  return variables;
}

inline std::tm some_day() {
  std::tm day{};
  day.tm_year = 126;
  day.tm_mon = 10;
  day.tm_mday = 18;
  day.tm_wday = 3;
  day.tm_yday = 321;
  return day;
}

inline MarkedText rendered(std::string_view source, const std::string& variables = "{}",
                           const Limits& limits = {}) {
  return Template(source, "test")
      .render(variables_of(io::parse_json(variables, "test")), some_day(), limits);
}

inline std::string text_from(std::string_view source, const std::string& variables = "{}") {
  return rendered(source, variables).bytes;
}

// What is said of a template that does not work.
inline std::string error_from(std::string_view source, const std::string& variables = "{}",
                              const Limits& limits = {}) {
  try {
    return "it gave: " + rendered(source, variables, limits).bytes;
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::bad_input);
    return error.what();
  }
}

}  // namespace headlight::text::jinja
