// Names of heads, and gates at 0.
#include "headlight/recipes/heads_off.h"

#include <algorithm>

#include "headlight/io/io.h"
#include "headlight/recipes/typed_words.h"

namespace headlight::recipes {

using base::Error;
using base::ErrorKind;

std::vector<HeadName> parse_head_names(std::string_view names, std::string_view source) {
  std::vector<HeadName> heads;
  for (const std::string& name : split_words(names, ',')) {
    const size_t dot = name.rfind('.');
    const auto head = dot == std::string::npos
                          ? std::nullopt
                          : io::parse_number<int64_t>(std::string_view(name).substr(dot + 1));
    if (!head || *head < 0) {
      throw Error(ErrorKind::bad_input, source, io::in_quotes(name),
                  "is not a head's name; one is written decoder.0.self.3");
    }
    heads.push_back({name.substr(0, dot), *head});
  }
  return heads;
}

HeadsOff::HeadsOff(const std::vector<HeadName>& heads, models::Model& model,
                   std::string_view source) {
  const std::vector<nn::MultiHeadAttention*> attentions = model.attentions();
  std::vector<std::string_view> places;
  for (const nn::MultiHeadAttention* attention : attentions) {
    places.push_back(attention->options().place);
  }
  for (const HeadName& name : heads) {
    const auto found = std::find(places.begin(), places.end(), name.place);
    if (found == places.end()) {
      throw Error(ErrorKind::bad_input, source, io::in_quotes(name.place),
                  "the model has no such attention" + base::nearest_hint(name.place, places));
    }
    const int64_t count = attentions[static_cast<size_t>(found - places.begin())]->options().heads;
    if (name.head >= count) {
      throw Error(ErrorKind::bad_input, source, io::in_quotes(name.place),
                  "there is no head " + std::to_string(name.head) + " among " +
                      std::to_string(count) + ", they count from 0");
    }
    heads_[name.place + ".head_gates"].push_back(name.head);
  }
}

bool HeadsOff::changes(std::string_view place) { return heads_.contains(place); }

void HeadsOff::change(std::string_view place, tensor::Tensor& gates) {
  const int64_t width = gates.size(-1);
  for (int64_t row = 0; row < gates.elements() / width; ++row) {
    for (const int64_t head : heads_.find(place)->second) {
      gates.mutable_data<float>()[row * width + head] = 0;
    }
  }
}

}  // namespace headlight::recipes
