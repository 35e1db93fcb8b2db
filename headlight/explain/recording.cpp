// Which places a Recording keeps.
#include "headlight/explain/recording.h"

#include <array>
#include <charconv>
#include <utility>

namespace headlight::explain {
namespace {

// Grow with queries times keys; Trace reconstructs them.
constexpr std::array<std::string_view, 6> kReconstructed = {
    "scores", "scaled_scores", "capped_scores", "masked_scores", "weights", "weighted_values"};

// The number of "encoder.3.self.query"; -1 for what lies outside layers.
int64_t layer_of(std::string_view place) {
  const size_t dot = place.find('.');
  if (dot == std::string_view::npos) return -1;
  int64_t layer = -1;
  std::from_chars(place.data() + dot + 1, place.data() + place.size(), layer);
  return layer;
}

}  // namespace

Recording::Recording(std::set<int64_t> layers, bool with_gradients)
    : layers_(std::move(layers)), with_gradients_(with_gradients) {}

bool Recording::wants(std::string_view place) {
  if (place.find(".head.") != std::string_view::npos) return false;
  const size_t dot = place.rfind('.');
  const std::string_view name = dot == std::string_view::npos ? place : place.substr(dot + 1);
  for (const std::string_view reconstructed : kReconstructed) {
    if (name == reconstructed) return false;
  }
  const int64_t layer = layer_of(place);
  return layer < 0 || layers_.empty() || layers_.contains(layer);
}

void Recording::see(std::string_view place, const tensor::Tensor& values) {
  tensors_[std::string(place)] = values;
}

void Recording::hold(std::string_view place, const autograd::Value& value) {
  if (with_gradients_ && wants(place)) values_[std::string(place)] = value;
}

tensor::Tensor Recording::find(std::string_view place) const {
  const auto found = tensors_.find(place);
  return found == tensors_.end() ? tensor::Tensor() : found->second;
}

tensor::Tensor Recording::gradient(std::string_view place) const {
  const auto found = values_.find(place);
  return found == values_.end() ? tensor::Tensor() : found->second.grad();
}

}  // namespace headlight::explain
