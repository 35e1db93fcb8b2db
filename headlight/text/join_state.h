// Where decoding stands within a text, for those who decode id by id. For text's own use.
#pragma once

#include <cstdint>
#include <string>

#include "headlight/text/clean_up.h"

namespace headlight::text {

struct JoinState {
  bool is_first = true;         // no token yet
  bool is_first_joined = true;  // nor any after bytes were joined
  bool has_text = false;        // of the tokens since the beginning, or since a special one
  bool has_output = false;      // something was given
  bool took_space = false;      // the token before began with the space in front of the text
  int64_t stripped = 0;         // characters taken from the text's front
  bool is_stripping = true;     // they may still be taken
  std::string bytes = {};       // of tokens that stand for single bytes
  std::string held = {};        // what is taken away if the text ends with it
  std::string unfinished = {};  // the beginning of a code point
  Uncleaned uncleaned = {};     // text from which spaces may still be taken
};

}  // namespace headlight::text
