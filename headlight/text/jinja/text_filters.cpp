// Filters that take or give texts.
#include <algorithm>

#include "headlight/text/jinja/filters.h"
#include "headlight/text/jinja/letters.h"
#include "headlight/text/jinja/lexer.h"
#include "headlight/text/jinja/operators.h"
#include "headlight/text/unicode.h"

namespace headlight::text::jinja {
namespace {

// str(value), which stays safe where it was.
String string_of(const Value& value, Meter& meter) {
  if (value.string()) return *value.string();
  return {text_of(value, meter), false};
}

template <MarkedText (*Change)(const MarkedText&, Meter&)>
Value changed(Render& render, const Value& value, Given given) {
  const Bound bound(std::move(given), "the filter", {}, render.meter());
  const String string = string_of(value, render.meter());
  return Value(Change(string.text, render.meter()), string.is_safe);
}

MarkedText titled_words(const MarkedText& text, Meter& meter) { return titled(text, true, meter); }

Value trim(Render& render, const Value& value, Given given) {
  const Bound bound(std::move(given), "trim", {"chars"}, render.meter());
  const String string = string_of(value, render.meter());
  std::optional<std::string> letters;
  if (bound[0] && !bound[0]->is_none()) letters = bound.text(0, "");
  return Value(stripped(string.text, letters, {}, render.meter()), string.is_safe);
}

Value replace(Render& render, const Value& value, Given given) {
  Meter& meter = render.meter();
  const Bound bound(std::move(given), "replace", {"old", "new", "count"}, meter);
  const MarkedText old = text_of(bound.needed(0), meter);
  return Value(replaced(text_of(value, meter), old.bytes, text_of(bound.needed(1), meter),
                        bound.integer(2, -1), meter));
}

Value join(Render& render, const Value& value, Given given) {
  Meter& meter = render.meter();
  const Bound bound(std::move(given), "join", {"d", "attribute"}, meter);
  const MarkedText between = bound[0] ? text_of(*bound[0], meter) : MarkedText();
  MarkedText result;
  bool is_first = true;
  for (Value item : items_of(value, meter)) {
    if (!is_first) result.append(between);
    is_first = false;
    if (bound[1] && !bound[1]->is_none()) item = at_path(render, item, *bound[1]);
    const MarkedText text = text_of(item, meter);
    meter.make(text.bytes.size() + between.bytes.size());
    result.append(text);
  }
  return Value(std::move(result));
}

Value string(Render& render, const Value& value, Given given) {
  const Bound bound(std::move(given), "string", {}, render.meter());
  if (value.text()) return value;
  return Value(text_of(value, render.meter()));
}

Value safe(Render& render, const Value& value, Given given) {
  const Bound bound(std::move(given), "safe", {}, render.meter());
  return Value(text_of(value, render.meter()), true);
}

Value escape(Render& render, const Value& value, Given given) {
  const Bound bound(std::move(given), "escape", {}, render.meter());
  if (value.string() && value.string()->is_safe) return value;
  return Value(escaped_html(text_of(value, render.meter()), render.meter()), true);
}

Value forced_escape(Render& render, const Value& value, Given given) {
  const Bound bound(std::move(given), "forceescape", {}, render.meter());
  return Value(escaped_html(text_of(value, render.meter()), render.meter()), true);
}

Value indent(Render& render, const Value& value, Given given) {
  Meter& meter = render.meter();
  const Bound bound(std::move(given), "indent", {"width", "first", "blank"}, meter);
  if (!value.text()) meter.refuse("indent takes a text, not " + type_name(value));
  constexpr int64_t kMostWidth = 10'000;
  MarkedText space{"    "};
  if (bound[0] && bound[0]->text()) {
    space = *bound[0]->text();
  } else if (bound[0]) {
    const int64_t width = meter.up_to(kMostWidth, bound.integer(0, 4));
    space = {std::string(static_cast<size_t>(std::max<int64_t>(0, width)), ' ')};
  }
  MarkedText whole = *value.text();
  const std::vector<MarkedText> lines = lines_of(whole.append("\n"), false, meter);
  MarkedText result = bound.flag(1, false) ? space : MarkedText();
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool is_blank = lines[i].bytes.empty();
    if (i > 0) result.append("\n");
    if (i > 0 && (!is_blank || bound.flag(2, false))) result.append(space);
    meter.make(space.bytes.size() + lines[i].bytes.size());
    result.append(lines[i]);
  }
  return Value(std::move(result), value.string()->is_safe);
}

Value center(Render& render, const Value& value, Given given) {
  constexpr int64_t kMostWidth = 1'000'000;
  Meter& meter = render.meter();
  const Bound bound(std::move(given), "center", {"width"}, meter);
  const String text = string_of(value, meter);
  const int64_t width = meter.up_to(kMostWidth, bound.integer(0, 80));
  const int64_t room = std::max<int64_t>(0, width - length_of(Value(text.text), meter));
  // As Python shares what is odd.
  const int64_t left = room / 2 + (room & width & 1);
  meter.make(static_cast<size_t>(room));
  MarkedText result{std::string(static_cast<size_t>(left), ' ')};
  result.append(text.text).append(std::string(static_cast<size_t>(room - left), ' '));
  return Value(std::move(result), text.is_safe);
}

Value word_count(Render& render, const Value& value, Given given) {
  const Bound bound(std::move(given), "wordcount", {}, render.meter());
  const MarkedText text = text_of(value, render.meter());
  int64_t count = 0;
  bool is_inside = false;
  for (size_t at = 0; at < text.bytes.size();) {
    const CodePoint letter = code_point_at(text.bytes, at);
    const bool is_part = is_word(letter.value);
    if (is_part && !is_inside) ++count;
    is_inside = is_part;
    at += letter.length;
  }
  return Value(count);
}

Value format(Render& render, const Value& value, Given given) {
  if (!given.named.empty()) render.meter().refuse("format with names is not supported");
  return Value(formatted_percent(text_of(value, render.meter()), given.positional, render.meter()));
}

// A list or tuple of two texts.
void read_separators(const Value& value, JsonStyle& style, Meter& meter) {
  const Values two = items_of(value, meter);
  if (two.size() != 2 || !two[0].text() || !two[1].text()) {
    meter.refuse("tojson: separators are two texts");
  }
  style.between = *two[0].text();
  style.after_key = *two[1].text();
}

Value to_json(Render& render, const Value& value, Given given) {
  constexpr int64_t kMostIndent = 100;
  Meter& meter = render.meter();
  const Bound bound(std::move(given), "tojson",
                    {"ensure_ascii", "indent", "separators", "sort_keys"}, meter);
  JsonStyle style{.ascii = bound.flag(0, false), .sorts_keys = bound.flag(3, false)};
  if (bound[1] && !bound[1]->is_none()) {
    style.has_indent = true;
    style.between = {","};
    if (const MarkedText* text = bound[1]->text()) {
      meter.up_to(kMostIndent, static_cast<int64_t>(text->bytes.size()));
      style.indent = text->bytes;
    } else {
      const int64_t width = meter.up_to(kMostIndent, bound.integer(1, 0));
      style.indent.assign(static_cast<size_t>(std::max<int64_t>(0, width)), ' ');
    }
  }
  if (bound[2] && !bound[2]->is_none()) read_separators(*bound[2], style, meter);
  return Value(json_text(value, style, meter));
}

}  // namespace

const Filters& text_filters() {
  static const Filters table = {
      {"upper", changed<upper_text>},
      {"lower", changed<lower_text>},
      {"title", changed<titled_words>},
      {"capitalize", changed<capitalized>},
      {"trim", trim},
      {"replace", replace},
      {"join", join},
      {"string", string},
      {"safe", safe},
      {"e", escape},
      {"escape", escape},
      {"forceescape", forced_escape},
      {"indent", indent},
      {"center", center},
      {"wordcount", word_count},
      {"format", format},
      {"tojson", to_json},
  };
  return table;
}

}  // namespace headlight::text::jinja
