// Reading config.json key by key; each mistake names the file, the key and the range. Inside models
// only.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/models/model.h"

namespace headlight::models {

// Bounds that no model reaches, far below where sums and products of sizes overflow.
inline constexpr int64_t kMostLayers = 1000;
inline constexpr int64_t kMostWidth = 1'000'000;
inline constexpr int64_t kMostIds = 10'000'000;  // of vocabularies and positions

// What becomes of a special id that the vocabulary does not have. Hugging Face's configurations
// name GPT-2's own whatever the vocabulary is: there it means that there is none.
enum class OutsideIds { refused, none };

class ConfigReader {
 public:
  // Throws Error(bad_input) unless `json` is an object. Both must outlive the reader. `prefix`, for
  // an object within the file, stands before the keys of errors: "rope_scaling.".
  ConfigReader(const io::Json& json, const std::string& path, std::string prefix = {});

  // From 1 to `most`. A missing key is an error, and so is null.
  int64_t size(std::string_view key, int64_t most) const;
  // Missing or null: `otherwise`.
  int64_t size(std::string_view key, int64_t most, int64_t otherwise) const;
  int64_t integer(std::string_view key, int64_t least, int64_t most, int64_t otherwise) const;
  // Above 0 and below 1; 0 too when `zero` says so.
  float fraction(std::string_view key, bool zero, float otherwise) const;
  // Any number above 1e-30 and below 1e30.
  double positive(std::string_view key, double otherwise) const;
  bool boolean(std::string_view key, bool otherwise) const;
  // One of `choices`, listed when it is not.
  std::string_view choice(std::string_view key, std::span<const std::string_view> choices) const;
  std::string_view choice(std::string_view key, std::span<const std::string_view> choices,
                          std::string_view otherwise) const;
  // A list of exactly `count` of these words; nothing when it is missing or null.
  std::optional<std::vector<std::string_view>> choices(std::string_view key,
                                                       std::span<const std::string_view> choices,
                                                       int64_t count) const;
  // "relu", "gelu" (exact), "gelu_new" (the tanh form) or "silu", and other programs' names of
  // them.
  nn::Activation activation(std::string_view key, nn::Activation otherwise) const;
  // pad_token_id, bos_token_id, eos_token_id (or a list of them) and decoder_start_token_id; what
  // is banned are suppress_tokens and those of bad_words_ids that are one id.
  SpecialIds special_ids(int64_t vocab_size, OutsideIds outside) const;
  // Throws unless the key is absent or has this value.
  void require(std::string_view key, const io::Json& value) const;
  // Throws when the key is there and is neither null, false nor empty: what it asks for is not
  // computed. `what` says it and the way out.
  void refuse_if_set(std::string_view key, const std::string& what) const;
  // Throws when two spellings of one setting have different values.
  void require_same(std::string_view key, std::string_view other) const;
  // The spelling of a setting that is there; `key` when both or none are.
  std::string_view spelling(std::string_view key, std::string_view other) const;
  // Throws when heads do not divide the width.
  void check_heads(std::string_view key, int64_t heads, int64_t width) const;

  [[noreturn]] void refuse(std::string_view key, const std::string& why) const;

  // What stands there, for lists and objects; null counts as absent and gives nullptr.
  const io::Json* find(std::string_view key) const;
  bool has(std::string_view key) const { return json_.find(key) != nullptr; }  // null too
  // Whether a key has been asked for by any of the above.
  bool asked(std::string_view key) const { return asked_.contains(key); }
  const io::Json& json() const noexcept { return json_; }
  const std::string& path() const noexcept { return path_; }

 private:
  std::optional<int64_t> id(std::string_view key, int64_t vocab_size, OutsideIds outside) const;
  std::optional<int64_t> id_of(std::string_view key, const io::Json& value, int64_t vocab_size,
                               OutsideIds outside) const;
  std::vector<int64_t> banned_ids(int64_t vocab_size, const SpecialIds& ids) const;

  const io::Json& json_;
  const std::string& path_;
  std::string prefix_;
  mutable std::set<std::string, std::less<>> asked_;
};

// Throws where the configuration says that the weights are quantized.
void refuse_quantized(const ConfigReader& reader);
// Throws for settings of Hugging Face's configurations that change the numbers of a model of one
// stack and are not computed here.
void refuse_foreign_settings(const ConfigReader& reader);
// Throws for a setting that changes the numbers of some family of models and has not been asked
// for: models of type `type` do not compute it.
void refuse_unread_settings(const ConfigReader& reader, std::string_view type);
// Whether a folder's tensors have this prefix.
bool any_starts_with(const io::StoredTensors& tensors, std::string_view prefix);
// Adds the members that special_ids() reads.
void write_special_ids(io::Json::Object& config, const SpecialIds& ids);
// A float as the shortest double that reads back the same, so that 1e-5 is written as 1e-5.
double short_number(float number);

}  // namespace headlight::models
