// Parsing once, rendering as often as one likes.
#include "headlight/text/jinja/template.h"

#include "headlight/text/jinja/parser.h"
#include "headlight/text/jinja/render.h"

namespace headlight::text::jinja {

Template::Template(std::string_view source, std::string name)
    : name_(std::move(name)),
      statements_(std::make_shared<const Statements>(parse_template(source, name_))) {}

MarkedText Template::render(const Variables& variables, const std::tm& now,
                            const Limits& limits) const {
  Meter meter(name_, limits);
  return Render(meter, variables, now).run(*statements_);
}

}  // namespace headlight::text::jinja
