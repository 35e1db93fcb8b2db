// HeadName: a head by its public name.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/models/models.h"

namespace headlight::heads {

// "decoder.0.self.3" taken apart. A head keeps its number when others are pruned.
struct HeadName {
  std::string place;  // "decoder.0.self"
  int64_t head = 0;

  std::string text() const { return place + "." + std::to_string(head); }
  auto operator<=>(const HeadName&) const = default;
};

// Names with commas between them: "decoder.0.self.3,encoder.1.self.0". `source` names the list in
// errors. Throws Error(bad_input) for what cannot be a head's name.
std::vector<HeadName> parse_head_names(std::string_view names, std::string_view source);

// All heads that a model has, in the order of its attentions.
std::vector<HeadName> heads_of(const models::Model& model);

// The head in the name of a tensor, "decoder.0.self.head.2.weights"; nothing where there is none.
std::optional<HeadName> head_of_tensor(std::string_view name);

// A head of a model.
struct HeadInModel {
  const nn::MultiHeadAttention* attention = nullptr;
  int64_t place = 0;  // among the heads that it has: its index in gates, weights and outputs
};
// Throws Error(bad_input), begun by `source`, for a head that the model does not have.
HeadInModel find_head(const models::Model& model, const HeadName& name, std::string_view source);

}  // namespace headlight::heads
