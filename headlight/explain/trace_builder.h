// TraceBuilder: turns what a run reported of itself into the tensors of a trace. It knows no
// operation: each report is handed to the file of operations/ that expands it. Inside explain only.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "headlight/explain/operation.h"
#include "headlight/explain/trace.h"

namespace headlight::explain {

class TraceBuilder {
 public:
  using Source = autograd::Recording::Source;
  using Input = autograd::Recording::Input;

  // With a variant's key, tensors are named "variant.<key>.<name>".
  TraceBuilder(Trace& trace, const autograd::Recording& recording, std::string variant = "");

  // A value that was there before the run has this name.
  void know(int64_t value, const std::string& name) { latest_[value] = name; }
  // Puts every step of the recording, in order.
  void build();
  // Everything that is put from now on is listed here too, in order.
  void list_names(std::vector<std::string>* names) { names_ = names; }
  // The values that were put, by name.
  const std::map<std::string, int64_t, std::less<>>& values() const { return values_; }

  // For expansions. -----------------------------------------------------------------------------

  Trace& trace() { return trace_; }
  const autograd::Recording& recording() const { return recording_; }
  const tensor::Tensor& tensor(int64_t value) const { return recording_.value(value).data(); }

  // What an input is called at this moment; a value that nobody named is put under "<for>.<role>"
  // first. Empty: it comes from what was left out.
  std::string name_of(const Input& input, const std::string& used_for);
  // The name that a value is given next, from the step that is being put on; empty: none.
  std::string next_name(int64_t value) const { return given_name(value, current_); }
  // The step that made a value that has no name yet; nullptr: it has one, or comes from elsewhere.
  const RecordedStep* unnamed_maker(const Source& source) const;
  // The value that is known to be this sum already; kUnknown: none. Remembers it otherwise.
  int64_t same_sum(const std::vector<int64_t>& operands, int64_t value);

  // Adds the tensor, with its name, text and variant completed. An operand that was left out makes
  // it an input. `value` is the recorded one that it is; kUnknown: none.
  void put(TracedTensor tensor, const tensor::Tensor& values,
           int64_t value = autograd::Recording::kUnknown);
  void put(TracedTensor tensor, std::shared_ptr<const LateValues> values);
  // The same numbers under another name.
  void put_copy(const std::string& name, const std::string& original, int64_t value);

  // Of what is put from now on, the axis of heads has these numbers, where a tensor has not its
  // own.
  struct Heads {
    std::vector<int64_t> numbers = {};  // empty: they count from 0
    int64_t original = 0;
  };
  void number_heads(Heads heads) { heads_ = std::move(heads); }

  // "variant.scale.none.encoder.0.self.scores" of "encoder.0.self.scores", where the builder is one
  // of a variant.
  std::string full_name(const std::string& name) const;
  // What the trace knows under this name, or under its variant's.
  const TracedTensor* find(const std::string& name) const;
  // The axis of tokens that the side of the model has to which a name belongs ("encoder...").
  Axis tokens_of(const std::string& name) const;
  // The axes of an operand; rows of columns where it is not known.
  std::vector<Axis> axes_of(const std::string& operand, const std::string& name, int rank) const;

 private:
  void put_step(size_t number);
  void put_name(const RecordedStep& step);
  void put_given(const std::string& name, int64_t value);
  std::string given_name(int64_t value, size_t after) const;
  TracedTensor completed(TracedTensor tensor) const;
  void number_heads_of(TracedTensor& tensor) const;

  Trace& trace_;
  const autograd::Recording& recording_;
  std::string variant_;
  std::map<int64_t, std::string> latest_;  // the name that a value was put under last
  std::map<int64_t, size_t> makers_;       // the step that made it
  std::map<std::vector<int64_t>, int64_t> sums_;
  std::map<std::string, int64_t, std::less<>> values_;
  std::set<std::string> put_;  // names of all that was put
  std::vector<std::string>* names_ = nullptr;
  size_t current_ = 0;
  Heads heads_;
};

// How the numbers of an operand are found in a trace: [begin, ...) of it, along one axis.
int64_t begin_along(const autograd::Recording::Source& source, int axis);

}  // namespace headlight::explain
