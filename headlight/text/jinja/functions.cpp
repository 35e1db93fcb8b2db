// Functions that templates find: range, dict, namespace, raise_exception, strftime_now.
#include <algorithm>
#include <array>
#include <ctime>

#include "headlight/text/jinja/library.h"

namespace headlight::text::jinja {
namespace {

constexpr std::array<std::string_view, 5> kFunctions = {"range", "dict", "namespace",
                                                        "raise_exception", "strftime_now"};
constexpr std::array<std::string_view, 3> kUnsupported = {"lipsum", "cycler", "joiner"};

Value range(Given given, Meter& meter) {
  constexpr int64_t kMost = 100'000;  // as jinja's sandbox has it
  Bound bound(std::move(given), "range", {"start", "stop", "step"}, meter);
  bound.needed(0);
  const int64_t first = bound.integer(0, 0);
  const bool has_begin = bound[1] != nullptr;
  const int64_t begin = has_begin ? first : 0;
  const int64_t end = has_begin ? bound.integer(1, 0) : first;
  const int64_t step = bound.integer(2, 1);
  if (step == 0) meter.refuse("range: the step is 0");
  Values numbers;
  for (int64_t at = begin; step > 0 ? at < end : at > end;) {
    if (static_cast<int64_t>(numbers.size()) == kMost) {
      meter.refuse("range: more than " + std::to_string(kMost) + " numbers");
    }
    numbers.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return make_sequence(SequenceKind::range, std::move(numbers), meter);
}

Value dict(Given given, Meter& meter) {
  std::vector<std::pair<Value, Value>> members;
  const auto set = [&](const Value& key, const Value& value) {
    check_key(key, meter);
    for (auto& [known, old] : members) {
      if (!equal(known, key, meter)) continue;
      old = value;
      return;
    }
    members.emplace_back(key, value);
  };
  if (given.positional.size() > 1) meter.refuse("dict takes at most 1 argument by place");
  for (const Value& value : given.positional) {
    if (value.dict()) {
      members = value.dict()->members;
      continue;
    }
    for (const Value& pair : items_of(value, meter)) {
      const Values two = items_of(pair, meter);
      if (two.size() != 2) meter.refuse("dict takes pairs of a key and a value");
      set(two[0], two[1]);
    }
  }
  for (const auto& [name, value] : given.named) set(Value(name), value);
  return make_dict(std::move(members), meter);
}

Value date(Render& render, Given given) {
  constexpr size_t kMost = 1024;
  const Bound bound(std::move(given), "strftime_now", {"format"}, render.meter());
  const MarkedText& form = bound.marked(0);
  // As Python has them of a time without a zone.
  std::string format;
  for (size_t at = 0; at < form.bytes.size(); ++at) {
    const std::string_view rest = std::string_view(form.bytes).substr(at);
    if (rest.starts_with("%%")) {
      format += "%%";
      ++at;
    } else if (rest.starts_with("%f")) {
      format += "000000";
      ++at;
    } else if (rest.starts_with("%z") || rest.starts_with("%Z")) {
      ++at;
    } else {
      format += rest[0];
    }
  }
  if (format.size() > kMost || format.find('\0') != std::string::npos) {
    render.meter().refuse("strftime_now: the format is too long, or has a NUL");
  }
  std::string text(4 * kMost, '\0');
  // A letter more, so that an empty date is not an error.
  const std::tm now = render.now();
  const size_t length = std::strftime(text.data(), text.size(), (format + ".").c_str(), &now);
  if (length == 0) render.meter().refuse("strftime_now: the date is too long");
  text.resize(length - 1);
  if (io::valid_utf8_length(text) != text.size()) {
    render.meter().refuse("strftime_now: the format cuts a letter");
  }
  MarkedText result;
  result.append(text, form.has_given(0, form.bytes.size()));
  return Value(std::move(result));
}

}  // namespace

bool has_function(std::string_view name) {
  return std::ranges::find(kFunctions, name) != kFunctions.end() ||
         std::ranges::find(kUnsupported, name) != kUnsupported.end();
}

Value call_function(Render& render, const std::string& name, Given given) {
  Meter& meter = render.meter();
  if (name == "range") return range(std::move(given), meter);
  if (name == "dict") return dict(std::move(given), meter);
  if (name == "namespace") return render.make_namespace(std::move(given));
  if (name == "strftime_now") return date(render, std::move(given));
  if (name == "raise_exception") {
    const Bound bound(std::move(given), name, {"message"}, meter);
    meter.refuse("says: " + text_of(bound.needed(0), meter).bytes);
  }
  meter.refuse("the function " + name + " is not supported");
}

}  // namespace headlight::text::jinja
