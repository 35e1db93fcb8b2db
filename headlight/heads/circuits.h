// What heads do with weights alone, no input needed: copying, and which heads feed which.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/heads/examples.h"

namespace headlight::heads {

// How much a head raises the logits of the ids that it looks at: sum(Re l) / sum(|l|) over the
// eigenvalues l of W_E W_V W_O W_U, from -1 (it lowers them) to 1 (it copies). Eigenvalues that are
// not real come in pairs, whose sum is real. The (V x V) product has the same eigenvalues, but for
// zeros, as the (E x E) product W_O W_U W_E W_V, which is what is computed. Norms, biases and what
// stands between the last layer and the output are left out, as is customary.
//
// For each head of each attention, in the order of the model. Nothing for heads that do not write
// to the stream that is decoded (an encoder's that a decoder reads), whose input has other ids than
// the output, and where all eigenvalues are 0.
struct CopyingScore {
  std::string head;
  std::optional<double> score;
};
std::vector<CopyingScore> copying_scores(base::ThreadPool& threads, models::Model& model);

// How much of what a head writes is read by the query, key or value of a later one:
// |W_OV W_QK| / (|W_OV| |W_QK|), and with W_QK^T and the later W_OV, in Frobenius norms; 0 to 1.
// (Rotation and norms of queries and keys are left out.)
enum class CompositionKind { query, key, value };
std::string_view name_of(CompositionKind kind);  // "query", ...
struct Composition {
  std::string from;
  std::string to;
  CompositionKind kind = CompositionKind::query;
  double score = 0;  // 0 where one of them is zero
};
// Of all heads that write to a stream and those that read it later: an encoder's to the encoder's
// and to the keys and values of cross-attention, a decoder's to the decoder's queries and to the
// keys and values of its self-attention.
std::vector<Composition> compositions(base::ThreadPool& threads, models::Model& model);

}  // namespace headlight::heads
