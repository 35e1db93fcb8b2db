// NamedTrace: an observer that keeps what the command line's contract names.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/autograd/autograd.h"
#include "headlight/io/io.h"

namespace headlight::cli {

// Keeps the whole tensors of all places (weighted values below 64 MB), or only the places named,
// which may be of one head: "decoder.0.self.head.2.weights". What it does not keep is not computed.
class NamedTrace : public autograd::Observer {
 public:
  explicit NamedTrace(std::set<std::string> only = {}) : only_(std::move(only)) {}

  bool wants(std::string_view place) override;
  void see(std::string_view place, const tensor::Tensor& values) override { put(place, values); }

  void put(std::string_view place, const tensor::Tensor& values) {
    tensors_[std::string(place)] = values;
  }
  bool has(std::string_view place) const { return tensors_.contains(std::string(place)); }
  std::vector<io::NamedTensor> tensors() const;

  // After a run: throws Error(bad_input) for the first name that no place had, with the nearest
  // one.
  void check_all_seen() const;

 private:
  double weighted_values_bytes(const std::string& prefix) const;

  std::set<std::string> only_;
  std::set<std::string, std::less<>> asked_;
  std::map<std::string, tensor::Tensor> tensors_;
};

}  // namespace headlight::cli
