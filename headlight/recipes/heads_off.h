// Heads switched off by name: what they give is left out of a run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "headlight/models/models.h"

namespace headlight::recipes {

// A head's public name, "decoder.0.self.3", taken apart.
struct HeadName {
  std::string place;  // "decoder.0.self"
  int64_t head = 0;
};

// Names with commas between them: "decoder.0.self.3,encoder.1.self.0". `source` names the list in
// errors. Throws Error(bad_input) for what cannot be a head's name.
std::vector<HeadName> parse_head_names(std::string_view names, std::string_view source);

// Sets the gates of the heads to 0 in every run that has it.
class HeadsOff : public autograd::Intervention {
 public:
  // Throws Error(bad_input), begun by `source`, for a head that the model does not have.
  HeadsOff(const std::vector<HeadName>& heads, models::Model& model,
           std::string_view source = "heads_off");

  bool empty() const { return heads_.empty(); }
  bool changes(std::string_view place) override;
  void change(std::string_view place, tensor::Tensor& gates) override;

 private:
  std::map<std::string, std::vector<int64_t>, std::less<>> heads_;  // by the place of the gates
};

}  // namespace headlight::recipes
