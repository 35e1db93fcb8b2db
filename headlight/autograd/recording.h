// Recording: keeps what a run shows: the tensors of places that are wanted, and what operations
// report of themselves, as a list of steps over numbered values.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/autograd/report.h"

namespace headlight::autograd {

struct RecordingOptions {
  // Places whose tensors are kept as they are shown; none without it.
  std::function<bool(std::string_view place)> wants = {};
  // Whether operations report themselves, and of which places; of all without `keeps`. Reports
  // without a place go with the name that comes next.
  bool reports = true;
  std::function<bool(std::string_view place)> keeps = {};
};

// Two Values are one when they are the same numbers in memory, whatever handle they come by; what
// is recorded is kept, so memory is not used again while the Recording lives. Handles, not copies.
class Recording : public Observer {
 public:
  static constexpr int64_t kUnknown = -1;

  // A value, or a part of one: `begin` has one number per axis of the whole, and is empty for all
  // of it.
  struct Source {
    int64_t value = kUnknown;
    std::vector<int64_t> begin = {};
    bool is_whole() const { return begin.empty(); }
  };
  struct Input {
    std::string role;
    Source source;
    Value value;
  };
  struct Output {
    std::string role;
    int64_t value = kUnknown;
  };
  // One report; or a name that was given to a value, its one output. `named` is where that value
  // comes from: itself, or a wider one that it is a part of.
  struct Step {
    Report report;
    std::vector<Input> inputs = {};
    std::vector<Output> outputs = {};
    std::string name = {};  // given to `named`
    Source named = {};

    bool is_name() const { return !name.empty(); }
    const Input* input(std::string_view role) const;
    // kUnknown where there is none.
    int64_t output(std::string_view role) const;
    // An attribute of the report; nullptr where there is none.
    const AttributeValue* attribute(std::string_view name) const;
    double number(std::string_view name, double otherwise = 0) const;
    std::string word(std::string_view name) const;
  };

  explicit Recording(RecordingOptions options = {}) : options_(std::move(options)) {}

  // A value that is there before the run: a parameter, or an input.
  int64_t know(const Value& value);

  bool wants(std::string_view place) override { return options_.wants && options_.wants(place); }
  void see(std::string_view place, const tensor::Tensor& values) override;
  bool listens() const override { return options_.reports; }
  void report(const Report& report) override;
  void name(std::string_view place, const Value& value) override;

  // The tensors that were wanted and shown, by place; of places that were shown twice the last.
  using SeenTensors = std::map<std::string, tensor::Tensor, std::less<>>;
  const SeenTensors& seen() const noexcept { return seen_; }
  // Throws Error(bad_input) for a place that was not shown.
  const tensor::Tensor& seen(std::string_view place) const;

  const std::vector<Step>& steps() const noexcept { return steps_; }
  const Value& value(int64_t number) const { return values_[static_cast<size_t>(number)]; }
  int64_t value_count() const noexcept { return static_cast<int64_t>(values_.size()); }
  // The last value that was given this name; not defined where there is none.
  Value find(std::string_view name) const;
  // The operation of this name at this place; nullptr where there is none.
  const Step* operation_at(std::string_view place) const;

 private:
  int64_t add(const Value& value);
  Source source_of(const Value& value) const;
  void commit(Step step);

  RecordingOptions options_;
  SeenTensors seen_;
  std::vector<Value> values_;
  std::multimap<const void*, int64_t> by_memory_;
  std::vector<Step> steps_;
  std::vector<Report> pending_;  // without a place, and not yet kept or left out
};

}  // namespace headlight::autograd
