// TraceBuilder: puts the tensors of a recorded run in order, each with its operation and operands.
// Inside explain only.
#pragma once

#include <string>
#include <vector>

#include "headlight/explain/trace.h"

namespace headlight::explain {

class TraceBuilder {
 public:
  TraceBuilder(Trace& trace, const Recording& recording) : trace_(trace), recording_(recording) {}

  void build(const models::Parts& parts);

 private:
  // Encoder or decoder. Beside an encoder all of a decoder belongs to step 11.
  struct Side {
    std::string place;
    Axis tokens;
    bool second;
    bool causal;

    int step(int own) const { return second ? 11 : own; }
  };
  // A tensor that is about to be put.
  struct Entry {
    std::string name;
    Operation operation;
    std::vector<Operand> operands;
    std::vector<Axis> axes;
    std::string formula;
    int step;
    io::Json::Object attributes = {};
  };

  static std::vector<Axis> rows_of(Axis tokens) { return {Axis::batch, tokens, Axis::column}; }
  // With the numbers recorded under its name, or `values`. An operand that was left out makes it an
  // input; without numbers it is left out itself.
  void put(Entry entry, tensor::Tensor values = {});
  TracedTensor made(Entry entry, const tensor::Shape& shape) const;
  // Scores and the like: the shape is known, numbers come later.
  void put_later(Entry entry, const tensor::Shape& shape);

  void put_stack(const Side& side, const models::Parts& parts, const models::Parts::Stack& stack,
                 const tensor::Tensor& ids);
  void put_embedding(const Side& side, const nn::SequenceEmbedding& embedding,
                     const nn::Embedding* segments, const tensor::Tensor& ids);
  void put_positions(const Side& side, const nn::SequenceEmbedding& embedding);
  void put_layer(const Side& side, const nn::TransformerBlock& block, const std::string& before);
  // What a sublayer gave, added to the stream; the stream alone when there is no branch.
  void put_sum(const Side& side, const std::string& name, const std::string& branch,
               const std::string& stream, bool pre_norm, int step);
  void put_linear(Entry entry, const std::string& input, const nn::Linear::Part& part);

  struct AttentionPlace {
    std::string place;
    std::string query;   // what queries are made of
    std::string memory;  // what keys and values are made of
    Axis queries;
    Axis keys;
    bool causal;
    int step;
  };
  void put_attention(const AttentionPlace& at, const nn::MultiHeadAttention& attention);
  void put_projections(const AttentionPlace& at, const nn::MultiHeadAttention& attention);
  void put_scores(const AttentionPlace& at);
  void put_heads(const AttentionPlace& at, const nn::MultiHeadAttention& attention);

  // The rest of a norm whose input has been put.
  void put_norm(const nn::LayerNorm& norm, Axis tokens, int step);
  void put_feed_forward(const nn::FeedForward& layers, const std::string& input, Axis tokens,
                        int step);
  void put_prediction(const models::Parts& parts, const std::string& output, Axis tokens);

  Trace& trace_;
  const Recording& recording_;
};

}  // namespace headlight::explain
