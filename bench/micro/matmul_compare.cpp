// Matrix products: this engine's kernel beside OpenBLAS and oneDNN, each called single-threaded on
// fixed tiles over the same pool, as shares of the multiply-add limit measured in the same run.
// Usage: matmul_compare [rounds [threads [simd [part of a shape's name]]]]
#include <cblas.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "headlight/kernels/kernels.h"

namespace headlight::bench {
namespace {

using kernels::Execution;
using kernels::PackedMatrix;
using tensor::ConstMatrixView;
using tensor::MatrixView;
using tensor::Tensor;

double now(bool own_time) {
  timespec time;
  clock_gettime(own_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// One thread is timed by the processor time it got, so that a busy machine does not count; several
// by the clock.
double seconds(const base::ThreadPool& pool, const std::function<void()>& work) {
  const bool own_time = pool.size() == 1;
  const double start = now(own_time);
  work();
  return now(own_time) - start;
}

struct Shape {
  const char* name;
  int64_t m, k, n;
  bool a_transposed = false;  // a is stored (k x m)
  bool b_transposed = false;  // b is stored (n x k)
};

constexpr Shape kShapes[] = {
    {"1024x768x2304", 1024, 768, 2304},
    {"1024x768x2304 b^T", 1024, 768, 2304, false, true},
    {"4096x768x768 b^T", 4096, 768, 768, false, true},
    {"4096x768x3072 b^T", 4096, 768, 3072, false, true},
    {"4096x3072x768 b^T", 4096, 3072, 768, false, true},
    {"256x768x50257 b^T", 256, 768, 50257, false, true},
    {"2304x4096x768 a^T", 2304, 4096, 768, true},
    {"768x128x512 b^T", 768, 128, 512, false, true},
    {"768x512x128 b^T", 768, 512, 128, false, true},
    {"768x128x384 b^T", 768, 128, 384, false, true},
    {"384x768x128 a^T", 384, 768, 128, true},
    {"64x64x64", 64, 64, 64},
    {"96x768x3072 b^T", 96, 768, 3072, false, true},
    {"16x768x2304 b^T", 16, 768, 2304, false, true},
    {"16x768x3072", 16, 768, 3072},
    {"8x768x3072 b^T", 8, 768, 3072, false, true},
    {"4x768x3072 b^T", 4, 768, 3072, false, true},
    {"2x768x3072 b^T", 2, 768, 3072, false, true},
    {"1x768x3072 b^T", 1, 768, 3072, false, true},
};

// Blocks of c for the libraries: large enough for their packing, enough of them for the threads.
struct Block {
  int64_t row, rows, col, cols;
};

std::vector<Block> blocks(const Shape& shape) {
  const int64_t rows = std::min<int64_t>(shape.m, 512);
  const int64_t cols =
      std::max<int64_t>(64, std::min<int64_t>(shape.m > 512 ? 768 : 512, shape.n / 4 / 64 * 64));
  std::vector<Block> result;
  for (int64_t row = 0; row < shape.m; row += rows) {
    for (int64_t col = 0; col < shape.n; col += cols)
      result.push_back({row, std::min(rows, shape.m - row), col, std::min(cols, shape.n - col)});
  }
  return result;
}

struct Operands {
  Tensor a_store, b_store, c;
  ConstMatrixView a, b;
};

Tensor random_tensor(const tensor::Shape& shape, uint64_t seed) {
  Tensor result = Tensor::uninitialized(tensor::DType::f32, shape);
  const base::Random random(seed);
  for (int64_t i = 0; i < result.elements(); ++i)
    result.mutable_data<float>()[i] = random.uniform(static_cast<uint64_t>(i)) - 0.5f;
  return result;
}

Operands operands(const Shape& s) {
  Operands o{random_tensor(s.a_transposed ? tensor::Shape{s.k, s.m} : tensor::Shape{s.m, s.k}, 1),
             random_tensor(s.b_transposed ? tensor::Shape{s.n, s.k} : tensor::Shape{s.k, s.n}, 2),
             Tensor::zeros(tensor::DType::f32, {s.m, s.n}),
             {},
             {}};
  o.a = s.a_transposed ? o.a_store.matrix().transposed() : o.a_store.matrix();
  o.b = s.b_transposed ? o.b_store.matrix().transposed() : o.b_store.matrix();
  return o;
}

const float* at(const ConstMatrixView& view, int64_t row, int64_t col) {
  return &view.at(row, col);
}

void openblas(base::ThreadPool& pool, const Shape& s, Operands& o) {
  const std::vector<Block> parts = blocks(s);
  float* c = o.c.mutable_data<float>();
  pool.parallel_for(static_cast<int64_t>(parts.size()), [&](int64_t index, int) {
    const Block& part = parts[static_cast<size_t>(index)];
    const auto size = [](int64_t value) { return static_cast<int>(value); };
    cblas_sgemm(CblasRowMajor, s.a_transposed ? CblasTrans : CblasNoTrans,
                s.b_transposed ? CblasTrans : CblasNoTrans, size(part.rows), size(part.cols),
                size(s.k), 1, at(o.a, part.row, 0), size(s.a_transposed ? s.m : s.k),
                at(o.b, 0, part.col), size(s.b_transposed ? s.k : s.n), 0,
                c + part.row * s.n + part.col, size(s.n));
  });
}

void onednn(base::ThreadPool& pool, const Shape& s, Operands& o) {
  const std::vector<Block> parts = blocks(s);
  float* c = o.c.mutable_data<float>();
  pool.parallel_for(static_cast<int64_t>(parts.size()), [&](int64_t index, int) {
    const Block& part = parts[static_cast<size_t>(index)];
    omp_set_num_threads(1);
    dnnl_sgemm(s.a_transposed ? 'T' : 'N', s.b_transposed ? 'T' : 'N', part.rows, part.cols, s.k, 1,
               at(o.a, part.row, 0), s.a_transposed ? s.m : s.k, at(o.b, 0, part.col),
               s.b_transposed ? s.k : s.n, 0, c + part.row * s.n + part.col, s.n);
  });
}

constexpr int kContenders = 4;

// The best rate of each over interleaved rounds, as GFLOP/s and as a share of the highest limit met
// so far.
void compare(const Execution& execution, const Shape& s, int rounds, double& limit) {
  Operands o = operands(s);
  const PackedMatrix packed(execution, o.b);
  const std::function<void()> contenders[kContenders] = {
      [&] { kernels::matmul(execution, o.a, o.b, o.c.mutable_matrix()); },
      [&] { kernels::matmul(execution, o.a, packed, o.c.mutable_matrix()); },
      [&] { openblas(execution.threads, s, o); }, [&] { onednn(execution.threads, s, o); }};
  const double operations = 2.0 * static_cast<double>(s.m * s.k) * static_cast<double>(s.n);
  const int repeats = static_cast<int>(std::clamp(2e9 / operations, 1.0, 200.0));
  double best[kContenders] = {};
  for (int round = 0; round < rounds; ++round) {
    limit = std::max(limit, kernels::multiply_add_limit(execution) / 1e9);
    for (int i = 0; i < kContenders; ++i) {
      for (int repeat = 0; repeat < repeats; ++repeat)
        best[i] = std::max(best[i], operations / seconds(execution.threads, contenders[i]) / 1e9);
    }
  }
  std::printf("%-20s", s.name);
  for (const double rate : best) std::printf(" %7.1f %3.0f%%", rate, 100 * rate / limit);
  const double packed_bytes = 4.0 * static_cast<double>(s.k * s.n);
  std::printf("  %6.1f\n", best[1] / operations * packed_bytes);
  std::fflush(stdout);
}

}  // namespace
}  // namespace headlight::bench

int main(int count, char** arguments) {
  using namespace headlight;
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 7;
  base::ThreadPool pool(count > 2 ? std::atoi(arguments[2]) : base::ThreadPool::available_cores());
  if (count > 3) kernels::limit_simd(arguments[3]);
  const std::string filter = count > 4 ? arguments[4] : "";
  if (kernels::simd_target() == "avx2") dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
  openblas_set_num_threads(1);
  tensor::Arena arena;
  double limit = 0;
  std::printf("%s, %d threads, OpenBLAS for %s: GFLOP/s and share of the limit\n",
              kernels::simd_target().c_str(), pool.size(), openblas_get_corename());
  std::printf("%-20s %12s %12s %12s %12s  %6s\n", "", "plain", "packed", "OpenBLAS", "oneDNN",
              "GB/s*");
  for (const bench::Shape& shape : bench::kShapes) {
    if (std::string(shape.name).find(filter) != std::string::npos)
      bench::compare({pool, arena}, shape, rounds, limit);
  }
  std::printf("limit %.1f GFLOP/s   * of reading packed b\n", limit);
}
