// State dictionaries into parameters, with one error for all that does not fit.
#include "headlight/nn/state.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace headlight::nn {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::DType;
using tensor::Tensor;

// What people keep beside a module in one file: the arrays that it is run on.
constexpr std::string_view kInputNames[] = {
    "x",        "query",     "key",         "value",      "queries", "keys",       "values",
    "grad_out", "keep_mask", "forbid_mask", "valid_lens", "keep",    "head_gates", "past"};

// "2 missing: a, b" with at most five of them.
std::string listed(const std::vector<std::string>& names, const char* kind) {
  constexpr size_t kShown = 5;
  std::string text = std::to_string(names.size()) + " " + kind + ": ";
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i > 0 ? ", " : "") + names[i];
  }
  return names.size() > kShown ? text + ", ..." : text;
}

// What does not fit, by kind.
struct StateDifferences {
  std::vector<std::string> missing;
  std::vector<std::string> misshapen;
  std::vector<std::string> unexpected;

  void compare(const Parameter& parameter, const StoredState& state) {
    const auto found = state.find(parameter.name());
    if (found == state.end()) {
      missing.push_back(parameter.name());
      return;
    }
    const StoredTensor& tensor = found->second;
    const bool has_type = is_weight_type(tensor.dtype);
    if (tensor.shape == parameter.shape() && has_type) return;
    misshapen.push_back(parameter.name() + " is " + name_of(tensor.dtype) + " " +
                        tensor.shape.text() + " and should be " +
                        (has_type ? "" : "float32, float16 or bfloat16 ") +
                        parameter.shape().text());
  }

  void refuse_any(const std::string& where) const {
    std::string why;
    const auto add = [&why](const std::vector<std::string>& names, const char* kind) {
      if (!names.empty()) why += (why.empty() ? "" : "; ") + listed(names, kind);
    };
    add(missing, "missing");
    add(misshapen, "of the wrong shape or type");
    add(unexpected, "unexpected");
    if (!why.empty()) throw Error(ErrorKind::bad_input, "load", where, why);
  }
};

}  // namespace

std::string name_prefix(const std::string& prefix) {
  if (prefix.empty() || prefix.back() == '.' || prefix.back() == '/') return prefix;
  return prefix + '.';
}

bool is_weight_type(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

StoredState stored(const StateDict& state) {
  StoredState result;
  for (const auto& [name, tensor] : state) {
    result[name] = {tensor.dtype(), tensor.shape(), [tensor = tensor] { return tensor; }, {}};
  }
  return result;
}

void check_state(const Parameters& parameters, const StoredState& state,
                 const IgnoredNames& ignored, const std::string& where) {
  StateDifferences differences;
  std::set<std::string> expected;
  for (const ParameterHandle& parameter : parameters) {
    differences.compare(*parameter, state);
    expected.insert(parameter->name());
  }
  for (const auto& [name, tensor] : state) {
    if (ignored && !expected.contains(name) && !ignored(name, tensor)) {
      differences.unexpected.push_back(name);
    }
  }
  differences.refuse_any(where);
}

void load_state(const Parameters& parameters, const StateDict& state, const IgnoredNames& ignored,
                const std::string& where) {
  load_state(parameters, stored(state), ignored, where);
}

bool is_mask_buffer(const std::string& name, const StoredTensor& tensor) {
  const std::string last = name.substr(name.rfind('.') + 1);
  const tensor::Shape& shape = tensor.shape;
  if (last == "masked_bias") return shape.elements() == 1;
  const int rank = shape.rank();
  const bool is_square =
      rank >= 2 && shape[-1] == shape[-2] && shape.elements() == shape[-1] * shape[-2];
  return is_square && (last == "mask" || (last == "bias" && rank == 4));
}

IgnoredNames beside_module(const std::string& prefix) {
  return [whole = name_prefix(prefix)](const std::string& name, const StoredTensor& tensor) {
    if (!name.starts_with(whole) || is_mask_buffer(name, tensor)) return true;
    return std::ranges::find(kInputNames, name.substr(whole.size())) != std::end(kInputNames);
  };
}

StateDict save_state(const Parameters& parameters) {
  StateDict state;
  for (const ParameterHandle& parameter : parameters) {
    state[parameter->name()] = parameter->value().data();
  }
  return state;
}

}  // namespace headlight::nn
