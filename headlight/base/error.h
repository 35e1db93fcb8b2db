// The one exception type of the engine. Who is wrong decides: the caller or the world throws Error;
// our own mistakes are assertions.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace headlight::base {

enum class ErrorKind {
  usage,          // a wrong command line, decidable from it alone
  bad_input,      // a file, a text, a shape or a model is wrong
  out_of_memory,  // not enough memory or disk
  failed,         // something failed while running: an unwritable output, a busy port, divergence
};

// Reads "<what> (<where>): <why>", e.g. "layer_norm (weight): shape is [768], input rows have 512".
// The operation comes first and the numbers are in it. An empty `where` is left out; without a
// `what` it reads "<why>", somebody else's whole sentence. Control characters are written as \x0a
// and the like, so that it is always one line.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string_view what, std::string_view where, std::string_view why);
  ErrorKind kind() const noexcept { return kind_; }
  // The same sentence, with somebody else to blame.
  Error with_kind(ErrorKind kind) const {
    Error changed = *this;
    changed.kind_ = kind;
    return changed;
  }

 private:
  ErrorKind kind_;
};

// Throws Error(bad_input).
[[noreturn]] void refuse(std::string_view what, std::string_view where, std::string_view why);

}  // namespace headlight::base
