// Little-endian numbers and texts, one after the other, from a part of a file. For io's own use.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "headlight/base/base.h"

namespace headlight::io {

// Reads through a small buffer. What is not there is an Error(bad_input), begun by `format`, before
// any memory is asked for.
class ByteReader {
 public:
  // The bytes from `begin` to `end`, which are within the input. `format` and `input` outlive it.
  ByteReader(std::string_view format, const base::Input& input, uint64_t begin, uint64_t end);

  uint64_t position() const { return position_; }  // in the file
  uint64_t left() const { return end_ - position_; }

  // `part`, "the header" for instance, is for errors.
  template <class T>
  requires std::is_arithmetic_v<T> T number(std::string_view part) {
    T value;
    take({reinterpret_cast<std::byte*>(&value), sizeof value}, part);
    return value;
  }
  std::string text(uint64_t size, std::string_view part);
  // Up to the next line feed, which is passed over; longer than `limit` is an Error.
  std::string line(size_t limit, std::string_view part);

  [[noreturn]] void refuse(const std::string& why) const;

 private:
  void check_left(uint64_t size, std::string_view part) const;
  void take(std::span<std::byte> into, std::string_view part);

  std::string_view format_;
  const base::Input& input_;
  uint64_t position_;
  uint64_t end_;
  std::vector<std::byte> buffer_;
  uint64_t buffer_begin_ = 0;
};

}  // namespace headlight::io
