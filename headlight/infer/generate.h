// Continuing prompts id by id.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/infer/read_prompts.h"
#include "headlight/infer/sampler.h"
#include "headlight/models/models.h"
#include "headlight/text/text.h"

namespace headlight::infer {

using autograd::Context;
using models::Model;

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

struct Prompt {
  std::vector<int64_t> ids = {};     // what is continued; empty: the id that the model starts with
  std::vector<int64_t> source = {};  // what an encoder-decoder translates; others have none
};

// When a sequence ends. It does at the context's end, when an id could not be read any more, unless
// the context slides.
struct Ending {
  int64_t max_new_tokens = kNoLimit;
  int64_t max_beyond_source = kNoLimit;  // new ids at most this many more than the source has
  // Absent: the end ids of model and tokenizer.
  std::optional<std::vector<int64_t>> stop_ids = {};
  // Not empty, UTF-8, looked for in what is generated; they need the tokenizer.
  std::vector<std::string> stop_texts = {};
  const text::Tokenizer* tokenizer = nullptr;  // without one there is no text
};

enum class StopReason { limit, context, end, stop_text, caller };
// "limit", "context", "end", "stop_text", "caller".
std::string_view stop_reason_name(StopReason reason);

struct Continuation {
  std::vector<int64_t> ids = {};  // new ones only; without the stop id that ended them
  // What the new ids add to the text of the prompt, without special tokens, cut before the stop
  // text (whose ids are still in `ids`).
  std::string text = {};
  // Natural logarithms of the model's own probabilities: of each of `ids`, then of the stop id
  // where that ended it.
  std::vector<float> log_probabilities = {};
  StopReason reason = StopReason::limit;
  int64_t slides = 0;  // how often the context was full and slid
  int64_t reused = 0;  // ids of the prompt that were read before

  double log_probability() const;  // their sum
};

struct GenerateOptions {
  SamplingOptions sampling = {};  // greedy
  Ending ending = {};
  bool use_cache = true;  // without it every step computes all from scratch
  // At the context's end the last half of what was read is kept and read again, as if it were the
  // prompt; so a sequence may be of any length.
  bool slides = false;
  // The number of the first prompt, which the draws depend on: prompts that are handed over one by
  // one, each with its own number, get what they get together.
  uint64_t first_sequence = 0;
  // For one prompt, with a cache: what it begins with is not read again where it was read before,
  // and what is read now is kept. The results are the same bits.
  ReadPrompts* read_before = nullptr;
  // Asked between the slices in which a long prompt is read; true ends all sequences there
  // (StopReason::caller).
  std::function<bool()> is_stopped = {};
};

// A new id as it comes. All texts of a sequence, joined, are its Continuation's text.
struct NewToken {
  size_t prompt = 0;  // its index
  int64_t id = 0;
  float log_probability = 0;
  std::string_view text = {};  // what is certain by now, whole code points; may be empty
  bool is_stop = false;        // the stop id that ends the sequence and is not among its ids
};
// False ends all sequences (StopReason::caller).
using OnToken = std::function<bool(const NewToken&)>;

// One Continuation for each prompt, all in one batch, which sequences leave as they end. Throws
// Error(bad_input) for prompts that the model cannot read.
std::vector<Continuation> generate(Context& context, const Model& model,
                                   const std::vector<Prompt>& prompts,
                                   const GenerateOptions& options, const OnToken& on_token = {});

}  // namespace headlight::infer
