// Every operation of tests/op_cases.h at its typical size: forward, and forward with backward.
// Medians of interleaved rounds, in microseconds. Usage: bench_operations [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "tests/op_cases.h"

namespace {

using namespace headlight;

struct Timed {
  const tests::Op* op;
  tests::OpCase typical;
  std::vector<autograd::Value> inputs = {};
  std::vector<double> forward = {}, both = {};
};

Timed prepared(const tests::Op& op) {
  tests::Draw draw = tests::Draw::typical();
  Timed timed{.op = &op, .typical = op.draw(draw)};
  for (const tests::OpInput& input : timed.typical.inputs) {
    const std::vector<float> numbers(input.numbers.begin(), input.numbers.end());
    timed.inputs.push_back(autograd::Value::leaf(tensor::Tensor::of(input.shape, numbers), true));
  }
  return timed;
}

double microseconds(Timed& timed, base::ThreadPool& threads, tensor::Arena& arena, bool backward) {
  for (autograd::Value& input : timed.inputs) input.clear_grad();
  const auto start = std::chrono::steady_clock::now();
  autograd::Tape tape;
  autograd::Context context{.threads = threads,
                            .arena = arena,
                            .tape = backward ? &tape : nullptr,
                            .random = timed.typical.random,
                            .training = true};
  const autograd::Value output = timed.typical.engine(context, timed.inputs);
  if (backward) tape.backward(context, output, output.data());
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 50;
  if (rounds < 1) return 1;
  base::ThreadPool threads;
  tensor::Arena arena;
  std::vector<Timed> all;
  for (const tests::Op& op : tests::op_cases()) all.push_back(prepared(op));
  for (int round = 0; round < rounds; ++round) {
    for (Timed& timed : all) {
      timed.forward.push_back(microseconds(timed, threads, arena, false));
      timed.both.push_back(microseconds(timed, threads, arena, true));
    }
  }
  std::printf("%-24s %12s %20s\n", "operation", "forward us", "with backward us");
  for (const Timed& timed : all)
    std::printf("%-24s %12.1f %20.1f\n", timed.op->name, median(timed.forward), median(timed.both));
  return 0;
}
