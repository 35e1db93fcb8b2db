// Trace: a run as a list of tensors, each with what it was computed from.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/explain/input.h"
#include "headlight/explain/recording.h"
#include "headlight/explain/traced_tensor.h"

namespace headlight::explain {

class Reconstruction;

// Names are those of TracedTensor or, for one head, "<place>.head.<h>.<tensor>", which stands for
// the tensor without its head axis. Names that there are not are Error(bad_input) with the nearest.
class Trace {
 public:
  Trace(base::ThreadPool& threads, Input input, const nn::Parameters& parameters);
  Trace(Trace&&) noexcept;
  Trace& operator=(Trace&&) noexcept;
  ~Trace();

  const Input& input() const noexcept { return input_; }
  base::ThreadPool& threads() const noexcept { return *threads_; }

  // In the order in which the numbers come about; operands stand before what is made of them.
  const std::vector<TracedTensor>& tensors() const noexcept { return tensors_; }
  // The parameters that are operands, in the order of their first use.
  const std::vector<TracedTensor>& parameters() const noexcept { return parameters_; }
  // A tensor or a parameter by its whole name; nullptr when there is none.
  const TracedTensor* find(std::string_view name) const;
  const TracedTensor& at(std::string_view name) const;
  // Whether it is a tensor of the trace or any parameter of the model.
  bool knows(std::string_view name) const;
  // The tensors of one step of the walk, in order. 12: scaled and masked scores and weights of the
  // self-attention that has a causal mask. Variants are not among them.
  std::vector<const TracedTensor*> of_step(int step) const;

  // The engine's numbers, contiguous; ids are int64. Scores, weights and weighted values are
  // computed when they are asked for, from the run's own queries, keys, maxima and sums.
  tensor::Tensor values(std::string_view name) const;
  // One number of a tensor or parameter; the index is whole ((B, ...)) and within the shape.
  double value(const TracedTensor& tensor, const std::vector<int64_t>& index) const;
  // Labels of an axis of the size that the tensor has there; empty where positions are numbers.
  std::vector<std::string> labels(Axis axis) const;

  // For those who build and extend traces. `values` may be absent for what is reconstructed of an
  // attention: stages at `place`, from query, key and value that have been added at `inputs`.
  void add(TracedTensor tensor, tensor::Tensor values);
  void add_attention(const std::string& place, const std::string& inputs, float scale, bool causal);
  // One stage of an attention that was added, by its public name.
  tensor::Tensor stage(const std::string& place, std::string_view name) const;

 private:
  void use_parameter(const std::string& name);

  base::ThreadPool* threads_;
  Input input_;
  std::map<std::string, nn::ParameterHandle, std::less<>> model_parameters_;
  std::vector<TracedTensor> tensors_;
  std::vector<TracedTensor> parameters_;
  std::map<std::string, size_t, std::less<>> places_;            // in tensors_
  std::map<std::string, size_t, std::less<>> parameter_places_;  // in parameters_
  std::map<std::string, tensor::Tensor, std::less<>> values_;
  std::unique_ptr<Reconstruction> reconstruction_;
};

struct TraceOptions {
  std::set<int64_t> layers = {};  // those to show; empty: all
};

// Throws Error(bad_input) unless it is one sequence without padding. Runs the model once, without a
// tape, and keeps handles on its parameters: their numbers are read when they are asked for, so a
// trace is to be used up before the model is trained on.
Trace trace_model(base::ThreadPool& threads, const models::Model& model, const Input& input,
                  const TraceOptions& options = {});

}  // namespace headlight::explain
