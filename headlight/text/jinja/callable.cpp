// Arguments to parameters.
#include "headlight/text/jinja/callable.h"

#include <algorithm>

namespace headlight::text::jinja {

Bound::Bound(Given given, std::string callee, std::initializer_list<std::string_view> parameters,
             Meter& meter)
    : callee_(std::move(callee)),
      parameters_(parameters),
      values_(parameters.size()),
      has_(parameters.size()),
      meter_(meter) {
  if (given.positional.size() > parameters_.size()) {
    meter.refuse(callee_ + " takes at most " + std::to_string(parameters_.size()) +
                 " arguments, it is given " + std::to_string(given.positional.size()));
  }
  for (size_t i = 0; i < given.positional.size(); ++i) {
    values_[i] = std::move(given.positional[i]);
    has_[i] = true;
  }
  for (auto& [name, value] : given.named) {
    const auto found = std::ranges::find(parameters_, name);
    const auto index = static_cast<size_t>(found - parameters_.begin());
    if (found == parameters_.end() || has_[index]) {
      meter.refuse(callee_ + " takes no argument " + io::in_quotes(name) +
                   (found == parameters_.end() ? "" : " a second time"));
    }
    values_[index] = std::move(value);
    has_[index] = true;
  }
}

const Value& Bound::needed(size_t index) const {
  if (!has_[index]) {
    meter_.refuse(callee_ + " needs the argument " + std::string(parameters_[index]));
  }
  return values_[index];
}

int64_t Bound::integer(size_t index, int64_t otherwise) const {
  if (!has_[index] || values_[index].is_none()) return otherwise;
  if (!values_[index].is_whole()) {
    meter_.refuse(callee_ + ": " + std::string(parameters_[index]) + " is " +
                  type_name(values_[index]) + ", not a whole number");
  }
  return values_[index].whole();
}

const MarkedText& Bound::marked(size_t index) const {
  const Value& value = needed(index);
  if (const Absence* absence = value.absence()) meter_.refuse(absence->why);
  if (!value.text()) {
    meter_.refuse(callee_ + ": " + std::string(parameters_[index]) + " is " + type_name(value) +
                  ", not a text");
  }
  return *value.text();
}

std::string Bound::text(size_t index, std::string_view otherwise) const {
  return has_[index] && !values_[index].is_none() ? marked(index).bytes : std::string(otherwise);
}

}  // namespace headlight::text::jinja
