// RequestBatch: many requests at once. Sequences join and leave between steps.
#pragma once

#include <memory>

#include "headlight/infer/generate.h"

namespace headlight::infer {

// One prompt and what is wanted of it.
struct GenerationRequest {
  Prompt prompt = {};
  SamplingOptions sampling = {};  // greedy
  Ending ending = {};             // the context's end always ends; nothing slides
  int64_t continuations = 1;      // sequences that go on from the prompt, which is read once
  // The number of the first continuation, which the draws depend on; the others count on from it.
  uint64_t first_sequence = 0;
  int64_t top_log_probabilities = 0;      // how many of the likeliest ids come with each new one
  bool prompt_log_probabilities = false;  // those of the prompt's own ids
};

struct ScoredId {
  int64_t id = 0;
  float log_probability = 0;  // natural, of the model's own probability
};

struct ScoredToken {
  int64_t id = 0;
  float log_probability = 0;
  std::vector<ScoredId> top = {};  // as many as wanted, the likeliest first
};

// What a step has brought. All texts of a continuation, joined, are its Continuation's text.
struct RequestEvent {
  uint64_t request = 0;
  size_t continuation = 0;  // of the request, from 0 on
  // A new id. Absent in the event that tells the prompt's scores, in the end of a continuation that
  // gets no new id, and in an error.
  std::optional<ScoredToken> token = {};
  bool is_stop = false;                   // the token is the stop id that ends the continuation
  std::string text = {};                  // what is certain by now, whole code points; may be empty
  std::optional<StopReason> reason = {};  // the last event of this continuation
  std::vector<ScoredToken> prompt = {};   // of each id of the prompt but the first, where wanted
  std::optional<base::Error> error = {};  // the request has failed, and is gone
  bool is_last = false;                   // of the request, which is gone
};

struct BatchLimits {
  int64_t sequences = 16;             // that are read or written at once
  int64_t waiting = 64;               // requests that wait for a place
  uint64_t cache_bytes = 1ULL << 30;  // keys and values of all sequences together
  int64_t prompt_ids = 64;            // of prompts read in one step, padding included
};

// The answer to a request is the same bits whatever else is in the batch: what generate() gives for
// its prompt, options and sequence number alone. What the Context of a step changes (an
// Intervention) holds for all sequences; a request with changes of its own, such as heads switched
// off, takes generate() or a batch of its own.
//
// Requests wait in the order in which they came and begin when there is a place and memory for
// them. Each step writes one id of every sequence that goes on, and reads at most
// limits.prompt_ids of the prompts of newcomers, which take turns: a long prompt stalls nobody.
//
// One thread uses it at a time. The model, and the tokenizers of requests, outlive it.
class RequestBatch {
 public:
  // Throws Error(bad_input) for limits below 1 and models that do not write.
  explicit RequestBatch(const Model& model, const BatchLimits& limits = {});
  ~RequestBatch();

  // The number of the request, from 1 on. Throws Error(bad_input) for what generate() refuses and
  // more continuations than there are places, Error(out_of_memory) for a request that can never
  // fit, and Error(failed) when the queue is full.
  uint64_t add(GenerationRequest request);
  // Forgets a request in any state, at once; whether it was there.
  bool drop(uint64_t request);

  // Moves all by one id. In the order of the sequences' beginnings. An error of one request is its
  // own event; the others go on.
  std::vector<RequestEvent> step(Context& context);

  // Nothing waits and nothing goes on: a step would do nothing.
  bool is_idle() const;
  // As many wait as may.
  bool is_full() const;

  struct Load {
    int64_t waiting = 0;          // requests
    int64_t reading = 0;          // requests whose prompt is being read
    int64_t writing = 0;          // sequences
    uint64_t reserved_bytes = 0;  // that those that began may need at most
    uint64_t cached_bytes = 0;    // that keys and values take now
  };
  Load load() const;

  // What the keys and values of a request take at most.
  uint64_t bytes_needed(const GenerationRequest& request) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace headlight::infer
