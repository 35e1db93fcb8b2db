// What every model does in the same way, and what is said where one cannot do something.
#include "headlight/models/model.h"

#include <algorithm>
#include <cstring>

#include "headlight/models/classifier.h"
#include "headlight/models/registry.h"

namespace headlight::models {

namespace {

[[noreturn]] void refuse_tensor(const std::string& where, const std::string& why) {
  throw base::Error(base::ErrorKind::bad_input, "load", where, why);
}

const nn::Parameter& named(const nn::Parameters& parameters, const std::string& name) {
  return **std::ranges::find(parameters, name, [](const auto& one) { return one->name(); });
}

void check_copy(const Model::TiedCopy& copy, const nn::StoredTensor& tensor,
                const tensor::Shape& shape, const std::string& where) {
  if (tensor.shape == shape && nn::is_weight_type(tensor.dtype)) return;
  refuse_tensor(where, "1 of the wrong shape or type: " + copy.name + " is " +
                           name_of(tensor.dtype) + " " + tensor.shape.text() + " and should be " +
                           shape.text() + ", it is tied to " + copy.original);
}

}  // namespace

void Model::check_state(const nn::StoredState& state, const std::string& where) const {
  const std::vector<TiedCopy> copies = tied_copies();
  const nn::Parameters all = parameters();
  const auto may_be_there = [&](const std::string& name, const nn::StoredTensor& tensor) {
    return std::ranges::find(copies, name, &TiedCopy::name) != copies.end() ||
           ignores(name, tensor);
  };
  nn::check_state(all, state, may_be_there, where);
  for (const TiedCopy& copy : copies) {
    const auto found = state.find(copy.name);
    if (found == state.end()) continue;
    check_copy(copy, found->second, named(all, copy.original).shape(), where);
  }
}

void Model::load_state(const nn::StoredState& state, const std::string& where,
                       const nn::LoadOptions& options) {
  check_state(state, where);
  const nn::Parameters all = parameters();
  nn::load_state(all, state, {}, where, options);
  for (const TiedCopy& copy : tied_copies()) {
    const auto found = state.find(copy.name);
    if (found == state.end()) continue;
    const Tensor numbers = tensor::to_float32(found->second.load());
    const Tensor original = named(all, copy.original).borrowed();
    if (std::memcmp(numbers.raw(), original.raw(), original.bytes()) == 0) continue;
    refuse_tensor(where, copy.name + " has other numbers than " + copy.original +
                             ", to which the model ties it; leave one of them out");
  }
}

std::unique_ptr<Model> Model::with_heads(const HeadsLeft& /*left*/) const {
  base::refuse(type(), "heads", "models of this type cannot lose any");
}

std::vector<const nn::MultiHeadAttention*> attentions_of(const Model& model) {
  std::vector<const nn::MultiHeadAttention*> all;
  const Parts parts = model.parts();
  for (const nn::TransformerStack* stack : {parts.encoder, parts.decoder}) {
    if (stack == nullptr) continue;
    for (const nn::TransformerBlock& block : stack->blocks()) {
      all.push_back(&block.self());
      if (block.cross() != nullptr) all.push_back(block.cross());
    }
  }
  return all;
}

HeadsLeft heads_left_of(const Model& model) {
  HeadsLeft left;
  for (const nn::MultiHeadAttention* attention : attentions_of(model)) {
    const nn::HeadSet& heads = attention->heads();
    if (!heads.is_whole()) left[attention->options().place] = heads.numbers;
  }
  return left;
}

Tensor Model::next_logits(Context& context, const Batch& batch) const {
  return logits(context, last_rows(context, forward(context, batch), batch.lens)).data();
}

Decoding Model::start(Context& /*context*/, const Batch& /*source*/) const {
  base::refuse(type(), "decoding",
               "the model does not write text; that takes " +
                   known_architectures().types_that(
                       {&Capabilities::continues_prompt, &Capabilities::translates}));
}

Tensor Model::sentence_vectors(Context& /*context*/, const Value& /*output*/,
                               const Tensor& /*lens*/, Pooling /*pooling*/) const {
  base::refuse(type(), "sentence vectors",
               "the model gives none; that takes " +
                   known_architectures().types_that({&Capabilities::embeds}));
}

Value Model::class_logits(Context& context, const Value& output, const Batch& batch) const {
  if (classifier() == nullptr) {
    base::refuse(type(), "classes",
                 "the model has no head that classifies; folders with one are made by "
                 "…ForSequenceClassification");
  }
  return classifier()->logits(context, output, batch);
}

Value Model::class_loss(Context& context, const Value& output, const Batch& batch,
                        const Tensor& labels) const {
  const Value logits = class_logits(context, output, batch);
  if (classifier()->classes().problem != ClassProblem::single_label) {
    base::refuse(type(), "loss", "only that of single_label_classification is computed");
  }
  return autograd::cross_entropy(context, logits, labels);
}

void Model::run_head(Context& context, const Value& output, const Batch& batch) const {
  if (has_logits()) {
    logits(context, output);
  } else if (classifier() != nullptr) {
    class_logits(context, output, batch);
  }
}

}  // namespace headlight::models
