// ChoiceText: one text of an answer as its tokens come, with their probabilities where wanted.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "apps/server/openai/token_texts.h"

namespace headlight::server::openai {

struct TokenScore {
  TokenText text;
  std::optional<float> log_probability = {};  // nothing: of the first token, which follows nothing
};

struct TokenEntry : TokenScore {
  std::vector<TokenScore> alternatives = {};  // the likeliest first
  size_t offset = 0;                          // letters before it, the prompt's included
};

// What has become certain of a choice.
struct ChoicePiece {
  std::string text = {};
  std::vector<TokenEntry> entries = {};          // where they are wanted
  std::optional<infer::StopReason> reason = {};  // the last piece
};

struct ChoiceOptions {
  bool is_scored = false;                // entries are wanted
  std::optional<std::string> echo = {};  // stands before the text: the prompt, as it was given
};

// All pieces joined are the whole answer, however it is sent. An entry is given when its first byte
// is certain to be part of the text, so that the tokens of a stop text are told by nobody.
class ChoiceText {
 public:
  // `prompt`: what the text follows.
  ChoiceText(TokenTexts texts, std::vector<int64_t> prompt, ChoiceOptions options);

  // `prompt_scores`: of each id of the prompt but the first, where they are wanted and echoed.
  ChoicePiece begin(const std::vector<infer::ScoredToken>& prompt_scores);
  // An event of this continuation, after begin().
  ChoicePiece add(const infer::RequestEvent& event);

  int64_t tokens() const noexcept { return tokens_; }  // new ones

 private:
  TokenEntry take(const infer::ScoredToken& token);
  void read(int64_t id);
  // Otherwise the texts of events are all that there is to tell.
  bool follows_tokens() const { return options_.is_scored || !decoder_; }

  TokenTexts texts_;
  std::vector<int64_t> prompt_;
  ChoiceOptions options_;
  std::optional<text::StreamDecoder> decoder_;
  bool is_first_ = true;
  size_t letters_ = 0;   // decoded, the prompt's too
  size_t decoded_ = 0;   // bytes decoded of new tokens
  size_t released_ = 0;  // bytes given of them
  struct Waiting {
    TokenEntry entry;
    size_t begin;  // its place among the decoded bytes
  };
  std::deque<Waiting> waiting_;
  int64_t tokens_ = 0;
};

// "stop" or "length", as OpenAI says it.
std::string_view finish_reason(infer::StopReason reason);

}  // namespace headlight::server::openai
