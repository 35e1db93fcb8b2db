// Model: what training, decoding and explaining need of any architecture, and what a model can do.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "headlight/io/io.h"
#include "headlight/models/decoding.h"
#include "headlight/models/heads_left.h"
#include "headlight/nn/nn.h"

namespace headlight::models {

using autograd::Context;
using autograd::Value;
using tensor::Tensor;

// Sequences of a batch, padded at their ends. Of sequence b the first lens[b] ids count (1 to T);
// without lens all do. Padding holds any id of the vocabulary; nothing that counts depends on it.
struct Batch {
  Tensor ids = {};          // i64 (B, T): what a decoder reads, or BERT's words
  Tensor lens = {};         // i64 (B,)
  Tensor source_ids = {};   // i64 (B, S): what an encoder-decoder translates; others have none
  Tensor source_lens = {};  // i64 (B,)
  Tensor segments = {};     // i64 (B, T): which text an id belongs to; absent: all 0
  Tensor targets = {};      // i64 (B, T): the right ids, for loss(); -1 does not count
};

// Ids with a meaning, where the configuration names them.
struct SpecialIds {
  std::optional<int64_t> padding = {};
  std::optional<int64_t> begin = {};
  std::optional<int64_t> end = {};
  std::vector<int64_t> other_ends = {};       // where there are several, those after the first
  std::optional<int64_t> decoder_start = {};  // what decoding begins with
  std::vector<int64_t> banned = {};           // what decoding never writes
};

// What a model can be used for. Who needs a model for something asks this, never what it is called.
struct Capabilities {
  bool continues_prompt = false;  // start() without a source, then ids one after the other
  bool translates = false;        // reads source_ids, which it needs, and writes ids for them
  bool fills_masks = false;       // logits() say what stands where a word is hidden
  bool embeds = false;            // sentence_vectors()
  bool classifies = false;        // class_logits()
};

// How the hidden states of a sequence become one vector: their mean, or the first one, [CLS].
enum class Pooling { mean, first };

class Classifier;

// What a model is made of, for those who look inside. Pointers are the model's; absent parts are
// null.
struct Parts {
  const nn::TransformerStack* encoder = nullptr;
  const nn::TransformerStack* decoder = nullptr;
  const nn::OutputLayer* output = nullptr;
  // The rows of ids that each stack begins with, (V, C); one table where both share it.
  const nn::Parameter* encoder_table = nullptr;
  const nn::Parameter* decoder_table = nullptr;
};

class Model {
 public:
  virtual ~Model() = default;

  virtual std::string_view type() const = 0;  // the folder's model_type, for people and files
  virtual Capabilities capabilities() const = 0;
  virtual io::Json config() const = 0;         // the folder's config.json, an object
  virtual int64_t vocab_size() const = 0;      // of ids and logits
  virtual int64_t hidden_width() const = 0;    // C of what forward() gives
  virtual int64_t context_length() const = 0;  // most ids of a sequence
  virtual const SpecialIds& special_ids() const = 0;
  virtual int64_t source_vocab_size() const { return vocab_size(); }

  // Each once, under the names of the folder's tensors.
  virtual nn::Parameters parameters() const = 0;
  // What model.safetensors holds: the parameters, and what other programs expect beside them.
  virtual nn::StateDict state() const { return nn::save_state(parameters()); }
  // Tensors that files may hold a second time, of the same numbers: an output layer beside the
  // embedding table that it is tied to.
  struct TiedCopy {
    std::string name;
    std::string original;    // the parameter
    bool stands_in = false;  // for the original, where files have this one alone
  };
  virtual std::vector<TiedCopy> tied_copies() const { return {}; }
  // One Error(bad_input) tells what is missing, unexpected or misshapen, copies included; `where`
  // (a path) is for it. No numbers are read.
  void check_state(const nn::StoredState& state, const std::string& where) const;
  // The numbers of all parameters, once check_state has found nothing; float16 and bfloat16 are
  // widened. A copy with numbers of its own is an Error(bad_input).
  void load_state(const nn::StoredState& state, const std::string& where,
                  const nn::LoadOptions& options = {});
  void load_state(const nn::StateDict& state, const std::string& where) {
    load_state(nn::stored(state), where);
  }
  // First numbers for the parameters that have none, by seed and name.
  virtual void draw(uint64_t seed) = 0;
  // All attention modules; options().place of each is its public name, e.g. "decoder.0.self".
  virtual std::vector<nn::MultiHeadAttention*> attentions() = 0;
  virtual Parts parts() const = 0;
  // A model of the same configuration that has these heads, whichever this one has; its parameters
  // have no numbers yet. Throws Error(bad_input) for heads that the configuration does not have,
  // and where models of this type cannot lose any.
  virtual std::unique_ptr<Model> with_heads(const HeadsLeft& left) const;

  // Whether it reads which text an id belongs to, Batch::segments.
  virtual bool reads_segments() const { return false; }
  // The last layer's hidden states (B, T, C), the input of logits() and loss().
  virtual Value forward(Context& context, const Batch& batch) const = 0;
  // Whether it predicts ids at all; without, logits() and loss() throw Error(bad_input).
  virtual bool has_logits() const { return true; }
  // (..., C) to (..., V). Observed as "logits" and "probabilities".
  virtual Value logits(Context& context, const Value& output) const = 0;
  // The mean cross-entropy over targets that are not -1, one number; logits are never held as a
  // whole.
  virtual Value loss(Context& context, const Value& output, const Tensor& targets,
                     float label_smoothing) const = 0;
  Value loss(Context& context, const Batch& batch, float label_smoothing = 0) const {
    return loss(context, forward(context, batch), batch.targets, label_smoothing);
  }

  // Ready to decode: for an encoder-decoder the source is encoded here, once. The model must
  // outlive it. Throws Error(bad_input) unless the model continues a prompt or translates.
  virtual Decoding start(Context& context, const Batch& source = {}) const;
  // Logits (B, V) after the last id that counts of each sequence, computed from scratch: to the bit
  // what Decoding::read gives.
  Tensor next_logits(Context& context, const Batch& batch) const;

  // A vector of length 1 for each sequence, (B, C), from what forward() gave, without gradients;
  // lens as the batch had them. Throws Error(bad_input) unless the model embeds.
  virtual Tensor sentence_vectors(Context& context, const Value& output, const Tensor& lens = {},
                                  Pooling pooling = Pooling::mean) const;

  // The head of a model that classifies; null: it does not.
  virtual const Classifier* classifier() const { return nullptr; }
  // A number for each label of each sequence, (B, labels), from what forward() gave for this batch.
  // Throws Error(bad_input) unless the model classifies.
  Value class_logits(Context& context, const Value& output, const Batch& batch) const;
  // The mean loss of labels, one number: their cross-entropy where one is right for each sequence,
  // i64 (B,); -1 does not count. Throws Error(bad_input) also where several may be right and where
  // labels are numbers.
  Value class_loss(Context& context, const Value& output, const Batch& batch,
                   const Tensor& labels) const;
  // What the model has on top, for those who look at a whole run: logits(), class_logits() or
  // nothing.
  void run_head(Context& context, const Value& output, const Batch& batch) const;

 private:
  // Whether a tensor of a file is neither parameter nor copy and may be there all the same.
  virtual bool ignores(const std::string& name, const nn::StoredTensor& tensor) const = 0;
};

// The same as Model::attentions() for those who only look.
std::vector<const nn::MultiHeadAttention*> attentions_of(const Model& model);
// Where heads have been pruned, those that are left.
HeadsLeft heads_left_of(const Model& model);

}  // namespace headlight::models
