// Meter: what a template may use up, and the line at fault when something goes wrong. For text's
// own use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headlight/base/base.h"

namespace headlight::text::jinja {

// Throws Error(bad_input) about a line of the template.
[[noreturn]] void refuse_template(const std::string& name, int64_t line, std::string_view why);

struct Limits {
  int64_t steps = 2'000'000;           // operations; long texts count as several
  int64_t bytes = int64_t{256} << 20;  // of all texts that are made on the way
  int depth = 600;                     // of expressions, statements and macros inside each other
};

// Of one render. The line is that of what is being evaluated.
class Meter {
 public:
  Meter(std::string name, const Limits& limits) : name_(std::move(name)), left_(limits) {}

  void set_line(int64_t line) { line_ = line; }
  int64_t line() const { return line_; }
  const std::string& name() const { return name_; }
  [[noreturn]] void refuse(std::string_view why) const { refuse_template(name_, line_, why); }

  // A width or the like that a template asks for, where there is a most.
  int64_t up_to(int64_t most, int64_t asked) const {
    if (asked > most)
      refuse("more than " + std::to_string(most) + " letters of room are asked for");
    return asked;
  }

  void step(int64_t count = 1) {
    left_.steps -= count;
    if (left_.steps < 0) refuse("takes too many steps; does a loop not end?");
  }
  // A text of so many bytes is read or made.
  void read(size_t bytes) { step(1 + static_cast<int64_t>(bytes / 256)); }
  void make(size_t bytes) {
    read(bytes);
    left_.bytes -= static_cast<int64_t>(bytes);
    if (left_.bytes < 0) refuse("makes too much text");
  }

  // One level deeper while it lives.
  class Level {
   public:
    explicit Level(Meter& meter) : meter_(meter) {
      if (--meter_.left_.depth < 0) {
        ++meter_.left_.depth;
        meter_.refuse("nests too deep; does a macro call itself without end?");
      }
    }
    ~Level() { ++meter_.left_.depth; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Meter& meter_;
  };

 private:
  std::string name_;
  Limits left_;
  int64_t line_ = 1;
};

}  // namespace headlight::text::jinja
