// State dictionaries into parameters, with one error for all that does not fit.
#include "headlight/nn/state.h"

#include <algorithm>
#include <set>

namespace headlight::nn {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::DType;
using tensor::Tensor;

bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

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

  void compare(const Parameter& parameter, const StateDict& state) {
    const auto found = state.find(parameter.name());
    if (found == state.end()) {
      missing.push_back(parameter.name());
      return;
    }
    const Tensor& tensor = found->second;
    if (tensor.shape() == parameter.shape() && is_float(tensor.dtype())) return;
    misshapen.push_back(parameter.name() + " is " + name_of(tensor.dtype()) + " " +
                        tensor.shape().text() + " and should be " + parameter.shape().text());
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

void load_state(const Parameters& parameters, const StateDict& state, const IgnoredNames& ignored,
                const std::string& where) {
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
  for (const ParameterHandle& parameter : parameters) {
    parameter->assign(to_float32(state.at(parameter->name())));
  }
}

bool is_mask_buffer(const std::string& name, const Tensor& tensor) {
  const std::string last = name.substr(name.rfind('.') + 1);
  if (last == "mask" || last == "masked_bias") return true;
  const tensor::Shape& shape = tensor.shape();
  return last == "bias" && shape.rank() == 4 && shape[0] == 1 && shape[1] == 1 &&
         shape[2] == shape[3];
}

StateDict save_state(const Parameters& parameters) {
  StateDict state;
  for (const ParameterHandle& parameter : parameters) {
    state[parameter->name()] = parameter->value().data();
  }
  return state;
}

}  // namespace headlight::nn
