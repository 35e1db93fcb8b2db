// Additive scoring: score(i, j) = sum over d of w[d] * tanh(query[i][d] + key[j][d]). All else is
// attention's, with one head.
#pragma once

#include <utility>

#include "headlight/kernels/reference/attention.h"

namespace headlight::kernels::reference {

// tanh(query + key) of column d.
template <class T>
T additive_feature(const AttentionInputs<T>& in, int64_t b, int64_t i, int64_t j, int64_t d) {
  const AttentionIndex at{in.shape};
  const int64_t width = in.shape.key_width;
  return std::tanh(in.query[at.row(b, 0, i) * width + d] + in.key[at.key_row(b, 0, j) * width + d]);
}

template <class T>
Score<T> additive_score(const AttentionInputs<T>& in, const T* score_weights, int64_t b, int64_t h,
                        int64_t i, int64_t j) {
  T raw = 0;
  for (int64_t d = 0; d < in.shape.key_width; ++d) {
    raw += score_weights[d] * additive_feature(in, b, i, j, d);
  }
  return finish_score(in, raw, b, h, i, j);
}

template <class T>
AttentionResult<T> additive_attention_forward(const AttentionInputs<T>& in,
                                              const T* score_weights) {
  return attend(in, [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    return additive_score(in, score_weights, b, h, i, j);
  });
}

// With t = tanh(query + key): dw += dscore t, and dscore w (1 - t^2) goes to query and to key.
// `d_score_weights` is (key_width,) and added to.
template <class T>
AttentionGradient<T> additive_attention_backward(const AttentionInputs<T>& in,
                                                 const T* score_weights,
                                                 const AttentionResult<T>& out, const T* d_output,
                                                 T* d_score_weights) {
  const AttentionShape& s = in.shape;
  const AttentionIndex at{s};
  std::vector<T> d_query(static_cast<size_t>(s.batch * s.queries * s.key_width), T(0));
  std::vector<T> d_key(static_cast<size_t>(s.batch * s.keys * s.key_width), T(0));
  const auto back = [&](int64_t b, int64_t, int64_t i, int64_t j, T d_score) {
    for (int64_t d = 0; d < s.key_width; ++d) {
      const T t = additive_feature(in, b, i, j, d);
      const T slope = d_score * score_weights[d] * (1 - t * t);
      d_score_weights[d] += d_score * t;
      d_query[static_cast<size_t>(at.row(b, 0, i) * s.key_width + d)] += slope;
      d_key[static_cast<size_t>(at.key_row(b, 0, j) * s.key_width + d)] += slope;
    }
  };
  AttentionGradient<T> result = attend_backward(in, out, d_output, back);
  result.query = std::move(d_query);
  result.key = std::move(d_key);
  return result;
}

}  // namespace headlight::kernels::reference
