// The options of `headlight attend`, checked as far as the command line alone decides.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "apps/cli/program/arguments.h"
#include "headlight/nn/nn.h"

namespace headlight::cli {

// Whole numbers typed as a list, or the place of an array that holds them.
using IntegersOrPlace = std::variant<std::vector<int64_t>, std::string>;

// Of --past, where it is typed or read: far beyond any sequence, and sums with it cannot overflow.
constexpr Range<int64_t> kPastRange = {-(int64_t{1} << 40), int64_t{1} << 40};

struct AttendOptions {
  std::string query;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::optional<int64_t> heads;
  std::optional<int64_t> kv_heads;

  std::optional<std::string> weights;  // a file, or a file and a prefix
  std::optional<nn::AttentionLayout> layout;
  bool additive = false;

  bool causal = false;
  int64_t window = 0;  // 0: none
  std::optional<IntegersOrPlace> past;
  std::optional<IntegersOrPlace> valid_lens;
  std::optional<std::string> keep_mask;
  std::optional<std::string> forbid_mask;
  std::optional<std::string> bias;
  std::optional<std::string> head_gates;
  std::optional<float> scale;
  float softcap = 0;  // 0: none

  std::optional<std::string> out;
  std::optional<std::string> trace;
  std::optional<std::string> grad_out;
  std::optional<std::string> grads;
};

extern const std::span<const Option> kAttendOptions;

// Throws Error(usage).
AttendOptions read_attend_options(Arguments& arguments);

}  // namespace headlight::cli
