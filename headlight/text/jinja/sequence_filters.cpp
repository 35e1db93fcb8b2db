// Filters of lists, dicts and what else can be iterated.
#include <algorithm>

#include "headlight/text/jinja/filters.h"
#include "headlight/text/jinja/letters.h"
#include "headlight/text/jinja/operators.h"

namespace headlight::text::jinja {

Value without_case(const Value& value, Meter& meter) {
  return value.text() ? Value(lower_text(*value.text(), meter)) : value;
}

Value at_path(Render& render, const Value& value, const Value& path) {
  Meter& meter = render.meter();
  if (path.is_whole()) return render.item(value, path);
  if (!path.text()) meter.refuse("an attribute is named by a text, not " + type_name(path));
  Value result = value;
  for (const MarkedText& part : split_text(*path.text(), {.separator = "."}, meter)) {
    const auto index = io::parse_number<int64_t>(part.bytes);
    result = render.item(result, index ? Value(*index) : Value(part));
  }
  return result;
}

namespace {

Value iterator_of(Values items, Meter& meter) {
  return make_sequence(SequenceKind::iterator, std::move(items), meter);
}

Value list(Render& render, const Value& value, Given given) {
  const Bound bound(std::move(given), "list", {}, render.meter());
  return make_sequence(SequenceKind::list, items_of(value, render.meter()), render.meter());
}

Value first(Render& render, const Value& value, Given given) {
  const Bound bound(std::move(given), "first", {}, render.meter());
  if (value.is_sequence(SequenceKind::iterator)) {
    const Sequence& sequence = *value.sequence();
    if (sequence.taken < sequence.items.size()) return sequence.items[sequence.taken++];
    return Value::undefined("there is no first item, the sequence is empty");
  }
  const Values items = items_of(value, render.meter());
  return items.empty() ? Value::undefined("there is no first item, the sequence is empty")
                       : items.front();
}

Value last(Render& render, const Value& value, Given given) {
  const Bound bound(std::move(given), "last", {}, render.meter());
  if (value.is_sequence(SequenceKind::iterator)) {
    render.meter().refuse("last takes no generator; | list makes a list of it");
  }
  const Values items = items_of(value, render.meter());
  return items.empty() ? Value::undefined("there is no last item, the sequence is empty")
                       : items.back();
}

Value reversed(Render& render, const Value& value, Given given) {
  const Bound bound(std::move(given), "reverse", {}, render.meter());
  if (value.text()) {
    return sliced(value, {.step = Value(int64_t{-1})}, render.meter());
  }
  Values items = items_of(value, render.meter());
  std::ranges::reverse(items);
  return iterator_of(std::move(items), render.meter());
}

Value dict_items(Render& render, const Value& value, Given given) {
  Meter& meter = render.meter();
  const Bound bound(std::move(given), "items", {}, meter);
  if (value.is_undefined()) return iterator_of({}, meter);
  if (!value.dict()) meter.refuse("items takes a dict, not " + type_name(value));
  Values items;
  for (const auto& [key, member] : value.dict()->members) {
    items.push_back(make_sequence(SequenceKind::tuple, {key, member}, meter));
  }
  return iterator_of(std::move(items), meter);
}

// Items by keys, in the order of the keys; equals stay in their order.
struct Keyed {
  Value key;
  Value item;
};

void sort_by_key(std::vector<Keyed>& keyed, bool is_reversed, Meter& meter) {
  std::stable_sort(keyed.begin(), keyed.end(), [&](const Keyed& left, const Keyed& right) {
    return is_reversed ? compare(right.key, left.key, meter) < 0
                       : compare(left.key, right.key, meter) < 0;
  });
}

Value dict_sorted(Render& render, const Value& value, Given given) {
  Meter& meter = render.meter();
  const Bound bound(std::move(given), "dictsort", {"case_sensitive", "by", "reverse"}, meter);
  const std::string by = bound.text(1, "key");
  if (by != "key" && by != "value") meter.refuse("dictsort sorts by key or value");
  if (!value.dict()) {
    if (const Absence* absence = value.absence()) meter.refuse(absence->why);
    meter.refuse("dictsort takes a dict, not " + type_name(value));
  }
  std::vector<Keyed> keyed;
  for (const auto& [key, member] : value.dict()->members) {
    const Value& sorted = by == "key" ? key : member;
    keyed.push_back({bound.flag(0, false) ? sorted : without_case(sorted, meter),
                     make_sequence(SequenceKind::tuple, {key, member}, meter)});
  }
  sort_by_key(keyed, bound.flag(2, false), meter);
  Values items;
  for (Keyed& one : keyed) items.push_back(std::move(one.item));
  return make_sequence(SequenceKind::list, std::move(items), meter);
}

// What an item is compared by: itself or its attributes, in small letters unless case counts.
Value key_of(Render& render, const Value& item, const Value* path, bool has_case) {
  Meter& meter = render.meter();
  if (!path || path->is_none()) return has_case ? item : without_case(item, meter);
  if (!path->text()) {
    const Value part = at_path(render, item, *path);
    return has_case ? part : without_case(part, meter);
  }
  Values parts;
  for (const MarkedText& one : split_text(*path->text(), {.separator = ","}, meter)) {
    const Value part = at_path(render, item, Value(one));
    parts.push_back(has_case ? part : without_case(part, meter));
  }
  return parts.size() == 1 ? parts[0] : make_sequence(SequenceKind::list, std::move(parts), meter);
}

Value sorted(Render& render, const Value& value, Given given) {
  Meter& meter = render.meter();
  const Bound bound(std::move(given), "sort", {"reverse", "case_sensitive", "attribute"}, meter);
  std::vector<Keyed> keyed;
  for (const Value& item : items_of(value, meter)) {
    keyed.push_back({key_of(render, item, bound[2], bound.flag(1, false)), item});
  }
  sort_by_key(keyed, bound.flag(0, false), meter);
  Values items;
  for (Keyed& one : keyed) items.push_back(std::move(one.item));
  return make_sequence(SequenceKind::list, std::move(items), meter);
}

Value unique(Render& render, const Value& value, Given given) {
  Meter& meter = render.meter();
  const Bound bound(std::move(given), "unique", {"case_sensitive", "attribute"}, meter);
  Values keys;
  Values items;
  for (const Value& item : items_of(value, meter)) {
    Value key = bound[1] && !bound[1]->is_none() ? at_path(render, item, *bound[1]) : item;
    if (!bound.flag(0, false)) key = without_case(key, meter);
    const bool is_new =
        std::ranges::none_of(keys, [&](const Value& known) { return equal(known, key, meter); });
    if (!is_new) continue;
    keys.push_back(std::move(key));
    items.push_back(item);
  }
  return iterator_of(std::move(items), meter);
}

template <bool IsMost>
Value extreme(Render& render, const Value& value, Given given) {
  Meter& meter = render.meter();
  const Bound bound(std::move(given), IsMost ? "max" : "min", {"case_sensitive", "attribute"},
                    meter);
  std::optional<Keyed> best;
  for (const Value& item : items_of(value, meter)) {
    Value key = bound[1] && !bound[1]->is_none() ? at_path(render, item, *bound[1]) : item;
    if (!bound.flag(0, false)) key = without_case(key, meter);
    if (best) {
      const int order = compare(key, best->key, meter);
      if (IsMost ? order <= 0 : order >= 0) continue;
    }
    best = Keyed{std::move(key), item};
  }
  return best ? best->item : Value::undefined("there is no item, the sequence is empty");
}

Value sum(Render& render, const Value& value, Given given) {
  Meter& meter = render.meter();
  const Bound bound(std::move(given), "sum", {"attribute", "start"}, meter);
  Value total = bound[1] ? *bound[1] : Value(int64_t{0});
  if (total.text()) meter.refuse("sum takes numbers; join joins texts");
  for (const Value& item : items_of(value, meter)) {
    const bool has_path = bound[0] && !bound[0]->is_none();
    total = binary("+", total, has_path ? at_path(render, item, *bound[0]) : item, meter);
  }
  return total;
}

// The name that stands first among the arguments, taken off them.
std::string take_name(Given& given, std::string_view of, Meter& meter) {
  if (given.positional.empty() || !given.positional[0].text()) {
    meter.refuse(std::string(of) + " needs a name as its first argument");
  }
  std::string name = given.positional[0].text()->bytes;
  given.positional.erase(given.positional.begin());
  return name;
}

Value mapped(Render& render, const Value& value, Given given) {
  Meter& meter = render.meter();
  Values results;
  if (!is_true(value)) return iterator_of({}, meter);  // of None too
  if (given.positional.empty() && !given.named.empty()) {
    const Bound bound(std::move(given), "map", {"attribute", "default"}, meter);
    const Value path = bound.needed(0);
    for (const Value& item : items_of(value, meter)) {
      Value result = at_path(render, item, path);
      if (result.is_undefined() && bound[1] && !bound[1]->is_none()) result = *bound[1];
      results.push_back(std::move(result));
    }
  } else {
    const std::string name = take_name(given, "map", meter);
    for (const Value& item : items_of(value, meter)) {
      results.push_back(apply_filter(render, name, item, given));
    }
  }
  return iterator_of(std::move(results), meter);
}

// select, reject, selectattr and rejectattr.
template <bool IsKept, bool HasPath>
Value selected(Render& render, const Value& value, Given given) {
  Meter& meter = render.meter();
  if (!is_true(value)) return iterator_of({}, meter);  // of None too
  Value path;
  if constexpr (HasPath) {
    if (given.positional.empty()) meter.refuse("selectattr and rejectattr need an attribute");
    path = given.positional[0];
    given.positional.erase(given.positional.begin());
  }
  const bool has_test = !given.positional.empty();
  const std::string test = has_test ? take_name(given, "select", meter) : "";
  Values items;
  for (const Value& item : items_of(value, meter)) {
    const Value tested = HasPath ? at_path(render, item, path) : item;
    const bool passes = has_test ? apply_test(render, test, tested, given) : is_true(tested);
    if (passes == IsKept) items.push_back(item);
  }
  return iterator_of(std::move(items), meter);
}

Value batch(Render& render, const Value& value, Given given) {
  Meter& meter = render.meter();
  const Bound bound(std::move(given), "batch", {"linecount", "fill_with"}, meter);
  bound.needed(0);
  const int64_t count = bound.integer(0, 1);
  if (count < 1) meter.refuse("batch: the count is below 1");
  Values batches;
  Values row;
  const auto end_row = [&] {
    batches.push_back(make_sequence(SequenceKind::list, std::move(row), meter));
    row.clear();
  };
  for (const Value& item : items_of(value, meter)) {
    if (static_cast<int64_t>(row.size()) == count) end_row();
    row.push_back(item);
  }
  if (row.empty()) return iterator_of(std::move(batches), meter);
  while (bound[1] && !bound[1]->is_none() && static_cast<int64_t>(row.size()) < count) {
    meter.step();
    meter.make(sizeof(Value));
    row.push_back(*bound[1]);
  }
  end_row();
  return iterator_of(std::move(batches), meter);
}

}  // namespace

const Filters& sequence_filters() {
  static const Filters table = {
      {"list", list},
      {"first", first},
      {"last", last},
      {"reverse", reversed},
      {"items", dict_items},
      {"dictsort", dict_sorted},
      {"sort", sorted},
      {"unique", unique},
      {"min", extreme<false>},
      {"max", extreme<true>},
      {"sum", sum},
      {"map", mapped},
      {"select", selected<true, false>},
      {"reject", selected<false, false>},
      {"selectattr", selected<true, true>},
      {"rejectattr", selected<false, true>},
      {"batch", batch},
  };
  return table;
}

bool has_filter(std::string_view name) {
  return text_filters().contains(name) || number_filters().contains(name) ||
         sequence_filters().contains(name);
}

Value apply_filter(Render& render, const std::string& name, const Value& value, Given given) {
  const Meter::Level level(render.meter());
  render.meter().step();
  for (const Filters* table : {&text_filters(), &number_filters(), &sequence_filters()}) {
    const auto found = table->find(name);
    if (found != table->end()) return found->second(render, value, std::move(given));
  }
  render.meter().refuse("there is no filter " + io::in_quotes(name));
}

}  // namespace headlight::text::jinja
