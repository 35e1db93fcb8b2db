// Recording: an observer that keeps what a run shows.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "headlight/autograd/autograd.h"

namespace headlight::explain {

// Of attention it keeps query, key, value, row maximum and sum and head outputs; scores, weights
// and weighted values, which grow with T * S, are reconstructed from these when they are asked for
// (Trace). Handles, not copies.
class Recording : public autograd::Observer {
 public:
  // `layers`: those of encoder and decoder to keep, by number; empty: all. What lies outside layers
  // is always kept. `with_gradients`: holds on to the values too, for gradient() after a backward
  // pass.
  explicit Recording(std::set<int64_t> layers = {}, bool with_gradients = false);

  bool wants(std::string_view place) override;
  void see(std::string_view place, const tensor::Tensor& values) override;
  void hold(std::string_view place, const autograd::Value& value) override;

  bool has(std::string_view place) const { return tensors_.find(place) != tensors_.end(); }
  // Not defined when the place was not seen.
  tensor::Tensor find(std::string_view place) const;
  // Of a place that was held; not defined when no gradient arrived there.
  tensor::Tensor gradient(std::string_view place) const;

 private:
  std::set<int64_t> layers_;
  bool with_gradients_;
  std::map<std::string, tensor::Tensor, std::less<>> tensors_;
  std::map<std::string, autograd::Value, std::less<>> values_;
};

}  // namespace headlight::explain
