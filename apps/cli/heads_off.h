// --heads-off: heads whose output is left out of a run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/arguments.h"
#include "headlight/models/models.h"

namespace headlight::cli {

// A head's public name, "decoder.0.self.3", taken apart.
struct HeadName {
  std::string place;  // "decoder.0.self"
  int64_t head = 0;
};

// "decoder.0.self.3,encoder.1.self.0"; throws Error(usage) for what cannot be a head's name.
std::vector<HeadName> heads_of(const Arguments& arguments, std::string_view option);

// Sets the gates of the heads to 0 in every run that has it.
class HeadsOff : public autograd::Intervention {
 public:
  // Throws Error(bad_input) for a head that the model does not have.
  HeadsOff(const std::vector<HeadName>& heads, models::Model& model);

  bool empty() const { return heads_.empty(); }
  bool changes(std::string_view place) override;
  void change(std::string_view place, tensor::Tensor& gates) override;

 private:
  std::map<std::string, std::vector<int64_t>, std::less<>> heads_;  // by the place of the gates
};

}  // namespace headlight::cli
