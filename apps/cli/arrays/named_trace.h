// NamedTrace: what a run shows under the public names of tensors.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/autograd/autograd.h"
#include "headlight/io/io.h"

namespace headlight::cli {

// What is to be kept of one tensor: "decoder.0.self.head.2.weights[3,5]".
struct NamedSelection {
  std::string place = {};
  std::vector<int64_t> index = {};  // along the last axes; none: all of it
};
// By what was typed.
using NamedSelections = std::map<std::string, NamedSelection>;

// Names with commas between them. Throws Error(usage), begun by `source`, for brackets that hold
// anything but numbers.
NamedSelections parse_selections(std::string_view names, std::string_view source);

// Keeps the whole tensors of all places (weighted values below 64 MB), or only what is named, which
// may be of one head: "decoder.0.self.head.2.weights". What it does not keep is not computed.
class NamedTrace {
 public:
  explicit NamedTrace(NamedSelections only = {});
  NamedTrace(const NamedTrace&) = delete;
  NamedTrace& operator=(const NamedTrace&) = delete;

  autograd::Recording& recording() { return recording_; }
  bool has(std::string_view place) const { return recording_.seen().contains(place); }
  // Adds what no place showed.
  void put(std::string_view place, const tensor::Tensor& values) { recording_.see(place, values); }
  // Throws Error(bad_input) for an index outside of its tensor.
  std::vector<io::NamedTensor> tensors() const;

  // After a run: throws Error(bad_input) for the first name that no place had, with the nearest
  // one.
  void check_all_seen() const;

 private:
  bool wants(std::string_view place);
  double weighted_values_bytes(const std::string& prefix) const;

  NamedSelections only_;
  std::set<std::string, std::less<>> places_;  // of what is named
  std::set<std::string, std::less<>> asked_;
  autograd::Recording recording_;
};

}  // namespace headlight::cli
