// Messages of protocol buffers that hold a model of SentencePiece's.
#include "headlight/text/sentence_piece_write.h"

#include <cstring>

namespace headlight::text {
namespace {

// One message: fields in the order in which they are added.
class ProtobufWriter {
 public:
  void add_number(uint64_t field, uint64_t value) {
    add_varint(field << 3);
    add_varint(value);
  }
  void add_bytes(uint64_t field, std::string_view bytes) {
    add_varint(field << 3 | 2);
    add_varint(bytes.size());
    bytes_ += bytes;
  }
  void add_float(uint64_t field, float value) {
    add_varint(field << 3 | 5);
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof raw);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void add_varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7F) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

std::string piece_bytes(const SentencePieceFile::Piece& piece) {
  ProtobufWriter writer;
  writer.add_bytes(1, piece.text);
  writer.add_float(2, piece.score);
  writer.add_number(3, static_cast<uint64_t>(piece.type));
  return writer.bytes();
}

std::string trainer_bytes(const SentencePieceFile& file) {
  ProtobufWriter writer;
  writer.add_number(3, file.is_bpe ? 2 : 1);
  writer.add_number(4, file.pieces.size());
  writer.add_number(24, file.prefix_at_end ? 1 : 0);
  writer.add_number(35, file.falls_back_to_bytes ? 1 : 0);
  // -1 stands for none, in all 64 bits.
  writer.add_number(40, static_cast<uint64_t>(file.unknown));
  writer.add_number(41, static_cast<uint64_t>(file.id_of(file.begin)));
  writer.add_number(42, static_cast<uint64_t>(file.id_of(file.end)));
  writer.add_number(43, static_cast<uint64_t>(file.id_of(file.pad)));
  if (file.unknown >= 0) {
    writer.add_bytes(45, file.pieces[static_cast<size_t>(file.unknown)].text);
  }
  writer.add_bytes(46, file.begin);
  writer.add_bytes(47, file.end);
  writer.add_bytes(48, file.pad);
  return writer.bytes();
}

std::string normalizer_bytes(const SentencePieceFile& file) {
  ProtobufWriter writer;
  writer.add_bytes(1, file.charsmap.empty() ? "identity" : "user_defined");
  writer.add_bytes(2, file.charsmap);
  writer.add_number(3, file.adds_prefix ? 1 : 0);
  writer.add_number(4, file.removes_spaces ? 1 : 0);
  writer.add_number(5, file.escapes_spaces ? 1 : 0);
  return writer.bytes();
}

}  // namespace

std::string sentence_piece_bytes(const SentencePieceFile& file) {
  ProtobufWriter writer;
  for (const SentencePieceFile::Piece& piece : file.pieces) {
    writer.add_bytes(1, piece_bytes(piece));
  }
  writer.add_bytes(2, trainer_bytes(file));
  writer.add_bytes(3, normalizer_bytes(file));
  return writer.bytes();
}

}  // namespace headlight::text
