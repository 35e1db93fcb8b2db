// Types and ranges, with the numbers in what is refused.
#include "apps/server/studio/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "headlight/recipes/recipes.h"

namespace headlight::server::studio {
namespace {

using io::Json;

std::string range_text(const IntegerRange& range) {
  return "a whole number from " + std::to_string(range.lowest) + " to " +
         std::to_string(range.highest);
}
std::string range_text(const NumberRange& range) {
  return "a number from " + recipes::readable_number(range.lowest) + " to " +
         recipes::readable_number(range.highest);
}

std::string choices_text(std::span<const std::string_view> choices) {
  std::string names;
  for (const std::string_view choice : choices) {
    names.append(names.empty() ? "" : ", ").append(choice);
  }
  return names;
}

std::string kind_of(const Json& value) {
  if (value.boolean()) return "a boolean";
  if (value.number()) return "a number";
  if (value.text() != nullptr) return "a string";
  if (value.array() != nullptr) return "a list";
  return value.is_null() ? "null" : "an object";
}

[[noreturn]] void refuse_kind(const std::string& field, const std::string& needed,
                              const Json& value) {
  refuse_field(field, "must be " + needed + ", is " + kind_of(value));
}

int64_t integer_in(const std::string& field, const Json& value, const IntegerRange& range) {
  const std::optional<int64_t> number = value.integer();
  if (!number) {
    if (!value.number()) refuse_kind(field, range_text(range), value);
    refuse_field(field, "must be " + range_text(range) + ", is " + io::json_text(value));
  }
  if (*number < range.lowest || *number > range.highest) {
    refuse_field(field, "must be " + range_text(range) + ", is " + std::to_string(*number));
  }
  return *number;
}

double number_in(const std::string& field, const Json& value, const NumberRange& range) {
  const std::optional<double> number = value.number();
  if (!number) refuse_kind(field, range_text(range), value);
  if (!(*number >= range.lowest && *number <= range.highest)) {
    refuse_field(field, "must be " + range_text(range) + ", is " + io::json_text(value));
  }
  return *number;
}

std::string text_in(const std::string& field, const Json& value, const TextRange& range) {
  if (value.text() == nullptr) refuse_kind(field, "a string", value);
  const std::string& text = *value.text();
  if (text.size() < range.shortest) refuse_field(field, "is empty");
  if (text.size() > range.longest) {
    refuse_field(field, "has " + std::to_string(text.size()) + " bytes, at most " +
                            std::to_string(range.longest) + " are read");
  }
  return text;
}

// Names that clients make up may be of any length.
std::string shortened(const std::string& field) {
  constexpr size_t kMost = 100;
  if (field.size() <= kMost) return field;
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(field[end]) & 0xC0) == 0x80) --end;
  return field.substr(0, end) + "…";
}

template <class Names>
[[noreturn]] void refuse_name(const std::string& field, std::string_view name, const Names& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  refuse_field(shortened(field), "is not known here" + base::nearest_hint(name, names));
}

std::string item(const std::string& field, size_t at) {
  return field + "[" + std::to_string(at) + "]";
}

// The value of a letter of base 64; 64 where it is none.
uint32_t letter_value(char letter) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return static_cast<uint32_t>(std::min(kLetters.find(letter), kLetters.size()));
}

}  // namespace

BodyFields BodyFields::parse(const std::string& body) {
  Json document;
  try {
    document = io::parse_json(body, "body");
  } catch (const base::Error& error) {
    throw HttpError(fields_of(error, "body"));
  }
  if (document.object() == nullptr) refuse_kind("body", "an object", document);
  return BodyFields(std::move(*document.object()));
}

BodyFields::BodyFields(Json::Object members, std::string where)
    : members_(std::move(members)), where_(std::move(where)) {}

const Json* BodyFields::value(std::string_view name) {
  read_.emplace(name);
  for (const Json::Member& member : members_) {
    if (member.first == name) return member.second.is_null() ? nullptr : &member.second;
  }
  return nullptr;
}

bool BodyFields::has(std::string_view name) const {
  return std::ranges::any_of(members_, [&](const Json::Member& member) {
    return member.first == name && !member.second.is_null();
  });
}

std::optional<std::string> BodyFields::text(std::string_view name, TextRange range) {
  const Json* found = value(name);
  if (found == nullptr) return std::nullopt;
  return text_in(path(name), *found, range);
}

std::string BodyFields::needed_text(std::string_view name, TextRange range) {
  const std::optional<std::string> found = text(name, range);
  if (!found) refuse(name, "is missing");
  return *found;
}

std::optional<std::string> BodyFields::choice(std::string_view name,
                                              std::span<const std::string_view> choices) {
  std::optional<std::string> word = text(name);
  if (word && std::ranges::find(choices, *word) == choices.end()) {
    refuse(name, "must be one of " + choices_text(choices) + ", is " + io::in_quotes(*word));
  }
  return word;
}

std::optional<int64_t> BodyFields::integer(std::string_view name, IntegerRange range) {
  const Json* found = value(name);
  if (found == nullptr) return std::nullopt;
  return integer_in(path(name), *found, range);
}

std::optional<double> BodyFields::number(std::string_view name, NumberRange range) {
  const Json* found = value(name);
  if (found == nullptr) return std::nullopt;
  return number_in(path(name), *found, range);
}

bool BodyFields::flag(std::string_view name, bool otherwise) {
  const Json* found = value(name);
  if (found == nullptr) return otherwise;
  if (!found->boolean()) refuse_kind(path(name), "a boolean", *found);
  return *found->boolean();
}

const Json::Array* BodyFields::list(std::string_view name, size_t most) {
  const Json* found = value(name);
  if (found == nullptr) return nullptr;
  if (found->array() == nullptr) refuse_kind(path(name), "a list", *found);
  if (found->array()->size() > most) {
    refuse(name, "has " + std::to_string(found->array()->size()) + " items, at most " +
                     std::to_string(most) + " are read");
  }
  return found->array();
}

std::optional<std::vector<int64_t>> BodyFields::integers(std::string_view name, IntegerRange range,
                                                         size_t most) {
  const Json::Array* items = list(name, most);
  if (items == nullptr) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Json& one : *items) {
    numbers.push_back(integer_in(item(path(name), numbers.size()), one, range));
  }
  return numbers;
}

std::optional<std::vector<double>> BodyFields::numbers(std::string_view name, NumberRange range,
                                                       size_t most) {
  const Json::Array* items = list(name, most);
  if (items == nullptr) return std::nullopt;
  std::vector<double> numbers;
  for (const Json& one : *items) {
    numbers.push_back(number_in(item(path(name), numbers.size()), one, range));
  }
  return numbers;
}

std::optional<std::vector<std::string>> BodyFields::texts(std::string_view name, size_t most,
                                                          TextRange range) {
  const Json::Array* items = list(name, most);
  if (items == nullptr) return std::nullopt;
  std::vector<std::string> words;
  for (const Json& one : *items) {
    words.push_back(text_in(item(path(name), words.size()), one, range));
  }
  return words;
}

std::optional<std::vector<BodyFields>> BodyFields::objects(std::string_view name, size_t most) {
  const Json::Array* items = list(name, most);
  if (items == nullptr) return std::nullopt;
  std::vector<BodyFields> all;
  for (const Json& one : *items) {
    const std::string field = item(path(name), all.size());
    if (one.object() == nullptr) refuse_kind(field, "an object", one);
    all.emplace_back(*one.object(), field + ".");
  }
  return all;
}

void BodyFields::exclude(std::string_view name, std::string_view other) const {
  if (has(name) && has(other)) refuse(name, "has no meaning with " + std::string(other));
}

void BodyFields::refuse(std::string_view name, std::string_view why) const {
  refuse_field(path(name), why);
}

void BodyFields::refuse_others() const {
  for (const Json::Member& member : members_) {
    if (!read_.contains(member.first)) refuse_name(path(member.first), member.first, read_);
  }
}

std::optional<std::string> QueryFields::text(std::string_view name) {
  read_.emplace(name);
  const auto found = query_.find(std::string(name));
  if (found == query_.end()) return std::nullopt;
  return found->second;
}

std::string QueryFields::needed_text(std::string_view name) {
  const std::optional<std::string> found = text(name);
  if (!found || found->empty()) refuse_field(name, found ? "is empty" : "is missing");
  return *found;
}

std::optional<int64_t> QueryFields::integer(std::string_view name, IntegerRange range) {
  const std::optional<std::string> found = text(name);
  if (!found) return std::nullopt;
  int64_t number = 0;
  const char* end = found->data() + found->size();
  const auto [stop, failure] = std::from_chars(found->data(), end, number);
  if (failure != std::errc() || stop != end || number < range.lowest || number > range.highest) {
    refuse_field(name, "must be " + range_text(range) + ", is " + io::in_quotes(*found));
  }
  return number;
}

std::optional<double> QueryFields::number(std::string_view name, NumberRange range) {
  const std::optional<std::string> found = text(name);
  if (!found) return std::nullopt;
  double number = 0;
  const char* end = found->data() + found->size();
  const auto [stop, failure] = std::from_chars(found->data(), end, number);
  const bool is_within = number >= range.lowest && number <= range.highest;
  if (failure != std::errc() || stop != end || !is_within) {
    refuse_field(name, "must be " + range_text(range) + ", is " + io::in_quotes(*found));
  }
  return number;
}

std::string QueryFields::choice(std::string_view name, std::span<const std::string_view> choices) {
  const std::optional<std::string> found = text(name);
  if (!found) return std::string(choices.front());
  if (std::ranges::find(choices, *found) == choices.end()) {
    refuse_field(name, "must be one of " + choices_text(choices) + ", is " + io::in_quotes(*found));
  }
  return *found;
}

bool QueryFields::flag(std::string_view name) {
  constexpr std::string_view kWords[] = {"0", "1", "false", "true"};
  const std::string word = choice(name, kWords);
  return word == "1" || word == "true";
}

std::vector<std::string> QueryFields::words(std::string_view name, size_t most) {
  const std::optional<std::string> found = text(name);
  if (!found || found->empty()) return {};
  std::vector<std::string> all = recipes::split_words(*found, ',');
  if (all.size() > most) {
    refuse_field(name, "has " + std::to_string(all.size()) + " names, at most " +
                           std::to_string(most) + " are read");
  }
  if (std::ranges::find(all, "") != all.end()) {
    refuse_field(name, "has an empty place between commas");
  }
  return all;
}

std::vector<int64_t> QueryFields::integers(std::string_view name, IntegerRange range, size_t most) {
  std::vector<int64_t> numbers;
  for (const std::string& word : words(name, most)) {
    int64_t number = 0;
    const char* end = word.data() + word.size();
    const auto [stop, failure] = std::from_chars(word.data(), end, number);
    if (failure != std::errc() || stop != end || number < range.lowest || number > range.highest) {
      refuse_field(name, "must be numbers with commas, each " + range_text(range) + "; one is " +
                             io::in_quotes(word));
    }
    numbers.push_back(number);
  }
  return numbers;
}

void QueryFields::refuse_others() const {
  for (const auto& [name, value] : query_) {
    if (!read_.contains(name)) refuse_name(name, name, read_);
  }
}

std::optional<std::string> bytes_of_letters(std::string_view letters) {
  if (letters.size() % 4 != 0) return std::nullopt;
  size_t length = letters.size();
  while (length > 0 && letters.size() - length < 2 && letters[length - 1] == '=') --length;
  std::string bytes;
  uint32_t bits = 0;
  int held = 0;
  for (const char letter : letters.substr(0, length)) {
    const uint32_t value = letter_value(letter);
    if (value > 63) return std::nullopt;
    bits = bits << 6 | value;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 255);
  }
  return bytes;
}

}  // namespace headlight::server::studio
