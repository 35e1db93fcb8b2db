// Reading forward through a buffer.
#include "headlight/io/byte_reader.h"

#include <algorithm>

namespace headlight::io {
namespace {

constexpr uint64_t kBufferBytes = uint64_t{1} << 16;

}  // namespace

ByteReader::ByteReader(std::string_view format, const base::Input& input, uint64_t begin,
                       uint64_t end)
    : format_(format), input_(input), position_(begin), end_(end) {}

void ByteReader::refuse(const std::string& why) const {
  throw base::Error(base::ErrorKind::bad_input, format_, input_.name(), why);
}

void ByteReader::check_left(uint64_t size, std::string_view part) const {
  if (size <= left()) return;
  refuse(std::string(part) + " at byte " + std::to_string(position_) + " needs " +
         std::to_string(size) + " bytes, " + std::to_string(left()) +
         " are there; truncated download?");
}

void ByteReader::take(std::span<std::byte> into, std::string_view part) {
  check_left(into.size(), part);
  size_t filled = 0;
  while (filled < into.size()) {
    if (position_ < buffer_begin_ || position_ >= buffer_begin_ + buffer_.size()) {
      buffer_.resize(std::min(kBufferBytes, left()));
      buffer_begin_ = position_;
      input_.read(buffer_begin_, buffer_);
    }
    const size_t at = position_ - buffer_begin_;
    const size_t count = std::min(buffer_.size() - at, into.size() - filled);
    std::copy_n(buffer_.data() + at, count, into.data() + filled);
    filled += count;
    position_ += count;
  }
}

std::string ByteReader::text(uint64_t size, std::string_view part) {
  check_left(size, part);
  std::string text(size, '\0');
  take(std::as_writable_bytes(std::span(text)), part);
  return text;
}

std::string ByteReader::line(size_t limit, std::string_view part) {
  std::string line;
  for (char c = number<char>(part); c != '\n'; c = number<char>(part)) {
    if (line.size() == limit) {
      refuse(std::string(part) + " at byte " + std::to_string(position_) + " has more than " +
             std::to_string(limit) + " characters");
    }
    line.push_back(c);
  }
  return line;
}

}  // namespace headlight::io
