// Reading SentencePiece's messages and checking what they say.
#include "headlight/text/sentence_piece_file.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "headlight/text/charsmap.h"
#include "headlight/text/component.h"
#include "headlight/text/joiner.h"
#include "headlight/text/protobuf.h"
#include "headlight/text/vocabulary.h"

namespace headlight::text {
namespace {

using Field = ProtobufReader::Field;
using Type = SentencePieceFile::Type;

constexpr size_t kMostPieces = size_t{1} << 22;

class Reading {
 public:
  explicit Reading(const std::string& name) : name_(name) {}

  SentencePieceFile read(std::string_view bytes) {
    ProtobufReader reader(bytes, name_, "the model");
    while (const auto field = reader.next()) {
      if (field->number == 1) {
        read_piece(reader.bytes(*field), reader.place_of(reader.bytes(*field)));
      } else if (field->number == 2) {
        read_trainer(reader.bytes(*field), reader.place_of(reader.bytes(*field)));
      } else if (field->number == 3) {
        read_normalizer(reader.bytes(*field), reader.place_of(reader.bytes(*field)));
      } else if (field->number == 5) {
        check_denormalizer(reader.bytes(*field), reader.place_of(reader.bytes(*field)));
      }
    }
    check_pieces(file_, name_);
    return std::move(file_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { refuse_tokenizer(name_, why); }

  void read_piece(std::string_view bytes, size_t at) {
    ProtobufReader reader(bytes, name_, "piece " + std::to_string(file_.pieces.size()), at);
    SentencePieceFile::Piece piece;
    while (const auto field = reader.next()) {
      if (field->number == 1) {
        piece.text = reader.bytes(*field);
      } else if (field->number == 2) {
        piece.score = reader.four_bytes(*field);
      } else if (field->number == 3) {
        const int64_t type = reader.number(*field);
        if (type < 1 || type > 6) {
          refuse("piece " + std::to_string(file_.pieces.size()) + " is of the type " +
                 std::to_string(type) + ", types are 1 to 6");
        }
        piece.type = static_cast<Type>(type);
      }
    }
    if (file_.pieces.size() == kMostPieces) {
      refuse("more than " + std::to_string(kMostPieces) + " pieces");
    }
    file_.pieces.push_back(std::move(piece));
  }

  void read_trainer(std::string_view bytes, size_t at) {
    ProtobufReader reader(bytes, name_, "what it was trained by", at);
    while (const auto field = reader.next()) {
      switch (field->number) {
        case 3:
          read_model_type(reader.number(*field));
          break;
        case 24:
          file_.prefix_at_end = reader.flag(*field);
          break;
        case 35:
          file_.falls_back_to_bytes = reader.flag(*field);
          break;
        case 46:
          file_.begin = reader.bytes(*field);
          break;
        case 47:
          file_.end = reader.bytes(*field);
          break;
        case 48:
          file_.pad = reader.bytes(*field);
          break;
        default:
          break;
      }
    }
  }

  void read_model_type(int64_t type) {
    if (type != 1 && type != 2) {
      refuse("the model is of the type " + std::to_string(type) +
             (type == 3   ? " (words)"
              : type == 4 ? " (characters)"
                          : "") +
             ", read are 1 (unigram) and 2 (BPE)");
    }
    file_.is_bpe = type == 2;
  }

  void read_normalizer(std::string_view bytes, size_t at) {
    ProtobufReader reader(bytes, name_, "what it does to texts", at);
    while (const auto field = reader.next()) {
      switch (field->number) {
        case 2:
          file_.charsmap = reader.bytes(*field);
          break;
        case 3:
          file_.adds_prefix = reader.flag(*field);
          break;
        case 4:
          file_.removes_spaces = reader.flag(*field);
          break;
        case 5:
          file_.escapes_spaces = reader.flag(*field);
          break;
        default:
          break;
      }
    }
  }

  // What changes a text after it was decoded.
  void check_denormalizer(std::string_view bytes, size_t at) const {
    ProtobufReader reader(bytes, name_, "what it does to decoded texts", at);
    while (const auto field = reader.next()) {
      if (field->number == 2 && !reader.bytes(*field).empty()) {
        refuse("a table of replacements for decoded texts (denormalizer_spec) is not supported");
      }
    }
  }

  const std::string& name_;
  SentencePieceFile file_ = {};
};

// Whether pieces make a vocabulary.
class PieceCheck {
 public:
  PieceCheck(SentencePieceFile& file, const std::string& name) : file_(file), name_(name) {}

  void check() {
    if (file_.pieces.empty()) refuse("the vocabulary is empty");
    std::set<unsigned char> bytes;
    for (size_t id = 0; id < file_.pieces.size(); ++id) {
      check_piece(id);
      const SentencePieceFile::Piece& piece = file_.pieces[id];
      if (piece.type == Type::unknown) set_unknown(id);
      if (piece.type == Type::byte) bytes.insert(byte_of(piece));
    }
    if (file_.falls_back_to_bytes && bytes.size() != 256) {
      refuse("byte_fallback needs pieces for all 256 bytes, " + std::to_string(bytes.size()) +
             " are there");
    }
    if (file_.unknown < 0 && !file_.falls_back_to_bytes) refuse("there is no unknown piece");
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { refuse_tokenizer(name_, why); }

  void check_piece(size_t id) const {
    const SentencePieceFile::Piece& piece = file_.pieces[id];
    const std::string place = "piece " + std::to_string(id);
    if (piece.text.empty()) refuse(place + " is empty");
    if (io::valid_utf8_length(piece.text) != piece.text.size()) refuse(place + " is not UTF-8");
    if (!std::isfinite(piece.score)) refuse(place + " has no finite score");
    if (piece.text.find('\0') != std::string::npos && piece.type != Type::unused) {
      refuse(place + " holds a NUL");
    }
  }

  void set_unknown(size_t id) {
    if (file_.unknown >= 0) {
      refuse("two pieces are unknown, " + std::to_string(file_.unknown) + " and " +
             std::to_string(id));
    }
    file_.unknown = static_cast<int64_t>(id);
  }

  unsigned char byte_of(const SentencePieceFile::Piece& piece) const {
    const auto byte = byte_of_token(piece.text);
    if (!byte || byte_token(*byte) != piece.text) {
      refuse(io::in_quotes(piece.text) + " is no byte from <0x00> to <0xFF>");
    }
    if (!file_.falls_back_to_bytes) {
      refuse(io::in_quotes(piece.text) + " is a byte, though byte_fallback is false");
    }
    return *byte;
  }

  SentencePieceFile& file_;
  const std::string& name_;
};

}  // namespace

void check_pieces(SentencePieceFile& file, const std::string& name) {
  PieceCheck(file, name).check();
}

int64_t SentencePieceFile::id_of(std::string_view piece) const {
  const auto found = std::ranges::find(pieces, piece, &Piece::text);
  return found == pieces.end() ? -1 : found - pieces.begin();
}

io::Json SentencePieceFile::normalizer() const {
  io::Json::Array kept;
  for (const Piece& piece : pieces) {
    if (piece.type == Type::user_defined) kept.emplace_back(piece.text);
  }
  return io::Json::Object{{"type", kSentencePiece},
                          {"precompiled_charsmap", to_base64(charsmap)},
                          {"add_dummy_prefix", adds_prefix},
                          {"remove_extra_whitespaces", removes_spaces},
                          {"escape_whitespaces", escapes_spaces},
                          {"treat_whitespace_as_suffix", prefix_at_end},
                          {"user_defined_symbols", kept}};
}

io::Json SentencePieceFile::decoder(bool is_trimmed) const {
  return io::Json::Object{{"type", kSentencePiece},
                          {"byte_fallback", falls_back_to_bytes},
                          {"add_dummy_prefix", adds_prefix},
                          {"remove_extra_whitespaces", removes_spaces},
                          {"trimmed", is_trimmed}};
}

SentencePieceFile parse_sentence_piece(std::string_view bytes, const std::string& name) {
  return Reading(name).read(bytes);
}

}  // namespace headlight::text
