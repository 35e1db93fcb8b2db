// ModelGates: gates of a model's heads, changed for a while. For heads' own use.
#pragma once

#include <vector>

#include "headlight/heads/head_name.h"

namespace headlight::heads {

// What modules have as gates is put back when it goes.
class ModelGates {
 public:
  explicit ModelGates(models::Model& model);
  ~ModelGates();
  ModelGates(const ModelGates&) = delete;
  ModelGates& operator=(const ModelGates&) = delete;

  // Every module has its own gates again, but those of these heads are 0. Throws Error(bad_input),
  // begun by `source`, for heads that the model does not have.
  void close(const std::vector<HeadName>& heads, std::string_view source);

 private:
  struct Kept {
    nn::MultiHeadAttention* attention;
    nn::Value gates;
  };
  void put_back();

  models::Model& model_;
  std::vector<Kept> kept_;
};

}  // namespace headlight::heads
