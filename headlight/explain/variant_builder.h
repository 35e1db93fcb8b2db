// VariantBuilder: tensors of a trace over again, computed in another way. The ways themselves are
// in the files of operations/. Inside explain only.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "headlight/explain/trace_builder.h"
#include "headlight/explain/variants.h"

namespace headlight::explain {

class VariantBuilder {
 public:
  // Without keys, all variants are wanted.
  VariantBuilder(Trace& trace, const models::Model& model, std::string place,
                 std::set<std::string> keys = {})
      : trace_(trace), model_(model), place_(std::move(place)), wanted_(std::move(keys)) {}

  Trace& trace() { return trace_; }
  const models::Model& model() const { return model_; }
  const std::string& place() const { return place_; }
  // The block that the place belongs to; nullptr: none.
  const nn::TransformerBlock* block() const;

  // The run's own way, with the formula that sets it apart.
  void own(const std::string& key, const std::vector<std::string>& tensors,
           const std::string& formula = "");
  // Begins another one; false: nobody wants it.
  bool begin(const std::string& key, const std::string& formula = "");
  // A tensor of the run in the variant begun: its operands are the variant's where it has them.
  TracedTensor again(const std::string& name) const;
  // Adds it, unless an earlier call has.
  void add(TracedTensor tensor, tensor::Tensor values);
  // Runs a part of the model once more on tensors of the trace, and puts what it reports into the
  // variant. `run` is given the tensors as Values, in order.
  using Run =
      std::function<void(autograd::Context& context, const std::vector<autograd::Value>& inputs)>;
  void record(const std::vector<std::string>& inputs, const Run& run);
  // The same for other expansions than the operations' own: `put` is given each report.
  using Put = std::function<void(TraceBuilder& builder, const RecordedStep& step)>;
  void record(const std::vector<std::string>& inputs, const Run& run, const Put& put);
  // Ends the variant begun: its last tensor stands for `result_of`.
  void finish(const std::string& result_of);

  const std::string& formula() const { return formula_; }
  std::string varied(const std::string& name) const { return "variant." + key_ + "." + name; }

  std::vector<Variant> take() { return std::move(variants_); }

 private:
  bool wants(const std::string& key) const { return wanted_.empty() || wanted_.contains(key); }
  static std::string formula_of(const std::string& key, const std::string& formula) {
    return formula.empty() ? "variant." + key : formula;
  }

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
