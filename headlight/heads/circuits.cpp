// Products of heads' matrices, always in their small factors.
#include "headlight/heads/circuits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "headlight/heads/eigenvalues.h"
#include "headlight/heads/head_weights.h"

namespace headlight::heads {
namespace {

using nn::MultiHeadAttention;
using tensor::ConstMatrixView;
using tensor::DType;
using tensor::Tensor;

class Products {
 public:
  explicit Products(base::ThreadPool& threads) : threads_(threads) {}

  Tensor product(const ConstMatrixView& a, const ConstMatrixView& b) {
    Tensor result = Tensor::uninitialized(DType::f32, {a.rows, b.cols});
    kernels::matmul({threads_, arena_}, a, b, result.mutable_matrix());
    return result;
  }

 private:
  base::ThreadPool& threads_;
  tensor::Arena arena_;
};

// The table whose ids a head's values come from; null where what it adds is not decoded.
const nn::Parameter* table_read(const models::Parts& parts, const std::string& place) {
  if (parts.decoder != nullptr && place.starts_with("encoder.")) return nullptr;
  return is_cross(place) || place.starts_with("encoder.") ? parts.encoder_table
                                                          : parts.decoder_table;
}

ConstMatrixView unembedding(const models::Parts& parts) {
  return parts.output->linear().part().weight->value().data().matrix();
}

std::optional<double> copying_share(const Tensor& product) {
  const float* numbers = product.data<float>();
  const std::vector<double> matrix(numbers, numbers + product.elements());
  if (!std::ranges::all_of(matrix, [](double number) { return std::isfinite(number); })) return {};
  double sum = 0;
  double moduli = 0;
  for (const std::complex<double>& value : eigenvalues(matrix, product.size(0))) {
    sum += value.real();
    moduli += std::abs(value);
  }
  if (moduli == 0) return {};
  return std::clamp(sum / moduli, -1.0, 1.0);
}

// L of x^T x = L L^T for the columns of x (n x k), as (k x k): |y x^T| = |y L|. Columns of zeros
// where x has fewer directions than columns.
Tensor gram_root(const ConstMatrixView& x) {
  const int64_t k = x.cols;
  std::vector<double> columns(static_cast<size_t>(k * x.rows));
  for (int64_t j = 0; j < k; ++j) {
    for (int64_t i = 0; i < x.rows; ++i) columns[static_cast<size_t>(j * x.rows + i)] = x.at(i, j);
  }
  const auto dot = [&columns, &x](int64_t i, int64_t j) {
    const auto begin = columns.begin();
    return std::inner_product(begin + i * x.rows, begin + (i + 1) * x.rows, begin + j * x.rows,
                              0.0);
  };
  double most = 0;
  for (int64_t i = 0; i < k; ++i) most = std::max(most, dot(i, i));
  std::vector<double> root(static_cast<size_t>(k * k), 0);
  const auto at = [&root, k](int64_t i, int64_t j) -> double& {
    return root[static_cast<size_t>(i * k + j)];
  };
  for (int64_t j = 0; j < k; ++j) {
    for (int64_t i = j; i < k; ++i) {
      double rest = dot(i, j);
      for (int64_t m = 0; m < j; ++m) rest -= at(i, m) * at(j, m);
      constexpr double kRounding = 1e-14;
      if (i == j && rest <= kRounding * most) break;
      at(i, j) = i == j ? std::sqrt(rest) : rest / at(j, j);
    }
  }
  return Tensor::of({k, k}, std::vector<float>(root.begin(), root.end()));
}

double squared_norm(const ConstMatrixView& x) {
  double sum = 0;
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.cols; ++j) sum += static_cast<double>(x.at(i, j)) * x.at(i, j);
  }
  return sum;
}

// Heads of one attention side by side.
struct Stacked {
  const MultiHeadAttention* attention = nullptr;
  Tensor matrix = {};
  std::vector<double> norms = {};  // of each head
};

// What the heads write, (H*E x C), with the norms that W_V W_O have: |W_V W_O| = |L^T W_O| for
// W_V^T W_V = L L^T.
Stacked written(Products& products, const MultiHeadAttention& attention) {
  const nn::MultiHeadAttentionOptions& options = attention.options();
  const int64_t width = options.value_head_dim;
  Stacked all{&attention,
              Tensor::uninitialized(DType::f32, {head_count(attention) * width, options.out_dim})};
  for (int64_t head = 0; head < head_count(attention); ++head) {
    const Tensor root = gram_root(value_weight(attention, head));
    const Tensor one = products.product(root.matrix().transposed(), output_weight(attention, head));
    std::copy_n(one.data<float>(), one.elements(),
                all.matrix.mutable_data<float>() + head * one.elements());
    all.norms.push_back(std::sqrt(squared_norm(one.matrix())));
  }
  return all;
}

// What the heads read with, (H*W x C): the transposed of W_Q L with K's L, W_K L with Q's, W_V L
// with that of W_O^T.
Stacked read_with(Products& products, const MultiHeadAttention& attention, CompositionKind kind) {
  Stacked all{&attention};
  std::vector<float> numbers;
  int64_t width = 0;
  for (int64_t head = 0; head < head_count(attention); ++head) {
    const ConstMatrixView query = query_weight(attention, head);
    const ConstMatrixView key = key_weight(attention, head);
    const ConstMatrixView value = value_weight(attention, head);
    const ConstMatrixView side = kind == CompositionKind::query ? query
                                 : kind == CompositionKind::key ? key
                                                                : value;
    const Tensor root =
        gram_root(kind == CompositionKind::query ? key
                  : kind == CompositionKind::key ? query
                                                 : output_weight(attention, head).transposed());
    const Tensor one = products.product(root.matrix().transposed(), side.transposed());
    numbers.insert(numbers.end(), one.data<float>(), one.data<float>() + one.elements());
    all.norms.push_back(std::sqrt(squared_norm(one.matrix())));
    width = one.size(1);
  }
  all.matrix = Tensor::of({static_cast<int64_t>(numbers.size()) / width, width}, numbers);
  return all;
}

bool writes_encoder(const MultiHeadAttention& attention) {
  return attention.options().place.starts_with("encoder.");
}

// Whether `later`, with this side, reads the stream that `earlier` writes to.
bool reads_from(const MultiHeadAttention& earlier, const MultiHeadAttention& later,
                CompositionKind kind) {
  const bool reads_encoder =
      writes_encoder(later) || (is_cross(later.options().place) && kind != CompositionKind::query);
  return writes_encoder(earlier) == reads_encoder;
}

// |writer reader^T| of each pair of heads.
void add_compositions(Products& products, const Stacked& writers, const Stacked& readers,
                      CompositionKind kind, std::vector<Composition>& all) {
  const Tensor product =
      products.product(writers.matrix.matrix(), readers.matrix.matrix().transposed());
  const auto from_heads = static_cast<int64_t>(writers.norms.size());
  const auto to_heads = static_cast<int64_t>(readers.norms.size());
  const int64_t rows = product.size(0) / from_heads;
  const int64_t columns = product.size(1) / to_heads;
  for (int64_t from = 0; from < from_heads; ++from) {
    for (int64_t to = 0; to < to_heads; ++to) {
      const Tensor block = product.slice(0, from * rows, rows).slice(1, to * columns, columns);
      const double norms =
          writers.norms[static_cast<size_t>(from)] * readers.norms[static_cast<size_t>(to)];
      const double score = norms == 0 ? 0 : std::sqrt(squared_norm(block.matrix())) / norms;
      all.push_back(
          {head_name(*writers.attention, from), head_name(*readers.attention, to), kind, score});
    }
  }
}

}  // namespace

std::string_view name_of(CompositionKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"query", "key", "value"};
  return kNames[static_cast<size_t>(kind)];
}

std::vector<CopyingScore> copying_scores(base::ThreadPool& threads, models::Model& model) {
  const models::Parts parts = model.parts();
  Products products(threads);
  std::vector<CopyingScore> scores;
  const nn::Parameter* table = nullptr;
  Tensor word_product;  // W_U W_E of the table
  for (const MultiHeadAttention* attention : model.attentions()) {
    const nn::Parameter* read = table_read(parts, attention->options().place);
    const bool has_score = read != nullptr && parts.output != nullptr &&
                           attention->output_layer() != nullptr &&
                           read->shape() == parts.output->linear().part().weight->shape();
    if (has_score && read != table) {
      table = read;
      word_product =
          products.product(unembedding(parts).transposed(), read->value().data().matrix());
    }
    for (int64_t head = 0; head < head_count(*attention); ++head) {
      scores.push_back({head_name(*attention, head), {}});
      if (!has_score) continue;
      const Tensor first = products.product(output_weight(*attention, head), word_product.matrix());
      scores.back().score =
          copying_share(products.product(first.matrix(), value_weight(*attention, head)));
    }
  }
  return scores;
}

std::vector<Composition> compositions(base::ThreadPool& threads, models::Model& model) {
  Products products(threads);
  std::vector<Composition> all;
  std::vector<Stacked> writers;
  for (const MultiHeadAttention* later : model.attentions()) {
    if (later->output_layer() == nullptr || head_count(*later) == 0) continue;
    for (const CompositionKind kind :
         {CompositionKind::query, CompositionKind::key, CompositionKind::value}) {
      std::optional<Stacked> readers;
      for (const Stacked& earlier : writers) {
        if (!reads_from(*earlier.attention, *later, kind)) continue;
        if (!readers) readers = read_with(products, *later, kind);
        add_compositions(products, earlier, *readers, kind, all);
      }
    }
    writers.push_back(written(products, *later));
  }
  return all;
}

}  // namespace headlight::heads
