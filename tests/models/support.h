// What the tests of models share: shared files, small models and ids to run them on.
#pragma once

#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "headlight/models/models.h"
#include "tests/base/temporary_folder.h"
#include "tests/nn/support.h"
#include "tests/places.h"

namespace headlight::models {

using nn::distance;
using nn::expect_has;
using nn::Keeper;
using nn::largest;
using nn::same_bits;
using tensor::DType;
using tensor::Shape;
using test::TemporaryFolder;
using tests::error_of;
using tests::floats;

using ModelTest = tests::Autograd;

inline std::string shared(const std::string& name) { return tests::shared_folder() + "/" + name; }

#define SKIP_WITHOUT(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << (path) << " is not there"

inline nn::StateDict read_tensors(const std::string& path) {
  return read_state(io::open_safetensors(base::real_files(), path));
}

// The tensors under `prefix`, without it.
inline nn::StateDict under(const nn::StateDict& state, const std::string& prefix) {
  nn::StateDict part;
  for (const auto& [name, tensor] : state) {
    if (name.starts_with(prefix)) part[name.substr(prefix.size())] = tensor;
  }
  return part;
}

inline Tensor integers(const Shape& shape, const std::vector<int64_t>& numbers) {
  return Tensor::of(shape, numbers);
}

// Ids below `vocab_size` that depend on the seed alone.
inline Tensor random_ids(const Shape& shape, int64_t vocab_size, uint64_t seed) {
  const base::Random random(seed);
  std::vector<int64_t> ids(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int64_t>(random.below(i, static_cast<uint64_t>(vocab_size)));
  }
  return Tensor::of(shape, ids);
}

// Random numbers everywhere, biases and norms included, so that nothing hides behind a zero.
inline void fill(Model& model, uint64_t seed) {
  const base::Random random(seed);
  uint64_t next = 0;
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    Tensor numbers = Tensor::uninitialized(DType::f32, parameter->shape());
    const bool is_norm = parameter->shape().rank() == 1 && parameter->name().ends_with("weight");
    for (int64_t i = 0; i < numbers.elements(); ++i) {
      numbers.mutable_data<float>()[i] = (is_norm ? 1.0F : 0.0F) + 0.2F * random.normal(next++);
    }
    parameter->assign(numbers);
  }
}

// The families of which tests/golden has a tiny model: all but those that this project began with.
inline std::vector<std::string> golden_families() {
  std::vector<std::string> families;
  for (const std::string_view type : known_architectures().types()) {
    if (type == Gpt::kType || type == Bert::kType || type == Seq2Seq::kType) continue;
    families.emplace_back(type);
  }
  return families;
}

inline std::string golden_folder(const std::string& family) {
  return tests::source_folder() + "/tests/golden/models/" + family;
}

// The families whose models may classify; tests/golden has a tiny one of each.
inline std::vector<std::string> golden_classifiers() {
  std::vector<std::string> families;
  for (const Architecture& one : known_architectures().architectures()) {
    if (one.capabilities.classifies) families.emplace_back(one.model_type);
  }
  return families;
}

inline std::string classifier_folder(const std::string& family) {
  return tests::source_folder() + "/tests/golden/classifiers/" + family;
}

inline GptConfig small_gpt() {
  return {.block_size = 12, .vocab_size = 17, .n_layer = 2, .n_head = 4, .n_embd = 24};
}

inline Seq2SeqConfig small_seq2seq() {
  return {.vocab_size = 17,
          .d_model = 24,
          .encoder_layers = 2,
          .decoder_layers = 2,
          .encoder_attention_heads = 4,
          .decoder_attention_heads = 4,
          .encoder_ffn_dim = 48,
          .decoder_ffn_dim = 48,
          .max_position_embeddings = 16};
}

inline BertConfig small_bert() {
  return {.vocab_size = 19,
          .hidden_size = 24,
          .num_hidden_layers = 2,
          .num_attention_heads = 4,
          .intermediate_size = 40,
          .max_position_embeddings = 12};
}

}  // namespace headlight::models
