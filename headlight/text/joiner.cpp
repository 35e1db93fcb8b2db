// Decoders of tokenizer.json.
#include "headlight/text/joiner.h"

#include "headlight/text/byte_alphabet.h"

namespace headlight::text {

Joiner::Joiner(const Component& component) {
  const std::string& type = component.type();
  if (component.is_absent()) {
    kind_ = Kind::spaced;
  } else if (type == "ByteLevel") {
    kind_ = Kind::byte_level;
  } else if (type == "Fuse") {
    kind_ = Kind::fused;
  } else if (type == "WordPiece") {
    kind_ = Kind::word_piece;
    prefix_ = component.text("prefix", "##");
    is_tidy_ = component.flag("cleanup", true);
  } else {
    component.refuse_type("ByteLevel, WordPiece and Fuse");
  }
}

void Joiner::append_to(std::string& bytes, const std::string& token, bool is_first) const {
  const bool goes_on = kind_ == Kind::word_piece && token.starts_with(prefix_);
  const bool is_attached =
      is_tidy_ && (token == "." || token == "," || token == "?" || token == "!");
  switch (kind_) {
    case Kind::byte_level:
      // A token of other characters stands for itself.
      bytes += bytes_of_token(token).value_or(token);
      return;
    case Kind::fused:
      bytes += token;
      return;
    case Kind::word_piece:
    case Kind::spaced:
      if (!is_first && !goes_on && !is_attached) bytes += ' ';
      bytes.append(token, !is_first && goes_on ? prefix_.size() : 0);
      return;
  }
}

}  // namespace headlight::text
