// Fields of a comparison.
#include "apps/server/studio/compare_order.h"

#include "apps/server/studio/fields.h"

namespace headlight::server::studio {

CompareOrder read_compare_order(const std::string& body_text) {
  BodyFields body = BodyFields::parse(body_text);
  CompareOrder order{.a = body.needed_text("a"), .b = body.needed_text("b")};
  order.a_run = body.integer("a_run", {0, INT32_MAX});
  order.b_run = body.integer("b_run", {0, INT32_MAX});
  order.tolerance = body.number("tolerance", {0, 1e30}).value_or(0);
  body.refuse_others();
  return order;
}

}  // namespace headlight::server::studio
