// Lists of heads, checked.
#include "headlight/models/heads_left.h"

#include <algorithm>

namespace headlight::models {
namespace {

const std::string kHeadsKey = "headlight_heads";

const AttentionHeads& known_place(const std::string& place, const std::vector<AttentionHeads>& all,
                                  std::string_view what, const std::string& key) {
  const auto found = std::ranges::find(all, place, &AttentionHeads::place);
  if (found != all.end()) return *found;
  std::vector<std::string_view> places;
  for (const AttentionHeads& one : all) places.push_back(one.place);
  base::refuse(what, key + place,
               "the model has no such attention" + base::nearest_hint(place, places));
}

nn::HeadNumbers read_numbers(const io::Json& list, const std::string& place,
                             const std::string& path) {
  const std::string where = kHeadsKey + "." + place;
  if (list.array() == nullptr) {
    base::refuse(path, where, "a list of the heads that are left is needed, e.g. [0, 2]");
  }
  nn::HeadNumbers numbers;
  for (const io::Json& one : *list.array()) {
    if (!one.integer()) base::refuse(path, where, "heads are named by whole numbers, e.g. [0, 2]");
    numbers.push_back(*one.integer());
  }
  return numbers;
}

}  // namespace

std::optional<nn::HeadNumbers> left_at(const HeadsLeft& left, const std::string& place) {
  const auto found = left.find(place);
  return found == left.end() ? std::nullopt : std::optional(found->second);
}

int64_t count_left(const HeadsLeft& left, const std::string& place, int64_t heads) {
  const auto found = left.find(place);
  return found == left.end() ? heads : static_cast<int64_t>(found->second.size());
}

HeadsLeft checked_heads_left(HeadsLeft left, const std::vector<AttentionHeads>& all,
                             std::string_view what, const std::string& key) {
  for (const auto& [place, numbers] : left) {
    const int64_t heads = known_place(place, all, what, key).heads;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const int64_t head = numbers[i];
      if (head < 0 || head >= heads) {
        base::refuse(what, key + place, nn::why_no_head(head, {}, heads));
      }
      if (i > 0 && head <= numbers[i - 1]) {
        base::refuse(what, key + place,
                     "the heads that are left are to be in ascending order, each once; " +
                         std::to_string(head) + " stands after " + std::to_string(numbers[i - 1]));
      }
    }
  }
  std::erase_if(left, [&](const auto& entry) {
    const AttentionHeads& here = known_place(entry.first, all, what, key);
    return static_cast<int64_t>(entry.second.size()) == here.heads;
  });
  return left;
}

HeadsLeft read_heads_left(const io::Json& config, const std::string& path,
                          const std::vector<AttentionHeads>& all) {
  const io::Json* given = config.find(kHeadsKey);
  if (given == nullptr || given->is_null()) return {};
  if (given->object() == nullptr) {
    base::refuse(path, kHeadsKey,
                 "an object is needed, e.g. {\"" + all.front().place + "\": [0, 2]}");
  }
  HeadsLeft left;
  for (const auto& [place, list] : *given->object()) {
    left[place] = read_numbers(list, place, path);
  }
  return checked_heads_left(std::move(left), all, path, kHeadsKey + ".");
}

void write_heads_left(io::Json::Object& config, const HeadsLeft& left,
                      const std::vector<AttentionHeads>& all) {
  io::Json::Object entries;
  for (const AttentionHeads& one : all) {
    const auto found = left.find(one.place);
    if (found == left.end()) continue;
    entries.emplace_back(one.place, io::Json::Array(found->second.begin(), found->second.end()));
  }
  if (!entries.empty()) config.emplace_back(kHeadsKey, std::move(entries));
}

}  // namespace headlight::models
