// The one form of a template's errors.
#include "headlight/text/jinja/meter.h"

namespace headlight::text::jinja {

void refuse_template(const std::string& name, int64_t line, std::string_view why) {
  base::refuse("chat template", name + ", line " + std::to_string(line), why);
}

}  // namespace headlight::text::jinja
