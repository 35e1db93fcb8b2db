// NamedTrace: what a run shows under the public names of tensors.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/autograd/autograd.h"
#include "headlight/io/io.h"

namespace headlight::cli {

// Keeps the whole tensors of all places (weighted values below 64 MB), or only the places named,
// which may be of one head: "decoder.0.self.head.2.weights". What it does not keep is not computed.
class NamedTrace {
 public:
  explicit NamedTrace(std::set<std::string> only = {});
  NamedTrace(const NamedTrace&) = delete;
  NamedTrace& operator=(const NamedTrace&) = delete;

  autograd::Recording& recording() { return recording_; }
  bool has(std::string_view place) const { return recording_.seen().contains(place); }
  // Adds what no place showed.
  void put(std::string_view place, const tensor::Tensor& values) { recording_.see(place, values); }
  std::vector<io::NamedTensor> tensors() const;

  // After a run: throws Error(bad_input) for the first name that no place had, with the nearest
  // one.
  void check_all_seen() const;

 private:
  bool wants(std::string_view place);
  double weighted_values_bytes(const std::string& prefix) const;

  std::set<std::string> only_;
  std::set<std::string, std::less<>> asked_;
  autograd::Recording recording_;
};

}  // namespace headlight::cli
