// Normalizers of tokenizer.json as steps.
#include "headlight/text/normalizer.h"

#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

constexpr std::string_view kReadNormalizers =
    "NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, BertNormalizer and a Sequence of them";

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

std::string without(bool (*is_unwanted)(char32_t), std::string_view text) {
  return changed(text, [&](std::string& result, char32_t c, std::string_view bytes) {
    if (!is_unwanted(c)) result += bytes;
  });
}

std::string cleaned(std::string_view text) {
  return changed(text, [](std::string& result, char32_t c, std::string_view bytes) {
    const bool is_blank = c == '\t' || c == '\n' || c == '\r';
    if (c == 0 || c == 0xFFFD || (!is_blank && is_other(c))) return;
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

}  // namespace

Normalizer::Normalizer(const Component& component) { add(component); }

void Normalizer::add(const Component& component) {
  const std::string& type = component.type();
  if (component.is_absent()) return;
  if (type == "NFC") {
    steps_.push_back(Step::nfc);
  } else if (type == "NFD") {
    steps_.push_back(Step::nfd);
  } else if (type == "NFKC") {
    steps_.push_back(Step::nfkc);
  } else if (type == "NFKD") {
    steps_.push_back(Step::nfkd);
  } else if (type == "Lowercase") {
    steps_.push_back(Step::lower_case);
  } else if (type == "StripAccents") {
    steps_.push_back(Step::remove_marks);
  } else if (type == "BertNormalizer") {
    add_bert(component);
  } else if (type == "Sequence") {
    for (const io::Json& part : component.array("normalizers")) {
      add(Component(part, "normalizer", component.name()));
    }
  } else {
    component.refuse_type(kReadNormalizers);
  }
}

void Normalizer::add_bert(const Component& component) {
  const bool is_lower = component.flag("lowercase", true);
  if (component.flag("clean_text", true)) steps_.push_back(Step::clean);
  if (component.flag("handle_chinese_chars", true)) steps_.push_back(Step::part_chinese);
  if (component.flag("strip_accents", is_lower)) {
    steps_.push_back(Step::nfd);
    steps_.push_back(Step::remove_nonspacing_marks);
  }
  if (is_lower) steps_.push_back(Step::lower_case);
}

std::string Normalizer::apply(std::string_view text) const {
  std::string result(text);
  for (const Step step : steps_) result = applied(step, result);
  return result;
}

std::string Normalizer::applied(Step step, std::string_view text) {
  switch (step) {
    case Step::nfc:
      return normalized(text, NormalForm::nfc);
    case Step::nfd:
      return normalized(text, NormalForm::nfd);
    case Step::nfkc:
      return normalized(text, NormalForm::nfkc);
    case Step::nfkd:
      return normalized(text, NormalForm::nfkd);
    case Step::lower_case:
      return lower(text);
    case Step::remove_marks:
      return without(is_mark, text);
    case Step::remove_nonspacing_marks:
      return without(is_nonspacing_mark, text);
    case Step::clean:
      return cleaned(text);
    case Step::part_chinese:
      return parted(text);
  }
  return std::string(text);
}

}  // namespace headlight::text
