// VariantBuilder: tensors of a trace over again, computed in another way. Inside explain only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "headlight/explain/variants.h"

namespace headlight::explain {

class VariantBuilder {
 public:
  // Without keys, all variants are wanted.
  VariantBuilder(Trace& trace, const models::Model& model, std::string place,
                 std::set<std::string> keys = {})
      : trace_(trace), model_(model), place_(std::move(place)), wanted_(std::move(keys)) {}

  std::vector<Variant> build();

 private:
  bool wants(const std::string& key) const { return wanted_.empty() || wanted_.contains(key); }
  // The run's own way, and what is begun of another one; with the formula that sets it apart.
  void own(const std::string& key, const std::vector<std::string>& tensors,
           const std::string& formula = "");
  void begin(const std::string& key, const std::string& formula = "");
  // A tensor of the run in the variant begun: its operands are the variant's where it has them.
  TracedTensor again(const std::string& name) const;
  // Adds it, unless an earlier call has.
  void add(TracedTensor tensor, tensor::Tensor values = {});
  // Ends the variant begun: its last tensor stands for `result_of`.
  void finish(const std::string& result_of);
  static std::string formula_of(const std::string& key, const std::string& formula) {
    return formula.empty() ? "variant." + key : formula;
  }
  std::string varied(const std::string& name) const { return "variant." + key_ + "." + name; }

  void build_scales();
  void build_norms();
  void build_norm_orders(const nn::TransformerBlock& block);
  void build_pre_norm(const nn::TransformerBlock& block);
  void build_post_norm(const nn::TransformerBlock& block);
  void add_norm(const std::string& place, const Recording& recording);
  void add_attention(const std::string& place, const std::string& input,
                     const Recording& recording);
  void build_deviation(const std::string& key, const std::string& attribute);
  void build_feed_forward(const nn::TransformerBlock& block);
  void build_positions();
  void build_prediction();

  const nn::TransformerBlock* block() const;
  int step() const;

  Trace& trace_;
  const models::Model& model_;
  std::string place_;
  std::set<std::string> wanted_;
  std::string key_;
  std::string formula_;
  std::set<std::string> renamed_;
  std::vector<std::string> names_;
  std::vector<Variant> variants_;
};

}  // namespace headlight::explain
