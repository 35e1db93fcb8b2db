// Messages of protocol buffers, field by field. For text's own use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headlight::text {

// Walks over the fields of one message in the order in which they stand. Nothing is copied, and
// nothing is looked into that is not asked for, so that messages within messages take no stack.
class ProtobufReader {
 public:
  struct Field {
    uint64_t number = 0;
    uint64_t value = 0;           // of numbers; of four and eight bytes their bits
    std::string_view bytes = {};  // of texts, bytes and messages
    enum class Kind { number, four_bytes, eight_bytes, bytes } kind = Kind::number;
  };

  // `name` is for errors, `place` says which message it is, `at` where it begins in the file.
  ProtobufReader(std::string_view message, const std::string& name, std::string place,
                 size_t at = 0)
      : message_(message), name_(name), place_(std::move(place)), begin_(at) {}

  // The next field; nothing at the end. Throws Error(bad_input) with the byte of what is wrong.
  std::optional<Field> next();
  // Where the field's bytes begin in the file.
  size_t place_of(std::string_view bytes) const {
    return begin_ + static_cast<size_t>(bytes.data() - message_.data());
  }

  // The field that next() gave last, as what it should be. These throw as next() does.
  bool flag(const Field& field) const { return number(field) != 0; }
  int64_t number(const Field& field) const;
  float four_bytes(const Field& field) const;
  std::string_view bytes(const Field& field) const;

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  [[noreturn]] void refuse_kind(const Field& field, const char* expected) const;
  uint64_t varint();
  std::string_view take(uint64_t size);

  std::string_view message_;
  const std::string& name_;
  std::string place_;
  size_t begin_;
  size_t at_ = 0;
};

}  // namespace headlight::text
