// SentencePiece's table of replacements, "precompiled_charsmap": a double-array trie and the texts
// it leads to. For text's own use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::text {

class Charsmap {
 public:
  struct Match {
    size_t length;          // bytes of the text that are replaced
    std::string_view text;  // what is put in their place
  };

  // The bytes as files have them. Throws Error(bad_input); `name` is for errors. What the trie
  // leads to is checked as it is met: it leads nowhere else.
  Charsmap(std::string_view bytes, const std::string& name);

  // What replaces the shortest, or the longest, beginning of a text that the table has.
  std::optional<Match> shortest(std::string_view text) const { return find(text, false); }
  std::optional<Match> longest(std::string_view text) const { return find(text, true); }

  // As Hugging Face's `tokenizers` replaces: user-perceived characters of fewer than six bytes by
  // what replaces their shortest beginning, or else their code points one by one. Throws
  // Error(bad_input) when it would have more than `longest` bytes.
  std::string replaced(std::string_view text, size_t longest) const;

 private:
  std::optional<Match> find(std::string_view text, bool longest) const;
  bool append_replaced(std::string& result, std::string_view part) const;

  std::vector<uint32_t> units_;
  std::string texts_;  // each ends with a NUL
};

// The bytes that base64 stands for; nothing when it is none.
std::optional<std::string> from_base64(std::string_view text);
std::string to_base64(std::string_view bytes);

}  // namespace headlight::text
