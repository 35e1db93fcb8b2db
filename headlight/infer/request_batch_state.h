// RequestBatch::State: who waits, whose prompt is being read, what is being written. Inside infer
// only.
#pragma once

#include <deque>

#include "headlight/infer/batch_request.h"
#include "headlight/infer/writing.h"

namespace headlight::infer {

// A request whose prompt is being read.
struct Newcomer {
  RequestHandle request;
  std::optional<models::Decoding> decoding = {};  // of what was read; none at first
  int64_t read = 0;                               // of the prompt's ids
  std::vector<ScoredToken> scores = {};           // of the prompt's ids, where wanted
};

// A continuation that is being written: a row of the decoding.
struct WrittenSequence {
  RequestHandle request;
  size_t number;  // of the continuation
  Writing writing;
  int64_t last_id = 0;
  bool has_ended = false;

  bool goes_on() const { return !has_ended && !request->is_gone; }
};

class RequestBatch::State {
 public:
  State(const Model& model, const BatchLimits& limits);

  uint64_t add(GenerationRequest asked);
  bool drop(uint64_t number);
  std::vector<RequestEvent> step(Context& context);

  bool is_idle() const { return waiting_.empty() && newcomers_.empty() && sequences_.empty(); }
  bool is_full() const { return static_cast<int64_t>(waiting_.size()) >= limits_.waiting; }
  Load load() const;
  const Model& model() const { return model_; }

 private:
  // Newcomers that read in the same step, a row of a padded batch each.
  struct Turn {
    std::vector<Newcomer> newcomers = {};
    std::vector<std::vector<int64_t>> ids = {};  // that each reads
  };
  struct Choice;

  void check_fits(const BatchRequest& request) const;
  bool has_place_for(const BatchRequest& request) const;
  uint64_t reserved_bytes() const;
  void admit();

  void write(Context& context);
  void choose(Context& context, std::vector<WrittenSequence>& sequences, const LogitRows& rows,
              const std::vector<int64_t>& row_of);
  void take(WrittenSequence& sequence, Choice choice);

  void end_those_without_ids();
  Turn next_turn();
  void read(Context& context, Turn& turn);
  models::Decoding joined(Context& context, const Turn& turn) const;
  void score(Context& context, Newcomer& newcomer, const tensor::Tensor& states);
  void begin(Context& context, const Turn& turn, const tensor::Tensor& logits,
             models::Decoding& decoding);
  void end(const RequestHandle& request);

  template <class Work>
  void attempt(const std::vector<RequestHandle>& requests, const Work& work);
  void fail(const RequestHandle& request, const base::Error& error);
  void forget_ended();

  const Model& model_;
  const BatchLimits limits_;
  uint64_t last_number_ = 0;
  std::deque<RequestHandle> waiting_;
  std::deque<Newcomer> newcomers_;          // the next to read first
  std::vector<WrittenSequence> sequences_;  // in the order of the decoding's
  std::optional<models::Decoding> decoding_;
  std::vector<RequestEvent> events_;  // of this step
};

}  // namespace headlight::infer
