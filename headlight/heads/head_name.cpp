// Names of heads, and the heads that they name.
#include "headlight/heads/head_name.h"

#include <algorithm>

#include "headlight/io/io.h"

namespace headlight::heads {

std::vector<HeadName> parse_head_names(std::string_view names, std::string_view source) {
  std::vector<HeadName> heads;
  for (size_t begin = 0; begin <= names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    const std::string_view name = names.substr(begin, end - begin);
    begin = end + 1;
    const size_t dot = name.rfind('.');
    const auto head = dot == std::string_view::npos
                          ? std::nullopt
                          : io::parse_number<int64_t>(name.substr(dot + 1));
    if (!head || *head < 0) {
      base::refuse(source, io::in_quotes(name),
                   "is not a head's name; one is written decoder.0.self.3");
    }
    heads.push_back({std::string(name.substr(0, dot)), *head});
  }
  return heads;
}

std::vector<HeadName> heads_of(const models::Model& model) {
  std::vector<HeadName> all;
  for (const nn::MultiHeadAttention* attention : models::attentions_of(model)) {
    for (const int64_t head : attention->heads().numbers) {
      all.push_back({attention->options().place, head});
    }
  }
  return all;
}

std::optional<HeadName> head_of_tensor(std::string_view name) {
  constexpr std::string_view kHead = ".head.";
  const size_t at = name.find(kHead);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = name.substr(at + kHead.size());
  const auto head = io::parse_number<int64_t>(rest.substr(0, rest.find('.')));
  if (!head) return std::nullopt;
  return HeadName{std::string(name.substr(0, at)), *head};
}

HeadInModel find_head(const models::Model& model, const HeadName& name, std::string_view source) {
  const std::vector<const nn::MultiHeadAttention*> attentions = models::attentions_of(model);
  const auto place = [](const nn::MultiHeadAttention* one) -> std::string_view {
    return one->options().place;
  };
  const auto found = std::ranges::find(attentions, std::string_view(name.place), place);
  if (found == attentions.end()) {
    std::vector<std::string_view> places;
    std::ranges::transform(attentions, std::back_inserter(places), place);
    base::refuse(source, io::in_quotes(name.place),
                 "the model has no such attention" + base::nearest_hint(name.place, places));
  }
  const nn::HeadSet& heads = (*found)->heads();
  const std::optional<int64_t> at = heads.place_of(name.head);
  if (!at) {
    base::refuse(source, io::in_quotes(name.place),
                 nn::why_no_head(name.head, heads.numbers, heads.original));
  }
  return {*found, *at};
}

}  // namespace headlight::heads
