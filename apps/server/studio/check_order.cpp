// Fields of an answer.
#include "apps/server/studio/check_order.h"

#include "apps/server/studio/fields.h"

namespace headlight::server::studio {

CheckOrder read_check_order(const std::string& body_text) {
  constexpr int64_t kMostExercises = 1000;
  BodyFields body = BodyFields::parse(body_text);
  CheckOrder order;
  body.exclude("lesson", "trace");
  order.answer = body.needed_text("answer", {0, 10'000});
  if (body.has("trace")) {
    order.trace = body.needed_text("trace");
    order.run = body.integer("run", {0, INT32_MAX});
    order.cell = body.needed_text("cell", {1, 1000});
  } else {
    order.lesson = body.needed_text("lesson");
    order.seed = static_cast<uint64_t>(body.integer("seed", kAnySeed).value_or(1));
    const auto exercise = body.integer("exercise", {0, kMostExercises});
    if (!exercise) body.refuse("exercise", "is missing");
    order.exercise = *exercise;
  }
  body.refuse_others();
  return order;
}

}  // namespace headlight::server::studio
