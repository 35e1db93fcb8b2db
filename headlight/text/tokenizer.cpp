// Encoding and decoding by the parts.
#include "headlight/text/tokenizer.h"

#include "headlight/text/repair.h"
#include "headlight/text/tokenizer_parts.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

constexpr size_t kTextLimit = size_t{1} << 31;  // bytes; places in a piece are int32

void check_id(const Vocabulary& vocabulary, int64_t id) {
  if (vocabulary.contains(id)) return;
  throw base::Error(base::ErrorKind::bad_input, "token id", std::to_string(id),
                    "the tokenizer has ids from 0 to " + std::to_string(vocabulary.size() - 1));
}

void encode_plain(const TokenizerParts& parts, std::string_view text, Ids& ids) {
  std::string changed;
  if (!parts.normalizer.does_nothing()) text = changed = parts.normalizer.apply(text);
  if (parts.splitter.adds_space() && !text.starts_with(' ')) {
    text = changed = std::string(" ").append(text);
  }
  parts.splitter.split(
      text, [&](std::string_view piece) { parts.model->encode(parts.vocabulary, piece, ids); });
}

}  // namespace

Tokenizer::Tokenizer(TokenizerParts parts)
    : parts_(std::make_shared<const TokenizerParts>(std::move(parts))) {}

std::vector<int64_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  check_utf8(text);
  if (text.size() >= kTextLimit) {
    throw base::Error(base::ErrorKind::bad_input, "text", "",
                      std::to_string(text.size()) + " bytes, at most " +
                          std::to_string(kTextLimit - 1) + " are tokenized at once");
  }
  Ids ids;
  if (options.framed) ids = parts_->frame.before;
  parts_->finder.split(
      text, options.special, [&](std::string_view plain) { encode_plain(*parts_, plain, ids); },
      [&](int64_t id) { ids.push_back(id); });
  if (options.framed) ids.insert(ids.end(), parts_->frame.after.begin(), parts_->frame.after.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const int64_t> ids, DecodeOptions options) const {
  StreamDecoder decoder(*this, options);
  std::string text;
  for (const int64_t id : ids) text += decoder.add(id);
  return text + decoder.finish();
}

std::string_view Tokenizer::kind() const {
  const std::string_view kind = parts_->model->kind();
  return kind == "word" && parts_->splitter.is_by_character() ? "char" : kind;
}

int64_t Tokenizer::size() const { return parts_->vocabulary.size(); }

const std::string& Tokenizer::token(int64_t id) const {
  check_id(parts_->vocabulary, id);
  return parts_->vocabulary.token(id);
}

std::optional<int64_t> Tokenizer::find(std::string_view token) const {
  return parts_->vocabulary.find(token);
}

bool Tokenizer::is_special(int64_t id) const {
  check_id(parts_->vocabulary, id);
  return parts_->vocabulary.is_special(id);
}

const SpecialIds& Tokenizer::special() const { return parts_->special; }

StreamDecoder::StreamDecoder(Tokenizer tokenizer, DecodeOptions options)
    : tokenizer_(std::move(tokenizer)), options_(options) {}

std::string StreamDecoder::add(int64_t id) {
  const std::string& token = tokenizer_.token(id);
  const bool is_special = tokenizer_.is_special(id);
  if (is_special && !options_.special) return "";
  const Joiner& joiner = tokenizer_.parts_->joiner;
  if (is_special && joiner.is_byte_level()) {
    waiting_ += token;
  } else {
    joiner.append_to(waiting_, token, is_first_);
  }
  is_first_ = false;
  return take_utf8(waiting_);
}

std::string StreamDecoder::finish() {
  is_first_ = true;
  const bool is_cut = !waiting_.empty();
  waiting_.clear();
  return is_cut ? "\uFFFD" : "";
}

}  // namespace headlight::text
