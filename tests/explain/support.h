// What the tests of explain share: models to look at.
#pragma once

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "headlight/explain/explain.h"
#include "headlight/recipes/recipes.h"
#include "tests/models/support.h"

namespace headlight::explain {

using models::error_of;
using models::expect_has;
using models::same_bits;
using models::shared;
using recipes::default_sentences;
using recipes::make_worked_model;
using recipes::sentence_batch;
using recipes::SentencePair;
using recipes::WorkedModel;
using recipes::WorkedModelOptions;
using tensor::DType;
using tensor::Tensor;

class ExplainTest : public testing::Test {
 protected:
  // The worked model on its first sentence.
  Trace worked_trace(const WorkedModelOptions& options = {.heads = 1}) {
    worked_.emplace_back(make_worked_model(default_sentences(), options));
    const SentencePair& pair = worked_.back().sentences.front();
    const Input input = make_input(*worked_.back().model, worked_.back().tokenizer,
                                   {.text = pair.source, .target = pair.target});
    return trace_model(threads_, *worked_.back().model, input);
  }

  Trace traced(models::Model& model, int64_t length, int64_t source_length = 0) {
    models::fill(model, 3);
    Input input;
    input.batch.ids = models::random_ids({1, length}, model.vocab_size(), 4);
    input.batch.targets = models::random_ids({1, length}, model.vocab_size(), 6);
    if (source_length > 0) {
      input.batch.source_ids = models::random_ids({1, source_length}, model.source_vocab_size(), 5);
    }
    return trace_model(threads_, model, input);
  }

  base::ThreadPool threads_{1};
  std::vector<WorkedModel> worked_;
};

// All indices of a shape, in order.
inline std::vector<std::vector<int64_t>> indices_of(const tensor::Shape& shape) {
  std::vector<std::vector<int64_t>> all;
  for (int64_t i = 0; i < shape.elements(); ++i) {
    std::vector<int64_t> index(static_cast<size_t>(shape.rank()));
    int64_t rest = i;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      index[static_cast<size_t>(axis)] = rest % shape[axis];
      rest /= shape[axis];
    }
    all.push_back(std::move(index));
  }
  return all;
}

// What is shown of a term can be multiplied out: its factors and its constant.
inline void expect_products(const CellTerms& cell) {
  for (const Term& term : cell.terms) {
    if (term.key != "product" && term.key != "value" && term.key != "bias") continue;
    double product = term.constant;
    for (const Factor& factor : term.factors) product *= factor.value;
    ASSERT_EQ(product, term.value) << cell.cell.name;
  }
}

// Every cell of the trace is what its terms give.
inline void expect_all_explained(const Trace& trace) {
  constexpr double kTolerance = 1e-6;
  for (const TracedTensor& tensor : trace.tensors()) {
    for (const std::vector<int64_t>& index : indices_of(tensor.shape)) {
      const CellTerms terms = explain_cell(trace, {tensor.name, index});
      expect_products(terms);
      if (terms.combined == terms.value) continue;
      ASSERT_LE(std::abs(terms.combined - terms.value), kTolerance * terms.size)
          << cell_text(trace, terms.cell) << " is " << terms.value << ", terms give "
          << terms.combined;
    }
  }
}

}  // namespace headlight::explain
