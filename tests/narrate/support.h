// What the tests of narrate share: the models that explain's tests look at.
#pragma once

#include <string>

#include "headlight/narrate/narrate.h"
#include "tests/explain/support.h"

namespace headlight::narrate {

class NarrateTest : public explain::ExplainTest {
 protected:
  // What a document writes.
  static std::string written(const Explanation& explanation) {
    std::string text;
    TextOutput output(text);
    explanation.write(output);
    return text;
  }

  class TextOutput : public base::Output {
   public:
    explicit TextOutput(std::string& text) : text_(text) {}
    using base::Output::write;
    void write(std::span<const std::byte> bytes) override {
      text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }

   private:
    std::string& text_;
  };
};

}  // namespace headlight::narrate
