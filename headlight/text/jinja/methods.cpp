// Methods of texts, lists, dicts and loops.
#include <algorithm>
#include <map>
#include <set>

#include "headlight/text/jinja/formatting.h"
#include "headlight/text/jinja/letters.h"
#include "headlight/text/jinja/lexer.h"
#include "headlight/text/jinja/library.h"
#include "headlight/text/jinja/operators.h"
#include "headlight/text/jinja/text_search.h"
#include "headlight/text/unicode.h"

namespace headlight::text::jinja {
namespace {

using Names = std::set<std::string_view>;

// What Python's str, list, dict and numbers have: these names are never members of a dict.
const Names& string_methods() {
  static const Names names = {
      "capitalize",   "casefold",    "center",    "count",      "encode",       "endswith",
      "expandtabs",   "find",        "format",    "format_map", "index",        "isalnum",
      "isalpha",      "isascii",     "isdecimal", "isdigit",    "isidentifier", "islower",
      "isnumeric",    "isprintable", "isspace",   "istitle",    "isupper",      "join",
      "ljust",        "lower",       "lstrip",    "maketrans",  "partition",    "removeprefix",
      "removesuffix", "replace",     "rfind",     "rindex",     "rjust",        "rpartition",
      "rsplit",       "rstrip",      "split",     "splitlines", "startswith",   "strip",
      "swapcase",     "title",       "translate", "upper",      "zfill"};
  return names;
}

const Names& dict_methods() {
  static const Names names = {"get",   "items", "keys",       "values", "copy",   "fromkeys",
                              "clear", "pop",   "setdefault", "update", "popitem"};
  return names;
}

const Names& number_attributes() {
  static const Names names = {"real",       "imag",       "numerator", "denominator",
                              "conjugate",  "bit_count",  "to_bytes",  "as_integer_ratio",
                              "bit_length", "from_bytes", "hex",       "fromhex",
                              "is_integer"};
  return names;
}

// A receiver and its arguments.
struct MethodCall {
  const MarkedText& text;
  bool is_safe;
  const std::string& name;
  Meter& meter;

  Value made(MarkedText result) const { return Value(std::move(result), is_safe); }
  Value list_of(const std::vector<MarkedText>& pieces) const {
    Values items;
    for (const MarkedText& piece : pieces) items.push_back(made(piece));
    return make_sequence(SequenceKind::list, std::move(items), meter);
  }
};

using StringMethod = Value (*)(const MethodCall&, Given);

template <MarkedText (*Change)(const MarkedText&, Meter&)>
Value changed(const MethodCall& call, Given given) {
  const Bound bound(std::move(given), call.name, {}, call.meter);
  return call.made(Change(call.text, call.meter));
}

MarkedText titled_letters(const MarkedText& text, Meter& meter) {
  return titled(text, false, meter);
}

template <bool Left, bool Right>
Value strip(const MethodCall& call, Given given) {
  const Bound bound(std::move(given), call.name, {"chars"}, call.meter);
  std::optional<std::string> letters;
  if (bound[0] && !bound[0]->is_none()) letters = bound.marked(0).bytes;
  return call.made(stripped(call.text, letters, {.left = Left, .right = Right}, call.meter));
}

template <bool FromRight>
Value split(const MethodCall& call, Given given) {
  const Bound bound(std::move(given), call.name, {"sep", "maxsplit"}, call.meter);
  Cuts cuts{.most = bound.integer(1, -1), .from_right = FromRight};
  if (bound[0] && !bound[0]->is_none()) cuts.separator = bound.marked(0).bytes;
  return call.list_of(split_text(call.text, cuts, call.meter));
}

Value split_lines(const MethodCall& call, Given given) {
  const Bound bound(std::move(given), call.name, {"keepends"}, call.meter);
  return call.list_of(lines_of(call.text, bound.flag(0, false), call.meter));
}

template <bool FromRight>
constexpr TextSearch::Direction direction() {
  return FromRight ? TextSearch::Direction::from_right : TextSearch::Direction::from_left;
}

template <bool FromRight>
Value partition(const MethodCall& call, Given given) {
  const Bound bound(std::move(given), call.name, {"sep"}, call.meter);
  const std::string& separator = bound.marked(0).bytes;
  if (separator.empty()) call.meter.refuse(call.name + ": the separator is empty");
  const std::string& bytes = call.text.bytes;
  call.meter.make(bytes.size());
  const size_t at = TextSearch(separator, direction<FromRight>(), call.meter).find(bytes);
  Values parts;
  if (at == std::string::npos) {
    parts = {Value(""), Value("")};
    parts.insert(FromRight ? parts.end() : parts.begin(), call.made(call.text));
  } else {
    const size_t end = at + separator.size();
    parts = {call.made(call.text.slice(0, at)), call.made(call.text.slice(at, end)),
             call.made(call.text.slice(end, bytes.size()))};
  }
  return make_sequence(SequenceKind::tuple, std::move(parts), call.meter);
}

// The part between the letters `start` and `end`, where they are given.
std::string_view part_of(const MethodCall& call, const Bound& bound, Value& kept) {
  if (!bound[1] && !bound[2]) return call.text.bytes;
  Bounds bounds;
  if (bound[1]) bounds.begin = *bound[1];
  if (bound[2]) bounds.end = *bound[2];
  kept = sliced(Value(call.text), bounds, call.meter);
  return kept.text()->bytes;
}

template <bool AtEnd>
Value has_side(const MethodCall& call, Given given) {
  const Bound bound(std::move(given), call.name, {"side", "start", "end"}, call.meter);
  Value kept;
  const std::string_view part = part_of(call, bound, kept);
  const auto matches = [&](const Value& side) {
    if (const Absence* absence = side.absence()) call.meter.refuse(absence->why);
    if (!side.text()) call.meter.refuse(call.name + " takes a text, not " + type_name(side));
    const std::string& bytes = side.text()->bytes;
    call.meter.read(bytes.size());
    return AtEnd ? part.ends_with(bytes) : part.starts_with(bytes);
  };
  const Value& side = bound.needed(0);
  if (!side.is_sequence(SequenceKind::tuple)) return Value(matches(side));
  return Value(std::ranges::any_of(side.sequence()->items, matches));
}

template <bool FromRight, bool IsNeeded>
Value find_text(const MethodCall& call, Given given) {
  const Bound bound(std::move(given), call.name, {"sub"}, call.meter);
  call.meter.read(call.text.bytes.size());
  const std::string& sought = bound.marked(0).bytes;
  const size_t at = TextSearch(sought, direction<FromRight>(), call.meter).find(call.text.bytes);
  if (at != std::string::npos) return Value(letters_before(call.text.bytes, at));
  if (IsNeeded) call.meter.refuse(call.name + ": the text is not found");
  return Value(int64_t{-1});
}

Value count_text(const MethodCall& call, Given given) {
  const Bound bound(std::move(given), call.name, {"sub"}, call.meter);
  const std::string& sought = bound.marked(0).bytes;
  call.meter.read(call.text.bytes.size());
  if (sought.empty()) return Value(letters_before(call.text.bytes, call.text.bytes.size()) + 1);
  const TextSearch search(sought, TextSearch::Direction::from_left, call.meter);
  std::string_view rest = call.text.bytes;
  int64_t count = 0;
  for (size_t at = search.find(rest); at != std::string::npos; at = search.find(rest)) {
    rest.remove_prefix(at + sought.size());
    ++count;
  }
  return Value(count);
}

Value replace(const MethodCall& call, Given given) {
  const Bound bound(std::move(given), call.name, {"old", "new", "count"}, call.meter);
  const MarkedText& with = bound.marked(1);
  return call.made(replaced(call.text, bound.marked(0).bytes,
                            call.is_safe ? escaped_html(with, call.meter) : with,
                            bound.integer(2, -1), call.meter));
}

Value join(const MethodCall& call, Given given) {
  const Bound bound(std::move(given), call.name, {"iterable"}, call.meter);
  MarkedText result;
  bool is_first = true;
  for (const Value& item : items_of(bound.needed(0), call.meter)) {
    if (!item.text()) call.meter.refuse("join joins texts, not " + type_name(item));
    if (!is_first) result.append(call.text);
    is_first = false;
    call.meter.make(call.text.bytes.size() + item.text()->bytes.size());
    const bool is_plain = call.is_safe && !item.string()->is_safe;
    result.append(is_plain ? escaped_html(*item.text(), call.meter) : *item.text());
  }
  return call.made(std::move(result));
}

template <bool AtEnd>
Value remove_side(const MethodCall& call, Given given) {
  const Bound bound(std::move(given), call.name, {"side"}, call.meter);
  const std::string& side = bound.marked(0).bytes;
  const std::string& bytes = call.text.bytes;
  call.meter.make(bytes.size());
  if (AtEnd && bytes.ends_with(side)) {
    return call.made(call.text.slice(0, bytes.size() - side.size()));
  }
  if (!AtEnd && bytes.starts_with(side)) {
    return call.made(call.text.slice(side.size(), bytes.size()));
  }
  return call.made(call.text);
}

enum class Side { left, center, right };

template <Side Where>
Value justify(const MethodCall& call, Given given) {
  constexpr int64_t kMostWidth = 1'000'000;
  const Bound bound(std::move(given), call.name, {"width", "fillchar"}, call.meter);
  bound.needed(0);
  const int64_t width = call.meter.up_to(kMostWidth, bound.integer(0, 0));
  const MarkedText fill = bound[1] ? bound.marked(1) : MarkedText{" "};
  call.meter.make(fill.bytes.size() + call.text.bytes.size());
  if (letters_before(fill.bytes, fill.bytes.size()) != 1) {
    call.meter.refuse(call.name + ": the fill is not one letter");
  }
  const int64_t room = width - letters_before(call.text.bytes, call.text.bytes.size());
  if (room <= 0) return call.made(call.text);
  call.meter.make(static_cast<size_t>(room) * fill.bytes.size() + call.text.bytes.size());
  const int64_t left = Where == Side::left    ? 0
                       : Where == Side::right ? room
                                              : room / 2 + (room & width & 1);
  MarkedText result;
  for (int64_t i = 0; i < left; ++i) result.append(fill);
  result.append(call.text);
  for (int64_t i = left; i < room; ++i) result.append(fill);
  return call.made(std::move(result));
}

Value fill_zeros(const MethodCall& call, Given given) {
  constexpr int64_t kMostWidth = 1'000'000;
  const Bound bound(std::move(given), call.name, {"width"}, call.meter);
  bound.needed(0);
  const int64_t width = call.meter.up_to(kMostWidth, bound.integer(0, 0));
  call.meter.make(call.text.bytes.size());
  const int64_t room = width - letters_before(call.text.bytes, call.text.bytes.size());
  if (room <= 0) return call.made(call.text);
  call.meter.make(static_cast<size_t>(room) + call.text.bytes.size());
  const bool has_sign = call.text.bytes.starts_with('-') || call.text.bytes.starts_with('+');
  MarkedText result = call.text.slice(0, has_sign ? 1 : 0);
  result.append(std::string(static_cast<size_t>(room), '0'));
  return call.made(result.append(call.text.slice(has_sign ? 1 : 0, call.text.bytes.size())));
}

template <bool (*Check)(char32_t)>
Value all_are(const MethodCall& call, Given given) {
  const Bound bound(std::move(given), call.name, {}, call.meter);
  call.meter.read(call.text.bytes.size());
  return Value(all_letters(call.text.bytes, Check));
}

bool is_decimal(char32_t letter) { return letter >= '0' && letter <= '9'; }
bool is_letter_or_number(char32_t letter) { return is_letter(letter) || is_number(letter); }

template <bool (*Check)(std::string_view)>
Value whole_is(const MethodCall& call, Given given) {
  const Bound bound(std::move(given), call.name, {}, call.meter);
  call.meter.read(call.text.bytes.size());
  return Value(Check(call.text.bytes));
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char byte) { return static_cast<unsigned char>(byte) < 128; });
}

// isdigit() and its like tell numbers of other scripts apart in ways that nobody asks for here.
bool has_other_numbers(std::string_view text) {
  return !all_letters(text, [](char32_t letter) { return letter < 128 || !is_number(letter); }) &&
         !text.empty();
}

Value is_digits(const MethodCall& call, Given given) {
  if (has_other_numbers(call.text.bytes)) {
    call.meter.refuse(call.name + " of numbers that are not 0 to 9 is not supported");
  }
  return all_are<is_decimal>(call, std::move(given));
}

Value format(const MethodCall& call, Given given) {
  if (call.is_safe) call.meter.refuse("format of a safe text is not supported");
  return Value(formatted_braces(call.text, given, call.meter));
}

const std::map<std::string_view, StringMethod>& string_table() {
  static const std::map<std::string_view, StringMethod> table = {
      {"upper", changed<upper_text>},
      {"lower", changed<lower_text>},
      {"title", changed<titled_letters>},
      {"capitalize", changed<capitalized>},
      {"strip", strip<true, true>},
      {"lstrip", strip<true, false>},
      {"rstrip", strip<false, true>},
      {"split", split<false>},
      {"rsplit", split<true>},
      {"splitlines", split_lines},
      {"partition", partition<false>},
      {"rpartition", partition<true>},
      {"startswith", has_side<false>},
      {"endswith", has_side<true>},
      {"find", find_text<false, false>},
      {"rfind", find_text<true, false>},
      {"index", find_text<false, true>},
      {"rindex", find_text<true, true>},
      {"count", count_text},
      {"replace", replace},
      {"join", join},
      {"removeprefix", remove_side<false>},
      {"removesuffix", remove_side<true>},
      {"ljust", justify<Side::left>},
      {"rjust", justify<Side::right>},
      {"center", justify<Side::center>},
      {"zfill", fill_zeros},
      {"isspace", all_are<is_python_space>},
      {"isalpha", all_are<is_letter>},
      {"isalnum", all_are<is_letter_or_number>},
      {"isdigit", is_digits},
      {"isdecimal", is_digits},
      {"isnumeric", is_digits},
      {"isascii", whole_is<is_ascii>},
      {"islower", whole_is<is_lower_text>},
      {"isupper", whole_is<is_upper_text>},
      {"format", format},
  };
  return table;
}

Value call_string_method(Render& render, const String& string, const std::string& name,
                         Given given) {
  const auto found = string_table().find(name);
  if (found == string_table().end()) {
    render.meter().refuse("the method " + name + " of texts is not supported");
  }
  return found->second({string.text, string.is_safe, name, render.meter()}, std::move(given));
}

Value call_dict_method(Render& render, const Dict& dict, const std::string& name, Given given) {
  Meter& meter = render.meter();
  if (name == "get") {
    const Bound bound(std::move(given), name, {"key", "default"}, meter);
    check_key(bound.needed(0), meter);
    if (const Value* member = find(dict, bound.needed(0), meter)) return *member;
    return bound[1] ? *bound[1] : Value();
  }
  const Bound bound(std::move(given), name, {}, meter);
  if (name == "copy") return make_dict(dict.members, meter);
  Values items;
  for (const auto& [key, value] : dict.members) {
    items.push_back(name == "keys"     ? key
                    : name == "values" ? value
                                       : make_sequence(SequenceKind::tuple, {key, value}, meter));
  }
  if (name == "fromkeys") meter.refuse("the method fromkeys of dicts is not supported");
  return make_sequence(name == "keys"     ? SequenceKind::keys
                       : name == "values" ? SequenceKind::values
                                          : SequenceKind::items,
                       std::move(items), meter);
}

Value call_list_method(Render& render, const Sequence& list, const std::string& name, Given given) {
  Meter& meter = render.meter();
  if (name == "copy") {
    const Bound bound(std::move(given), name, {}, meter);
    return make_sequence(list.kind, list.items, meter);
  }
  const Bound bound(std::move(given), name, {"value"}, meter);
  const Value& sought = bound.needed(0);
  int64_t count = 0;
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (!equal(list.items[i], sought, meter)) continue;
    if (name == "index") return Value(static_cast<int64_t>(i));
    ++count;
  }
  if (name == "index") meter.refuse("index: the value is not in the list");
  return Value(count);
}

Value call_loop_method(Render& render, Loop& loop, const std::string& name, Given given) {
  Meter& meter = render.meter();
  if (!given.named.empty()) meter.refuse(name + " takes no names");
  if (name == "cycle") {
    if (given.positional.empty()) meter.refuse("cycle needs values");
    return given.positional[loop.index % given.positional.size()];
  }
  const bool is_same =
      loop.last_changed && loop.last_changed->size() == given.positional.size() &&
      std::ranges::equal(*loop.last_changed, given.positional,
                         [&](const Value& a, const Value& b) { return equal(a, b, meter); });
  loop.last_changed = std::move(given.positional);
  return Value(!is_same);
}

}  // namespace

bool has_method(const Value& value, std::string_view name) {
  if (value.text()) return string_methods().contains(name);
  if (value.dict()) return dict_methods().contains(name);
  if (value.is_number()) return number_attributes().contains(name);
  const bool is_list = value.is_sequence(SequenceKind::list);
  if (!is_list && !value.is_sequence(SequenceKind::tuple)) return false;
  return name == "count" || name == "index" || (is_list && name == "copy");
}

bool is_changing_method(const Value& value, std::string_view name) {
  static const Names of_dicts = {"clear", "pop", "popitem", "setdefault", "update"};
  static const Names of_lists = {"append", "clear",  "extend",  "insert",
                                 "pop",    "remove", "reverse", "sort"};
  if (value.dict()) return of_dicts.contains(name);
  return value.is_sequence(SequenceKind::list) && of_lists.contains(name);
}

Value call_method(Render& render, const Value& receiver, const std::string& name, Given given) {
  if (receiver.string()) {
    return call_string_method(render, *receiver.string(), name, std::move(given));
  }
  if (receiver.dict()) return call_dict_method(render, *receiver.dict(), name, std::move(given));
  if (receiver.loop()) return call_loop_method(render, *receiver.loop(), name, std::move(given));
  if (receiver.sequence()) {
    return call_list_method(render, *receiver.sequence(), name, std::move(given));
  }
  render.meter().refuse("the method " + name + " of numbers is not supported");
}

}  // namespace headlight::text::jinja
