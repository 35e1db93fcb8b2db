// Trace: a run as a list of tensors, each with what it was computed from.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/explain/input.h"
#include "headlight/explain/traced_tensor.h"

namespace headlight::explain {

class Trace;

// Numbers that grow with queries times keys: computed when they are asked for.
class LateValues {
 public:
  virtual ~LateValues() = default;
  // All of them (`head` < 0), or without the head axis those of one, by its position along it.
  virtual tensor::Tensor values(const Trace& trace, int64_t head) const = 0;
  virtual double value(const Trace& trace, const std::vector<int64_t>& index) const = 0;
};

// Names are those of TracedTensor or, for one head, "<place>.head.<number>.<tensor>", which stands
// for the tensor without its head axis. Names that there are not are Error(bad_input) with the
// nearest.
class Trace {
 public:
  Trace(base::ThreadPool& threads, Input input, const nn::Parameters& parameters);

  const Input& input() const noexcept { return input_; }
  // What the run said of itself, for those who look at heads.
  const autograd::Recording& recording() const noexcept { return *recording_; }
  autograd::Recording& record(std::function<bool(std::string_view place)> keeps = {});
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

  // The engine's numbers, contiguous; ids are int64, masks boolean. What grows with queries times
  // keys is computed when it is asked for, to the bits of the run.
  tensor::Tensor values(std::string_view name) const;
  // One number of a tensor or parameter; the index is whole ((B, ...)) and within the shape.
  double value(const TracedTensor& tensor, const std::vector<int64_t>& index) const;
  // Labels of an axis of the size that the tensor has there; empty where positions are numbers.
  std::vector<std::string> labels(Axis axis) const;
  // About how much memory it holds, parameters aside.
  uint64_t bytes() const;
  // How many heads an attention has lost that has none left; 0 for others.
  int64_t heads_lost_at(std::string_view place) const;

  // For those who build and extend traces.
  void add(TracedTensor tensor, tensor::Tensor values);
  void add(TracedTensor tensor, std::shared_ptr<const LateValues> values);
  void set_heads_lost(const std::string& place, int64_t heads) { heads_lost_[place] = heads; }

 private:
  void add_tensor(TracedTensor tensor);
  void use_parameter(const std::string& name);

  base::ThreadPool* threads_;
  Input input_;
  std::shared_ptr<autograd::Recording> recording_;
  std::map<std::string, nn::ParameterHandle, std::less<>> model_parameters_;
  std::vector<TracedTensor> tensors_;
  std::vector<TracedTensor> parameters_;
  std::map<std::string, size_t, std::less<>> places_;            // in tensors_
  std::map<std::string, size_t, std::less<>> parameter_places_;  // in parameters_
  std::map<std::string, tensor::Tensor, std::less<>> values_;
  std::map<std::string, std::shared_ptr<const LateValues>, std::less<>> late_;
  std::map<std::string, int64_t, std::less<>> heads_lost_;  // where none is left
};

struct TraceOptions {
  std::set<int64_t> layers = {};     // those to show; empty: all
  std::function<void()> go_on = {};  // called at each operation; what it throws ends the run
};

// Throws Error(bad_input) unless it is one sequence without padding. Runs the model once, without a
// tape, and keeps handles on its parameters: their numbers are read when they are asked for, so a
// trace is to be used up before the model is trained on.
Trace trace_model(base::ThreadPool& threads, const models::Model& model, const Input& input,
                  const TraceOptions& options = {});

// The same of any computation: `run` is called once with a context that records. The input is for
// labels alone and may be left out.
Trace trace_run(base::ThreadPool& threads, const nn::Parameters& parameters,
                const std::function<void(autograd::Context& context)>& run, const Input& input = {},
                const TraceOptions& options = {});

}  // namespace headlight::explain
