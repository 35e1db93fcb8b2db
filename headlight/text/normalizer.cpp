// Normalizers of tokenizer.json as steps.
#include "headlight/text/normalizer.h"

#include <algorithm>

#include "headlight/text/byte_alphabet.h"
#include "headlight/text/growth.h"
#include "headlight/text/hugging_face_unicode.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

constexpr std::string_view kReadNormalizers =
    "NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace, Nmt, Precompiled, "
    "ByteLevel, BertNormalizer and a Sequence of them";

// Words of these are written without spaces, so that each character is taken for a word.
bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

template <class Change>
std::string changed(std::string_view text, const Change& change) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    change(result, point.value, text.substr(at, point.length));
    at += point.length;
  }
  return result;
}

// The first place from `least` on that lies between two ASCII characters; the text's end when there
// is none.
size_t end_between_ascii(std::string_view text, size_t least) {
  const auto is_ascii = [&](size_t at) { return static_cast<unsigned char>(text[at]) < 0x80; };
  for (size_t at = std::max<size_t>(least, 1); at < text.size(); ++at) {
    if (is_ascii(at - 1) && is_ascii(at)) return at;
  }
  return text.size();
}

std::string without(bool (*is_unwanted)(char32_t), std::string_view text) {
  return changed(text, [&](std::string& result, char32_t c, std::string_view bytes) {
    if (!is_unwanted(c)) result += bytes;
  });
}

// What BERT's cleaning takes away; unassigned code points stay.
bool is_bert_control(char32_t c) {
  return c != '\t' && c != '\n' && c != '\r' && hugging_face::is_control_or_private(c);
}

std::string cleaned(std::string_view text) {
  return changed(text, [](std::string& result, char32_t c, std::string_view bytes) {
    if (c == 0 || c == 0xFFFD || is_bert_control(c)) return;
    result += is_white_space(c) ? " " : bytes;
  });
}

std::string parted(std::string_view text) {
  return changed(text, [](std::string& result, char32_t c, std::string_view bytes) {
    if (is_chinese(c)) {
      result.append(" ").append(bytes).append(" ");
    } else {
      result += bytes;
    }
  });
}

// SentencePiece's, for translations.
std::string without_controls(std::string_view text) {
  return changed(text, [](std::string& result, char32_t c, std::string_view bytes) {
    const bool is_control = (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) ||
                            c == 0x7F || c == 0x8F || c == 0x9F;
    const bool is_space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                          (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 ||
                          c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
    if (is_space) {
      result += ' ';
    } else if (!is_control) {
      result += bytes;
    }
  });
}

std::string in_byte_letters(std::string_view text) {
  std::string letters;
  for (const char c : text) letters += byte_character(static_cast<unsigned char>(c));
  return letters;
}

std::string stripped_left(std::string_view text) {
  size_t begin = 0;
  while (begin < text.size()) {
    const CodePoint point = code_point_at(text, begin);
    if (!is_white_space(point.value)) break;
    begin += point.length;
  }
  return std::string(text.substr(begin));
}

std::string stripped_right(std::string_view text) {
  size_t end = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    at += point.length;
    if (!is_white_space(point.value)) end = at;
  }
  return std::string(text.substr(0, end));
}

}  // namespace

Normalizer::Normalizer(const Component& component) { add(component); }

void Normalizer::add(const Component& component) {
  const std::string& type = component.type();
  if (component.is_absent()) return;
  if (type == "NFC") {
    add(Step::nfc);
  } else if (type == "NFD") {
    add(Step::nfd);
  } else if (type == "NFKC") {
    add(Step::nfkc);
  } else if (type == "NFKD") {
    add(Step::nfkd);
  } else if (type == "Lowercase") {
    add(Step::lower_case);
  } else if (type == "StripAccents") {
    add(Step::remove_marks);
  } else if (type == "Strip") {
    if (component.flag("strip_left", true)) add(Step::strip_left);
    if (component.flag("strip_right", true)) add(Step::strip_right);
  } else if (type == "Replace") {
    add_replace(component);
  } else if (type == "Prepend") {
    steps_.push_back({.step = Step::prepend, .content = component.text("prepend", "")});
  } else if (type == "Nmt") {
    add(Step::nmt);
  } else if (type == "Precompiled") {
    add_charsmap(component);
  } else if (type == "ByteLevel") {
    add(Step::byte_letters);
  } else if (type == kSentencePiece) {
    steps_.push_back({.step = Step::sentence_piece,
                      .sentence_piece = std::make_optional<SentencePieceText>(component)});
  } else if (type == "BertNormalizer") {
    add_bert(component);
  } else if (type == "Sequence") {
    for (const io::Json& part : component.array("normalizers")) {
      add(Component(part, "normalizer", component.name()));
    }
  } else {
    component.refuse_type(kReadNormalizers);
  }
  component.check_steps(steps_.size());
}

void Normalizer::add_bert(const Component& component) {
  const bool is_lower = component.flag("lowercase", true);
  if (component.flag("clean_text", true)) add(Step::clean);
  if (component.flag("handle_chinese_chars", true)) add(Step::part_chinese);
  if (component.flag("strip_accents", is_lower)) {
    add(Step::nfd);
    add(Step::remove_nonspacing_marks);
  }
  if (is_lower) add(Step::lower_case);
}

void Normalizer::add_replace(const Component& component) {
  if (component.find("content") == nullptr) component.refuse("\"content\" is missing");
  steps_.push_back({.step = Step::replace,
                    .pattern = std::make_optional<Pattern>(component),
                    .content = component.text("content", "")});
}

void Normalizer::add_charsmap(const Component& component) {
  const auto bytes = from_base64(component.text("precompiled_charsmap", ""));
  if (!bytes) component.refuse("\"precompiled_charsmap\" is not base64");
  steps_.push_back(
      {.step = Step::charsmap, .charsmap = std::make_optional<Charsmap>(*bytes, component.name())});
}

bool Normalizer::may_take_from_front() const {
  return std::ranges::any_of(steps_, [](const Change& change) {
    switch (change.step) {
      case Step::remove_marks:
      case Step::remove_nonspacing_marks:
      case Step::clean:
      case Step::nmt:
      case Step::strip_left:
        return true;
      case Step::replace:
        return change.content.empty();
      default:
        return false;
    }
  });
}

// Whether a step looks at single characters, or at marks and what they stand on.
bool Normalizer::is_local(const Change& change) {
  switch (change.step) {
    case Step::replace:
    case Step::prepend:
    case Step::charsmap:
    case Step::sentence_piece:
    case Step::strip_left:
    case Step::strip_right:
      return false;
    default:
      return true;
  }
}

// A normal form takes several times the text: in pieces, where no step looks further than a piece.
// Nothing joins two ASCII characters.
std::string Normalizer::apply(std::string_view text) const {
  constexpr size_t kPiece = size_t{1} << 20;
  const size_t longest = 1'000'000 + 32 * text.size();
  const bool is_in_pieces = std::ranges::all_of(steps_, is_local);
  std::string result;
  while (!text.empty()) {
    const size_t length = is_in_pieces ? end_between_ascii(text, kPiece) : text.size();
    std::string piece(text.substr(0, length));
    for (const Change& change : steps_) {
      piece = applied(change, piece, longest);
      check_growth(piece, longest);
    }
    if (length == text.size() && result.empty()) return piece;
    result += piece;
    text.remove_prefix(length);
  }
  return result;
}

std::string Normalizer::applied(const Change& change, std::string_view text, size_t longest) {
  switch (change.step) {
    case Step::nfc:
      return hugging_face::normalized(text, NormalForm::nfc);
    case Step::nfd:
      return hugging_face::normalized(text, NormalForm::nfd);
    case Step::nfkc:
      return hugging_face::normalized(text, NormalForm::nfkc);
    case Step::nfkd:
      return hugging_face::normalized(text, NormalForm::nfkd);
    case Step::lower_case:
      return lower(text);
    case Step::remove_marks:
      return without(hugging_face::is_combining_mark, text);
    case Step::remove_nonspacing_marks:
      return without(hugging_face::is_nonspacing_mark, text);
    case Step::clean:
      return cleaned(text);
    case Step::part_chinese:
      return parted(text);
    case Step::nmt:
      return without_controls(text);
    case Step::replace:
      return change.pattern->replaced(text, change.content, longest);
    case Step::prepend:
      return text.empty() ? "" : change.content + std::string(text);
    case Step::byte_letters:
      return in_byte_letters(text);
    case Step::charsmap:
      return change.charsmap->replaced(text, longest);
    case Step::sentence_piece:
      return change.sentence_piece->normalized(text, longest);
    case Step::strip_left:
      return stripped_left(text);
    case Step::strip_right:
      return stripped_right(text);
  }
  return std::string(text);
}

}  // namespace headlight::text
