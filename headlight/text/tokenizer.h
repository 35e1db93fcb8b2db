// From text to token ids and back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/base.h"
#include "headlight/text/join_state.h"
#include "headlight/text/marked_text.h"

namespace headlight::text {

// Whether ids are cut at the length, and filled up to the length, that a tokenizer.json may name
// (its "truncation" and "padding"). What fills up is for other programs: models here are told how
// many ids count.
enum class Sizing { whole, cut, cut_and_filled };

struct EncodeOptions {
  bool special = false;  // the text of a special token becomes that token, or else plain text
  bool framed = false;   // with what the tokenizer puts around a text, BERT's [CLS] and [SEP]
  Sizing sizing = Sizing::whole;
  // Where ids are cut, what is put around the text included: here, and not where the file says.
  std::optional<int64_t> longest = {};
};

// Takes ids as they come, some at a time.
using IdTaker = std::function<void(std::span<const int64_t>)>;

struct DecodeOptions {
  bool special = true;  // special tokens appear as their text, or else not at all
};

// Ids of the tokens that models ask for, as far as there are any.
struct SpecialIds {
  std::optional<int64_t> pad;        // <pad>, [PAD], <|pad|>
  std::optional<int64_t> bos;        // <start>, <s>, <bos>, [CLS], <|startoftext|>
  std::optional<int64_t> eos;        // <end>, </s>, <eos>, [SEP], <|endoftext|>
  std::optional<int64_t> unk;        // what the file calls its unknown token, <unk>, [UNK]
  std::optional<int64_t> mask = {};  // <mask>, [MASK]
};

// A part of what two texts become together: one of them, or a token. `segment` is BERT's
// token_type_id of its ids.
struct PairPart {
  enum class Kind { first, second, token };
  Kind kind = Kind::token;
  int64_t id = 0;  // of a token
  int64_t segment = 0;
};

// What is put around a text, BERT's [CLS] and [SEP].
struct Frame {
  std::vector<int64_t> before;
  std::vector<int64_t> after;
  // Of two texts, each of which is there once; nothing: why the file does not say it.
  std::optional<std::vector<PairPart>> pair = {};
  std::string pair_problem = {};
};

// Two texts as a model reads them together.
struct PairIds {
  std::vector<int64_t> ids;
  std::vector<int64_t> segments;  // of each id: which text it belongs to, as the tokenizer says it
};

struct TokenizerParts;

// A value, cheap to copy: copies share their vocabulary. It is made by load_tokenizer,
// char_tokenizer, word_tokenizer or train_bpe.
class Tokenizer {
 public:
  explicit Tokenizer(TokenizerParts parts);  // for text's own use

  // Throws Error(bad_input) for text that is not UTF-8, and for what no token stands for when there
  // is no unknown token.
  std::vector<int64_t> encode(std::string_view text, EncodeOptions options = {}) const;
  // The same without holding all ids at once.
  void encode(std::string_view text, EncodeOptions options, const IdTaker& take) const;
  // What a chat template has written: the text of a special token becomes that token where none of
  // its bytes was given by somebody, and plain text where one was.
  std::vector<int64_t> encode(const MarkedText& text) const;
  // A text that a model is to continue. What the tokenizer puts before a text, <s> or <bos>, comes
  // first, unless the text begins with it itself; what it puts behind one does not come.
  std::vector<int64_t> encode_prompt(std::string_view text, bool special = false) const;
  // Two texts with what the tokenizer puts around and between them; they are never cut. Throws
  // Error(bad_input) also where it does not say what two texts become.
  PairIds encode_pair(std::string_view first, std::string_view second, bool special = false) const;
  // UTF-8 whatever the ids are: bytes that are not become U+FFFD. Throws Error(bad_input) for an id
  // that is not in [0, size()).
  std::string decode(std::span<const int64_t> ids, DecodeOptions options = {}) const;

  // "char", "word", "bpe", "unigram" or "wordpiece".
  std::string_view kind() const;
  // Ids are 0 … size() - 1.
  int64_t size() const;
  // The token as files write it: "Ġthe", "##ing". Throws as decode does.
  const std::string& token(int64_t id) const;
  // The bytes that the token adds to a text, as its first token or as a later one: of the
  // byte-level kind maybe parts of code points. Throws as decode does.
  std::string bytes(int64_t id, bool is_first) const;
  std::optional<int64_t> find(std::string_view token) const;
  bool is_special(int64_t id) const;
  const SpecialIds& special() const;
  const Frame& frame() const;

  // Writes tokenizer.json, as Hugging Face `tokenizers` reads it, and tokenizer_config.json; what
  // was read from files of SentencePiece's, as these files. The directory is there.
  void save(base::FileSystem& files, const std::string& directory) const;
  // The two documents themselves. The first throws Error(usage) for those that are no
  // tokenizer.json.
  std::string json() const;
  std::string config_json() const;

 private:
  friend class StreamDecoder;

  std::shared_ptr<const TokenizerParts> parts_;
};

// Decodes ids as they come. All that it gives, joined, is what decode gives for all ids together.
class StreamDecoder {
 public:
  explicit StreamDecoder(Tokenizer tokenizer, DecodeOptions options = {});

  // Whole code points only: the beginning of one waits for its rest, and what the end of a text
  // would lose for more to come.
  std::string add(int64_t id);
  // The text of bytes that came one by one and are code points by now, though more of them may make
  // U+FFFD of them all; empty: none are.
  std::string waiting() const;
  // What still waits, the beginnings of code points as U+FFFD; the next id begins a new text.
  std::string finish();

 private:
  Tokenizer tokenizer_;
  DecodeOptions options_;
  JoinState state_;
};

}  // namespace headlight::text
