// An output that keeps its bytes, to be read again.
#pragma once

#include <string>

#include "headlight/base/base.h"

namespace headlight::test {

class StringOutput : public base::Output {
 public:
  using Output::write;
  void write(std::span<const std::byte> bytes) override {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  base::MemoryInput input() const {
    return base::MemoryInput("again", std::as_bytes(std::span(text)));
  }

  std::string text;
};

}  // namespace headlight::test
