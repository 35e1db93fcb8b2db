// How tokens become text again. For text's own use.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/text/component.h"
#include "headlight/text/join_state.h"
#include "headlight/text/pattern.h"

namespace headlight::text {

class Joiner {
 public:
  // Without a component tokens are joined by spaces.
  explicit Joiner(const Component& component);

  bool is_byte_level() const { return end_ == End::byte_level; }
  // What the token adds to a text after others; is_first: that begins with it. It may be a part of
  // a code point. SentencePiece shows `special` tokens as they are.
  std::string bytes_of(const std::string& token, bool is_first, bool is_special) const;

  // What is certain of the text when this token has come. All that this and finish() give, joined,
  // is the text of all tokens: UTF-8.
  std::string add(JoinState& state, const std::string& token, bool is_special) const;
  std::string finish(JoinState& state) const;

 private:
  // How texts of tokens are joined: as they are, by spaces, as bytes, or SentencePiece's way.
  enum class End { fused, spaced, byte_level, sentence_piece };
  enum class Kind { replace, metaspace, word_piece, strip };
  struct Step {
    Kind kind;
    std::optional<Pattern> pattern = {};
    std::string content = {};  // what is put in its place; the prefix of pieces; what is stripped
    bool is_set = false;       // tidy (word_piece); takes the first space (metaspace)
    int64_t start = 0;         // how many are stripped
    int64_t stop = 0;
  };

  void add_component(const Component& component);
  void add_strip(const Component& component);
  std::string changed(const Step& step, std::string text, bool is_first) const;
  std::string applied(const std::vector<Step>& steps, std::string text, bool is_first) const;
  void pass_on(JoinState& state, std::string token, std::string& text) const;
  void end_bytes(JoinState& state, std::string& text) const;
  std::string stripped(JoinState& state, std::string text) const;
  std::string add_piece(JoinState& state, std::string_view token, bool is_special) const;
  std::string trimmed(JoinState& state, std::string text, bool is_special) const;

  End end_ = End::fused;
  bool falls_back_ = false;           // <0x0A> stands for a byte
  bool is_fused_ = false;             // what comes now is for the whole text
  std::vector<Step> steps_ = {};      // of tokens, before bytes are joined
  std::vector<Step> later_ = {};      // after that
  std::optional<Step> at_ends_ = {};  // what is stripped from the whole text
  // Of SentencePiece: the first space is taken, or all at the front; no white space at both ends.
  bool takes_space_ = true;
  bool takes_all_spaces_ = true;
  bool is_trimmed_ = false;
};

// The byte that a token "<0x0A>" stands for.
std::optional<unsigned char> byte_of_token(std::string_view token);
std::string byte_token(unsigned char byte);
// The same of SentencePiece's, which have capitals alone: "<0x0a>" is a text.
std::optional<unsigned char> byte_of_piece(std::string_view piece);

}  // namespace headlight::text
