// Lines of text into pairs, and pairs into ids.
#include "headlight/data/pairs.h"

#include <algorithm>

namespace headlight::data {
namespace {

using base::Error;
using base::ErrorKind;

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw Error(ErrorKind::bad_input, "pairs", where, why);
}

std::string place(const std::string& name, int64_t line) {
  return name + ":" + std::to_string(line);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.size(), text.find('\n'));
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return lines;
}

std::string side(std::string_view text, const char* which, const std::string& where) {
  if (text.find_first_not_of(" \t\v\f\r") == std::string_view::npos) {
    refuse(where, std::string("the ") + which + " is empty");
  }
  return std::string(text);
}

}  // namespace

std::vector<Pair> parse_pairs(std::string_view text, const std::string& name) {
  std::vector<Pair> pairs;
  for (const std::string_view line : lines_of(text)) {
    const int64_t number = static_cast<int64_t>(pairs.size()) + 1;
    const std::string where = place(name, number);
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos) refuse(where, "no tab; a line is source, tab, target");
    const std::string_view rest = line.substr(tab + 1);
    pairs.push_back({.source = side(line.substr(0, tab), "source", where),
                     .target = side(rest.substr(0, rest.find('\t')), "target", where),
                     .line = number});
  }
  if (pairs.empty()) refuse(name, "holds no pairs");
  return pairs;
}

std::vector<Pair> align_pairs(const NamedText& source, const NamedText& target) {
  const std::vector<std::string_view> sources = lines_of(source.text);
  const std::vector<std::string_view> targets = lines_of(target.text);
  if (sources.size() != targets.size()) {
    refuse(source.name + ", " + target.name,
           std::to_string(sources.size()) + " and " + std::to_string(targets.size()) +
               " lines; each line of one belongs to a line of the other");
  }
  std::vector<Pair> pairs;
  for (size_t i = 0; i < sources.size(); ++i) {
    const int64_t number = static_cast<int64_t>(i) + 1;
    pairs.push_back({.source = side(sources[i], "source", place(source.name, number)),
                     .target = side(targets[i], "target", place(target.name, number)),
                     .line = number});
  }
  if (pairs.empty()) refuse(source.name, "holds no pairs");
  return pairs;
}

PairSplit split_pairs(std::vector<Pair> pairs, const std::string& name) {
  constexpr size_t kEvery = 20;
  if (pairs.size() < kEvery) {
    refuse(name, "has " + std::to_string(pairs.size()) +
                     " pairs; to keep every 20th for validation needs 20, or give validation data");
  }
  PairSplit split;
  for (size_t i = 0; i < pairs.size(); ++i) {
    ((i + 1) % kEvery == 0 ? split.valid : split.train).push_back(std::move(pairs[i]));
  }
  return split;
}

void PairSet::append(std::span<const int64_t> source, std::span<const int64_t> target) {
  sources_.append(source);
  targets_.append(target);
  source_ends_.push_back(sources_.size());
  target_ends_.push_back(targets_.size());
  longest_source_ = std::max(longest_source_, static_cast<int64_t>(source.size()));
  longest_target_ = std::max(longest_target_, static_cast<int64_t>(target.size()));
}

int64_t PairSet::length(const Ends& ends, int64_t pair) {
  const size_t index = static_cast<size_t>(pair);
  return ends[index + 1] - ends[index];
}

std::vector<int64_t> PairSet::ids(const TokenStream& stream, const Ends& ends, int64_t pair) {
  std::vector<int64_t> ids(static_cast<size_t>(length(ends, pair)));
  stream.copy(ends[static_cast<size_t>(pair)], ids);
  return ids;
}

std::vector<int64_t> source_ids(const text::Tokenizer& tokenizer, std::string_view text) {
  std::vector<int64_t> plain = tokenizer.encode(text);
  return plain.empty() ? plain : tokenizer.encode(text, {.framed = true});
}

PairSet encode_pairs(const text::Tokenizer& source, const text::Tokenizer& target,
                     std::span<const Pair> pairs, const std::string& name) {
  PairSet set(source.size(), target.size());
  const auto encoded = [&name](const text::Tokenizer& tokenizer, const std::string& text,
                               const char* which, int64_t line, bool is_source) {
    std::vector<int64_t> ids;
    try {
      ids = is_source ? source_ids(tokenizer, text) : tokenizer.encode(text);
    } catch (const Error& error) {
      refuse(place(name, line), std::string("the ") + which + ": " + error.what());
    }
    if (ids.empty()) refuse(place(name, line), std::string("the ") + which + " gives no tokens");
    return ids;
  };
  for (const Pair& pair : pairs) {
    set.append(encoded(source, pair.source, "source", pair.line, true),
               encoded(target, pair.target, "target", pair.line, false));
  }
  return set;
}

}  // namespace headlight::data
