// Template: a Jinja template, as models publish them for conversations.
//
// The language is jinja2's as transformers sets it up: an immutable sandbox, trim_blocks,
// lstrip_blocks, {% generation %}, break and continue, tojson without HTML, raise_exception and
// strftime_now. What of it is not supported is refused by name.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/text/jinja/value.h"

namespace headlight::text::jinja {

struct Statement;

// A value, cheap to copy, that never changes: several threads may render it.
class Template {
 public:
  // Throws Error(bad_input) with the line of the mistake; `name` is for errors.
  Template(std::string_view source, std::string name);

  using Variables = std::vector<std::pair<std::string, Value>>;
  // `now` is what strftime_now tells. Throws Error(bad_input) where the template fails, raises an
  // exception or passes a limit.
  MarkedText render(const Variables& variables, const std::tm& now,
                    const Limits& limits = {}) const;

  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::shared_ptr<const std::vector<Statement>> statements_;
};

}  // namespace headlight::text::jinja
