// Heads switched off by name: what they give is left out of a run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "headlight/heads/head_name.h"

namespace headlight::heads {

// Sets the gates of the heads to 0 in every run that has it.
class HeadsOff : public autograd::Intervention {
 public:
  // Throws Error(bad_input), begun by `source`, for a head that the model does not have.
  HeadsOff(const std::vector<HeadName>& heads, const models::Model& model,
           std::string_view source = "heads_off");

  bool empty() const { return heads_.empty(); }
  bool changes(std::string_view place) override;
  void change(std::string_view place, tensor::Tensor& gates) override;

 private:
  std::map<std::string, std::vector<int64_t>, std::less<>> heads_;  // by the place of the gates
};

}  // namespace headlight::heads
