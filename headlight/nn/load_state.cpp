// Numbers of files into parameters, some rows at a time, by several threads.
#include <algorithm>
#include <exception>
#include <utility>

#include "headlight/nn/state.h"

namespace headlight::nn {
namespace {

using kernels::PackedMatrix;
using tensor::DType;
using tensor::Tensor;

constexpr int64_t kRunSize = int64_t{1} << 16;  // numbers of some rows, which stay in the cache
constexpr size_t kAlignment = 64;

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// A thread's memory for the rows it reads.
struct Room {
  std::vector<std::byte> stored;
  std::vector<float> floats;
};

// Where the numbers of one parameter go.
class Target {
 public:
  Target(Parameter& parameter, const StoredTensor& stored, bool packed)
      : parameter_(parameter), stored_(stored) {
    if (packed) layout_ = parameter.expected_layout();
    // Columns of 16-bit numbers are packed in pairs.
    if (stored.load_rows && out_in() && inputs() % 2 == 0) packed_dtype_ = stored.dtype;
  }

  bool is_packed() const { return layout_.has_value(); }
  size_t bytes() const {
    if (!layout_) return static_cast<size_t>(stored_.shape.elements()) * sizeof(float);
    return aligned(PackedMatrix::bytes_for(inputs(), outputs(), packed_dtype_));
  }
  // Memory of a packed matrix, from `begin` on.
  void set_memory(const tensor::Block& all, size_t begin) {
    matrix_ = {inputs(), outputs(), packed_dtype_, tensor::Block(all, all.get() + begin)};
  }

  // Rows that are read at a time; all of them where the tensor is not read by rows.
  int64_t rows() const { return stored_.load_rows ? stored_.shape[0] : 1; }
  int64_t run() const {
    if (!stored_.load_rows) return 1;
    const int64_t unit = out_in() ? PackedMatrix::columns_together() : 1;
    return std::max<int64_t>(1, kRunSize / (row_size() * unit)) * unit;
  }

  // `room` is the calling thread's.
  void read(int64_t begin, int64_t count, Room& room) {
    if (!stored_.load_rows) {
      numbers_ = to_float32(stored_.load());
      if (!layout_) return;
      matrix_.set(0, 0, autograd::forward_operand(numbers_, *layout_));
      numbers_ = {};
    } else if (!layout_) {
      read_floats(begin, count, numbers_.mutable_data<float>() + begin * row_size(), room);
    } else if (packed_dtype_ != DType::f32) {
      const std::byte* columns = read_stored(begin, count, room);
      matrix_.set_narrow(begin, count, reinterpret_cast<const uint16_t*>(columns));
    } else {
      room.floats.resize(std::max(room.floats.size(), static_cast<size_t>(count * row_size())));
      read_floats(begin, count, room.floats.data(), room);
      if (out_in()) {
        matrix_.set(0, begin, {room.floats.data(), inputs(), count, 1, inputs()});
      } else {
        matrix_.set(begin, 0, {room.floats.data(), count, outputs(), outputs(), 1});
      }
    }
  }

  void prepare() {
    if (stored_.load_rows && !layout_) numbers_ = Tensor::uninitialized(DType::f32, stored_.shape);
  }
  void finish() {
    if (layout_) {
      parameter_.assign_packed(std::move(matrix_), *layout_);
    } else {
      parameter_.assign(std::move(numbers_));
    }
  }

 private:
  bool out_in() const { return layout_ == WeightLayout::out_in; }
  int64_t inputs() const { return stored_.shape[out_in() ? 1 : 0]; }
  int64_t outputs() const { return stored_.shape[out_in() ? 0 : 1]; }
  int64_t row_size() const { return stored_.shape.elements() / stored_.shape[0]; }

  const std::byte* read_stored(int64_t begin, int64_t count, Room& room) const {
    const auto bytes = static_cast<size_t>(count * row_size()) * size_of(stored_.dtype);
    room.stored.resize(std::max(room.stored.size(), bytes));
    stored_.load_rows(begin, count, room.stored.data());
    return room.stored.data();
  }
  void read_floats(int64_t begin, int64_t count, float* to, Room& room) const {
    if (stored_.dtype == DType::f32) {
      stored_.load_rows(begin, count, reinterpret_cast<std::byte*>(to));
    } else {
      const auto bytes = static_cast<size_t>(count * row_size()) * size_of(stored_.dtype);
      tensor::widen(stored_.dtype, {read_stored(begin, count, room), bytes}, to);
    }
  }

  Parameter& parameter_;
  const StoredTensor& stored_;
  std::optional<WeightLayout> layout_ = {};  // when it is to be packed
  DType packed_dtype_ = DType::f32;
  PackedMatrix matrix_ = {};
  Tensor numbers_ = {};
};

struct Run {
  Target* target;
  int64_t begin;
  int64_t count;
};

std::vector<Target> targets_of(const Parameters& parameters, const StoredState& state,
                               const LoadOptions& options) {
  std::vector<Target> targets;
  for (const ParameterHandle& parameter : parameters) {
    targets.emplace_back(*parameter, state.at(parameter->name()), options.packed);
  }
  return targets;
}

// One block for all packed matrices: small ones lie on huge pages then, too.
void allocate(std::vector<Target>& targets) {
  size_t bytes = 0;
  for (const Target& target : targets) bytes += target.is_packed() ? target.bytes() : 0;
  const tensor::Block all = bytes > 0 ? tensor::allocate_block(bytes) : nullptr;
  size_t begin = 0;
  for (Target& target : targets) {
    if (target.is_packed()) {
      target.set_memory(all, begin);
      begin += target.bytes();
    }
    target.prepare();
  }
}

std::vector<Run> runs_of(std::vector<Target>& targets) {
  std::vector<Run> runs;
  for (Target& target : targets) {
    for (int64_t begin = 0; begin < target.rows(); begin += target.run()) {
      runs.push_back({&target, begin, std::min(target.run(), target.rows() - begin)});
    }
  }
  return runs;
}

void read(const std::vector<Run>& runs, base::ThreadPool& threads) {
  std::vector<std::exception_ptr> errors(runs.size());
  std::vector<Room> rooms(static_cast<size_t>(threads.size()));
  threads.parallel_for(std::ssize(runs), [&](int64_t i, int worker) {
    const Run& run = runs[static_cast<size_t>(i)];
    try {
      run.target->read(run.begin, run.count, rooms[static_cast<size_t>(worker)]);
    } catch (...) {
      errors[static_cast<size_t>(i)] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace

uint64_t loaded_bytes(const Parameters& parameters, const StoredState& state,
                      const LoadOptions& options) {
  uint64_t bytes = 0;
  for (const Target& target : targets_of(parameters, state, options)) bytes += target.bytes();
  return bytes;
}

void load_state(const Parameters& parameters, const StoredState& state, const IgnoredNames& ignored,
                const std::string& where, const LoadOptions& options) {
  check_state(parameters, state, ignored, where);
  std::vector<Target> targets = targets_of(parameters, state, options);
  allocate(targets);
  base::ThreadPool alone(1);
  read(runs_of(targets), options.threads != nullptr ? *options.threads : alone);
  for (Target& target : targets) target.finish();
}

}  // namespace headlight::nn
