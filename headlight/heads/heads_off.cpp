// Gates at 0.
#include "headlight/heads/heads_off.h"

namespace headlight::heads {

HeadsOff::HeadsOff(const std::vector<HeadName>& heads, const models::Model& model,
                   std::string_view source) {
  for (const HeadName& name : heads) {
    heads_[name.place + ".head_gates"].push_back(find_head(model, name, source).place);
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

}  // namespace headlight::heads
