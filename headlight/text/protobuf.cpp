// The wire format: a key of number and kind before each field.
#include "headlight/text/protobuf.h"

#include <bit>

#include "headlight/text/vocabulary.h"

namespace headlight::text {
namespace {

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

void ProtobufReader::refuse(const std::string& why) const {
  refuse_tokenizer(name_, "not a file of SentencePiece's: " + place_ + ", byte " +
                              std::to_string(begin_ + at_) + ": " + why);
}

void ProtobufReader::refuse_kind(const Field& field, const char* expected) const {
  refuse("field " + std::to_string(field.number) + " is not " + expected);
}

uint64_t ProtobufReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at_ >= message_.size()) refuse("a number is cut short");
    const auto byte = static_cast<unsigned char>(message_[at_++]);
    if (shift == 63 && byte > 1) break;
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  refuse("a number has more than 64 bits");
}

std::string_view ProtobufReader::take(uint64_t size) {
  if (size > message_.size() - at_) {
    refuse("a field of " + std::to_string(size) + " bytes, " +
           std::to_string(message_.size() - at_) + " are left");
  }
  const std::string_view bytes = message_.substr(at_, size);
  at_ += size;
  return bytes;
}

std::optional<ProtobufReader::Field> ProtobufReader::next() {
  if (at_ == message_.size()) return std::nullopt;
  const uint64_t key = varint();
  Field field{.number = key >> 3};
  if (field.number == 0 || field.number >= (uint64_t{1} << 29)) {
    refuse("no field has the number " + std::to_string(field.number));
  }
  switch (key & 7) {
    case 0:
      field.value = varint();
      return field;
    case 1:
      field.kind = Field::Kind::eight_bytes;
      field.value = little_endian(take(8));
      return field;
    case 2:
      field.kind = Field::Kind::bytes;
      field.bytes = take(varint());
      return field;
    case 5:
      field.kind = Field::Kind::four_bytes;
      field.value = little_endian(take(4));
      return field;
    default:
      refuse("field " + std::to_string(field.number) + " is of the kind " +
             std::to_string(key & 7) + ", which is not read");
  }
}

int64_t ProtobufReader::number(const Field& field) const {
  if (field.kind != Field::Kind::number) refuse_kind(field, "a whole number");
  return static_cast<int64_t>(field.value);
}

float ProtobufReader::four_bytes(const Field& field) const {
  if (field.kind != Field::Kind::four_bytes) refuse_kind(field, "a number of four bytes");
  return std::bit_cast<float>(static_cast<uint32_t>(field.value));
}

std::string_view ProtobufReader::bytes(const Field& field) const {
  if (field.kind != Field::Kind::bytes) refuse_kind(field, "a text or a message");
  return field.bytes;
}

}  // namespace headlight::text
