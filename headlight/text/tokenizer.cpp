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

// Ids on their way to who takes them.
class IdBuffer {
 public:
  explicit IdBuffer(const IdTaker& take) : take_(take) {}

  Ids& ids() { return ids_; }
  void pass_on(size_t from = 0) {
    if (ids_.size() <= from) return;
    take_(ids_);
    ids_.clear();
  }
  void pass_on_many() { pass_on(4096); }

 private:
  const IdTaker& take_;
  Ids ids_;
};

// What lies between added tokens, normalised already.
void encode_stretch(const TokenizerParts& parts, std::string_view text, IdBuffer& buffer) {
  std::string spaced;
  if (parts.splitter.adds_space() && !text.starts_with(' ')) {
    text = spaced = std::string(" ").append(text);
  }
  parts.splitter.split(text, [&](std::string_view piece) {
    parts.model->encode(parts.vocabulary, piece, buffer.ids());
    buffer.pass_on_many();
  });
}

void encode_plain(const TokenizerParts& parts, std::string_view text, bool special,
                  IdBuffer& buffer) {
  std::string changed;
  if (!parts.normalizer.does_nothing()) text = changed = parts.normalizer.apply(text);
  parts.normalized_finder.split(
      text, special, [&](std::string_view plain) { encode_stretch(parts, plain, buffer); },
      [&](int64_t id) { buffer.ids().push_back(id); });
}

void encode_text(const TokenizerParts& parts, std::string_view text, bool special,
                 const IdTaker& take) {
  IdBuffer buffer(take);
  parts.finder.split(
      text, special, [&](std::string_view plain) { encode_plain(parts, plain, special, buffer); },
      [&](int64_t id) {
        buffer.ids().push_back(id);
        buffer.pass_on_many();
      });
  buffer.pass_on();
}

std::optional<Sizes::Cut> cut_for(const TokenizerParts& parts, const EncodeOptions& options) {
  if (options.sizing == Sizing::whole) return std::nullopt;
  std::optional<Sizes::Cut> cut = parts.sizes.cut;
  if (options.longest) {
    cut = {.longest = *options.longest, .at_front = cut && cut->at_front};
  }
  return cut;
}

// The first ids, or the last, as far as a cut leaves them; all without one.
Ids kept_ids(const TokenizerParts& parts, std::string_view text, const EncodeOptions& options,
             int64_t around) {
  Ids kept;
  const Sizes sizes{.cut = cut_for(parts, options)};
  constexpr size_t kSpare = 65'536;
  encode_text(parts, text, options.special, [&](std::span<const int64_t> ids) {
    kept.insert(kept.end(), ids.begin(), ids.end());
    const bool is_long = sizes.cut && kept.size() > kSpare &&
                         static_cast<int64_t>(kept.size() - kSpare) > sizes.cut->longest;
    if (is_long) sizes.shorten(kept, 0);
  });
  sizes.shorten(kept, around);
  return kept;
}

void check_text(std::string_view text) {
  check_utf8(text);
  if (text.size() >= kTextLimit) {
    throw base::Error(base::ErrorKind::bad_input, "text", "",
                      std::to_string(text.size()) + " bytes, at most " +
                          std::to_string(kTextLimit - 1) + " are tokenized at once");
  }
}

}  // namespace

Tokenizer::Tokenizer(TokenizerParts parts)
    : parts_(std::make_shared<const TokenizerParts>(std::move(parts))) {}

std::vector<int64_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  check_text(text);
  const Frame frame = options.framed ? parts_->frame : Frame();
  Ids ids = kept_ids(*parts_, text, options,
                     static_cast<int64_t>(frame.before.size() + frame.after.size()));
  ids.insert(ids.begin(), frame.before.begin(), frame.before.end());
  ids.insert(ids.end(), frame.after.begin(), frame.after.end());
  if (options.sizing == Sizing::cut_and_filled) parts_->sizes.fill(ids);
  return ids;
}

void Tokenizer::encode(std::string_view text, EncodeOptions options, const IdTaker& take) const {
  const bool fills = options.sizing == Sizing::cut_and_filled && parts_->sizes.filling;
  if (fills || cut_for(*parts_, options)) {
    return take(encode(text, options));
  }
  check_text(text);
  if (options.framed) take(parts_->frame.before);
  encode_text(*parts_, text, options.special, take);
  if (options.framed) take(parts_->frame.after);
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

std::string Tokenizer::bytes(int64_t id, bool is_first) const {
  const std::string& written = token(id);
  const Joiner& joiner = parts_->joiner;
  if (is_special(id) && joiner.is_byte_level()) return written;
  std::string bytes;
  joiner.append_to(bytes, written, is_first);
  return bytes;
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
  if (!options_.special && tokenizer_.is_special(id)) return "";
  waiting_ += tokenizer_.bytes(id, is_first_);
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
