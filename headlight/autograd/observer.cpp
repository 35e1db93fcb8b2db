// Asking an observer or an intervention before any work is done for it.
#include "headlight/autograd/observer.h"

#include <cstring>

#include "headlight/autograd/checks.h"
#include "headlight/autograd/context.h"
#include "headlight/autograd/report.h"

namespace headlight::autograd {

RowRange Observer::rows(std::string_view /*place*/, int64_t queries) { return {0, queries}; }

void Observer::report(const Report& /*report*/) {}

void Observer::name(std::string_view /*place*/, const Value& /*value*/) {}

tensor::Tensor copy_of(Context& context, const tensor::Tensor& x) {
  const tensor::Tensor adjacent = x.contiguous(context.arena);
  auto copy = tensor::Tensor::uninitialized(context.arena, x.dtype(), x.shape());
  std::memcpy(copy.mutable_raw(), adjacent.raw(), adjacent.bytes());
  return copy;
}

std::string place_name(std::string_view prefix, std::string_view name) {
  std::string place(prefix);
  if (!place.empty()) place += '.';
  return place += name;
}

void observe(Context& context, std::string_view prefix, std::string_view name,
             const tensor::Tensor& values) {
  if (context.observer == nullptr) return;
  const std::string place = place_name(prefix, name);
  if (context.observer->wants(place)) {
    context.observer->see(place, values.contiguous(context.arena));
  }
}

void observe(Context& context, std::string_view prefix, std::string_view name, const Value& value) {
  observe(context, prefix, name, value.data());
  name_value(context, prefix, name, value);
}

void name_value(Context& context, std::string_view prefix, std::string_view name,
                const Value& value) {
  if (listening(context)) context.observer->name(place_name(prefix, name), value);
}

bool watched(const Context& context, std::string_view prefix, std::string_view name) {
  return context.observer != nullptr &&
         (context.observer->listens() || context.observer->wants(place_name(prefix, name)));
}

Value intervene(Context& context, std::string_view prefix, std::string_view name,
                const Value& value) {
  if (context.intervention == nullptr) return value;
  const std::string place = place_name(prefix, name);
  if (!context.intervention->changes(place)) return value;
  tensor::Tensor changed = copy_of(context, value.data());
  context.intervention->change(place, changed);
  check_same_shape("intervention", place, changed, "the original", value.data());
  Value result = value.with_data(changed);
  report(context, [&] {
    return Report{.operation = "intervention",
                  .place = place,
                  .inputs = {{"input", value}},
                  .outputs = {{"output", result}}};
  });
  return result;
}

}  // namespace headlight::autograd
