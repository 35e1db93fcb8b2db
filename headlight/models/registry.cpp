// The list of architectures, and what is asked of it.
#include "headlight/models/registry.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "headlight/models/bert.h"
#include "headlight/models/bert_kin.h"
#include "headlight/models/gpt.h"
#include "headlight/models/gpt_neo.h"
#include "headlight/models/gpt_neox.h"
#include "headlight/models/llama.h"
#include "headlight/models/marian.h"
#include "headlight/models/modernbert.h"
#include "headlight/models/opt.h"
#include "headlight/models/seq2seq.h"
#include "headlight/models/t5.h"

namespace headlight::models {
namespace {

// "a", "a or b", "a, b or c".
std::string alternatives(const std::vector<std::string_view>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

void check_sizes(std::string_view model_type, const ModelRequest& request) {
  const auto layers = [&request](int64_t own) { return own > 0 ? own : request.n_layer; };
  const std::pair<const char*, int64_t> sizes[] = {
      {"vocab_size", request.vocab_size},
      {"n_layer", std::min(layers(request.n_encoder_layer), layers(request.n_decoder_layer))},
      {"n_head", request.n_head},
      {"n_embd", request.n_embd},
      {"block_size", request.block_size}};
  for (const auto& [key, size] : sizes) {
    if (size < 1)
      base::refuse(model_type, key, "is " + std::to_string(size) + ", at least 1 is needed");
  }
  if (request.n_embd % request.n_head != 0) {
    base::refuse(model_type, "n_embd",
                 std::to_string(request.n_embd) + " is not a multiple of n_head " +
                     std::to_string(request.n_head));
  }
  if (request.n_kv_head > 0 && request.n_head % request.n_kv_head != 0) {
    base::refuse(model_type, "n_kv_head",
                 std::to_string(request.n_head) + " heads cannot share " +
                     std::to_string(request.n_kv_head) + " key and value heads evenly");
  }
}

}  // namespace

Registry::Registry(std::vector<Architecture> architectures)
    : architectures_(std::move(architectures)) {}

const Architecture* Registry::find(std::string_view model_type) const {
  const auto found = std::ranges::find(architectures_, model_type, &Architecture::model_type);
  return found == architectures_.end() ? nullptr : &*found;
}

std::vector<std::string_view> Registry::types() const {
  std::vector<std::string_view> types;
  for (const Architecture& architecture : architectures_) types.push_back(architecture.model_type);
  return types;
}

std::string Registry::types_that(std::initializer_list<bool Capabilities::*> any_of) const {
  std::vector<std::string_view> types;
  for (const Architecture& architecture : architectures_) {
    const auto has = [&architecture](bool Capabilities::*capability) {
      return architecture.capabilities.*capability;
    };
    if (std::ranges::any_of(any_of, has)) types.push_back(architecture.model_type);
  }
  return alternatives(types);
}

ModelPlan Registry::plan(std::string_view model_type, const ModelRequest& request) const {
  const Architecture* architecture = find(model_type);
  if (architecture != nullptr && architecture->fresh != nullptr) {
    check_sizes(model_type, request);
    if (const auto fault = fault_of(request, architecture->choices, model_type)) {
      base::refuse(model_type, fault->key, fault->why);
    }
    return architecture->fresh(completed(request, architecture->choices));
  }
  std::vector<std::string_view> fresh;
  for (const Architecture& one : architectures_) {
    if (one.fresh != nullptr) fresh.push_back(one.model_type);
  }
  base::refuse("model", model_type,
               std::string(architecture == nullptr ? "is unknown" : "is only read from folders") +
                   "; trained from scratch: " + alternatives(fresh));
}

const Registry& known_architectures() {
  static const Registry registry([] {
    std::vector<Architecture> all = {gpt2_architecture(), bert_architecture(),
                                     seq2seq_architecture()};
    std::ranges::move(llama_architectures(), std::back_inserter(all));
    for (const Architecture& one :
         {gpt_neox_architecture(), gpt_neo_architecture(), opt_architecture(),
          roberta_architecture(), distilbert_architecture(), albert_architecture(),
          modernbert_architecture(), marian_architecture(), t5_architecture()}) {
      all.push_back(one);
    }
    return all;
  }());
  return registry;
}

}  // namespace headlight::models
