// Standard input, where texts come from when no option gives one: as a whole, or line by line.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/program/program.h"
#include "headlight/models/models.h"
#include "headlight/text/text.h"

namespace headlight::cli {

// All of it. Throws Error(bad_input) when it cannot be read or is longer than 1 GiB.
std::string read_standard_input();

// The lines of --text or of standard input. They end with LF or CRLF; the last may do without. What
// comes from a terminal or a slow pipe is given as it comes, so that each line gets its answer; a
// file is given in large blocks.
class TextLines {
 public:
  // Reads the options "text" and "encoding", which exclude each other. A person at a terminal is
  // told what is waited for.
  explicit TextLines(const Session& session);

  // The next lines, at least one; none at the end. Throws Error(bad_input) for a line that is not
  // UTF-8, after those before it.
  std::vector<std::string> next();
  // "standard input, line 12": a line of the last block, for errors.
  std::string place(size_t index) const;

 private:
  std::string next_text();

  const Session& session_;
  std::string name_;
  std::string encoding_;
  std::string waiting_;  // the beginning of a line
  size_t first_line_ = 1;
  size_t next_line_ = 1;
  bool has_asked_ = false;
  bool is_at_end_ = false;
  bool is_empty_text_ = false;  // of --text: one line, which is still to come
};

// The most bytes of a line that a terminal hands over (Linux); what was typed beyond them is lost
// without a word.
inline constexpr size_t kMostTypedBytes = 4095;

// Lines that somebody types, each when it comes; of any bytes, and of a long one the beginning.
class TypedLines {
 public:
  explicit TypedLines(size_t most_kept = 4096) : most_kept_(most_kept) {}
  // Those of a text that is there already.
  TypedLines(size_t most_kept, std::string text)
      : most_kept_(most_kept), waiting_(std::move(text)), is_at_end_(true) {}

  // Without its LF; nothing at the end. Throws Error(bad_input) when it cannot be read.
  std::optional<std::string> next();

 private:
  size_t most_kept_;
  std::string waiting_;
  bool is_at_end_ = false;
};

// The ids of a line that a model reads. Throws Error(bad_input) with its place for what no token
// stands for and for more tokens than the model's context has.
std::vector<int64_t> encode_line(const std::string& command, const text::Tokenizer& tokenizer,
                                 const models::Model& model, const std::string& line,
                                 const std::string& place, text::EncodeOptions options = {});

// Which words of a line a model reads as unknown, for somebody at a terminal who may wonder at its
// answer; nothing where there are none.
void say_unknown_words(const Session& session, const text::Tokenizer& tokenizer,
                       const std::string& line);

// A block as ids, up to the first line that `encode(line, place)` refuses: those before it get
// their answer, then the refusal, if there is one, is told.
struct EncodedBlock {
  std::vector<std::vector<int64_t>> lines;
  std::exception_ptr refusal;
};
using EncodeLine = std::function<std::vector<int64_t>(const std::string&, const std::string&)>;
EncodedBlock encode_block(const TextLines& lines, const std::vector<std::string>& block,
                          const EncodeLine& encode);

}  // namespace headlight::cli
