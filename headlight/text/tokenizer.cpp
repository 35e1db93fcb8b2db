// Encoding and decoding by the parts.
#include "headlight/text/tokenizer.h"

#include <algorithm>

#include "headlight/text/clean_up.h"
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
void encode_stretch(const TokenizerParts& parts, std::string_view text, bool is_beginning,
                    IdBuffer& buffer) {
  parts.splitter.split(text, is_beginning, [&](std::string_view piece) {
    parts.model->encode(parts.vocabulary, piece, buffer.ids());
    buffer.pass_on_many();
  });
}

// The language that Marian is to translate into, where a text begins with one: its token is taken
// from the text.
void encode_language(const TokenizerParts& parts, std::string_view& text, IdBuffer& buffer) {
  if (!text.starts_with(">>")) return;
  const size_t end = text.find("<<");
  if (end == text.npos) return;
  const std::string_view language = text.substr(0, end + 2);
  text.remove_prefix(language.size());
  const auto id = parts.vocabulary.find_plain(language);
  buffer.ids().push_back(id ? *id : unknown_id(parts.model->unknown(), language));
}

// What is found in the text by one of the finders, special tokens alone.
Ids special_found(const TokenizerParts& parts, const AddedTokenFinder& finder,
                  std::string_view text, const SpecialPlaces& special) {
  Ids ids;
  finder.split(
      text, special, [](std::string_view) {},
      [&](int64_t id) {
        if (parts.vocabulary.is_special(id)) ids.push_back(id);
      });
  return ids;
}

// Whether what was given holds the text of a special token, of those that are found in the
// normalised text, where nobody knows any more whose a byte was.
bool makes_special_tokens(const TokenizerParts& parts, std::string_view text,
                          const SpecialPlaces& special) {
  if (parts.written_finder.empty()) return false;
  const SpecialPlaces anywhere{.anywhere = true};
  if (special_found(parts, parts.written_finder, text, anywhere) !=
      special_found(parts, parts.written_finder, text, special))
    return true;
  const auto is_given = [&](size_t at) { return special.marks->is_given(special.offset + at); };
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin + 1;
    while (end < text.size() && is_given(end) == is_given(begin)) ++end;
    const std::string_view run = text.substr(begin, end - begin);
    if (is_given(begin) &&
        !special_found(parts, parts.normalized_finder, parts.normalizer.apply(run), anywhere)
             .empty())
      return true;
    begin = end;
  }
  return false;
}

void encode_normalized(const TokenizerParts& parts, std::string_view text, bool is_beginning,
                       const SpecialPlaces& special, IdBuffer& buffer) {
  parts.normalized_finder.split(
      text, special,
      [&](std::string_view plain) {
        encode_stretch(parts, plain, is_beginning && plain.data() == text.data(), buffer);
      },
      [&](int64_t id) { buffer.ids().push_back(id); });
}

void encode_plain(const TokenizerParts& parts, std::string_view text, bool is_beginning,
                  SpecialPlaces special, IdBuffer& buffer) {
  if (parts.takes_language) encode_language(parts, text, buffer);
  const std::string_view written = text;
  std::string changed;
  if (!parts.normalizer.does_nothing()) text = changed = parts.normalizer.apply(text);
  const SpecialPlaces anywhere{.anywhere = special.anywhere};
  if (!special.marks || !special.marks->has_given(special.offset, special.offset + written.size()))
    return encode_normalized(parts, text, is_beginning, anywhere, buffer);
  if (!makes_special_tokens(parts, written, special))
    return encode_normalized(parts, text, is_beginning, anywhere, buffer);
  parts.written_finder.split(
      written, special,
      [&](std::string_view plain) {
        encode_plain(parts, plain, is_beginning && plain.data() == written.data(), {}, buffer);
      },
      [&](int64_t id) { buffer.ids().push_back(id); });
}

[[noreturn]] void refuse_missing(const std::string& token) {
  throw base::Error(base::ErrorKind::bad_input, "text", "the special token " + io::in_quotes(token),
                    "the files beside the tokenizer name it and none gives it an id; leave it out, "
                    "or write its id into added_tokens_decoder of tokenizer_config.json");
}

void encode_text(const TokenizerParts& parts, std::string_view text, const SpecialPlaces& special,
                 const IdTaker& take) {
  IdBuffer buffer(take);
  parts.finder.split(
      text, special,
      [&](std::string_view plain) {
        SpecialPlaces inside = special;
        inside.offset += static_cast<size_t>(plain.data() - text.data());
        encode_plain(parts, plain, plain.data() == text.data(), inside, buffer);
      },
      [&](int64_t id) {
        if (id < 0) refuse_missing(parts.missing[static_cast<size_t>(-1 - id)]);
        buffer.ids().push_back(id);
        buffer.pass_on_many();
      });
  buffer.pass_on();
}

bool finds_special(const TokenizerParts& parts, const EncodeOptions& options) {
  return options.special && !parts.splits_special;
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
  encode_text(
      parts, text, {.anywhere = finds_special(parts, options)}, [&](std::span<const int64_t> ids) {
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

PairIds Tokenizer::encode_pair(std::string_view first, std::string_view second,
                               bool special) const {
  if (!parts_->frame.pair) {
    throw base::Error(base::ErrorKind::bad_input, "tokenizer", "post_processor",
                      "does not say what two texts become: " + parts_->frame.pair_problem);
  }
  PairIds pair;
  for (const PairPart& part : *parts_->frame.pair) {
    if (part.kind == PairPart::Kind::token) {
      pair.ids.push_back(part.id);
    } else {
      const Ids ids =
          encode(part.kind == PairPart::Kind::first ? first : second, {.special = special});
      pair.ids.insert(pair.ids.end(), ids.begin(), ids.end());
    }
    pair.segments.resize(pair.ids.size(), part.segment);
  }
  return pair;
}

std::vector<int64_t> Tokenizer::encode_prompt(std::string_view text, bool special) const {
  std::vector<int64_t> ids = encode(text, {.special = special});
  const std::vector<int64_t>& before = frame().before;
  const auto found = std::ranges::mismatch(before, ids);
  if (found.in1 != before.end()) ids.insert(ids.begin(), before.begin(), before.end());
  return ids;
}

void Tokenizer::encode(std::string_view text, EncodeOptions options, const IdTaker& take) const {
  const bool fills = options.sizing == Sizing::cut_and_filled && parts_->sizes.filling;
  if (fills || cut_for(*parts_, options)) {
    return take(encode(text, options));
  }
  check_text(text);
  if (options.framed) take(parts_->frame.before);
  encode_text(*parts_, text, {.anywhere = finds_special(*parts_, options)}, take);
  if (options.framed) take(parts_->frame.after);
}

std::vector<int64_t> Tokenizer::encode(const MarkedText& text) const {
  check_text(text.bytes);
  Ids ids;
  encode_text(
      *parts_, text.bytes, {.anywhere = !parts_->splits_special, .marks = &text},
      [&](std::span<const int64_t> some) { ids.insert(ids.end(), some.begin(), some.end()); });
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

std::string Tokenizer::bytes(int64_t id, bool is_first) const {
  check_id(parts_->vocabulary, id);
  return parts_->joiner.bytes_of(parts_->decoded(id), is_first, is_special(id));
}

std::optional<int64_t> Tokenizer::find(std::string_view token) const {
  return parts_->vocabulary.find(token);
}

bool Tokenizer::is_special(int64_t id) const {
  check_id(parts_->vocabulary, id);
  return parts_->vocabulary.is_special(id);
}

const SpecialIds& Tokenizer::special() const { return parts_->special; }
const Frame& Tokenizer::frame() const { return parts_->frame; }

StreamDecoder::StreamDecoder(Tokenizer tokenizer, DecodeOptions options)
    : tokenizer_(std::move(tokenizer)), options_(options) {}

std::string StreamDecoder::add(int64_t id) {
  const bool is_special = tokenizer_.is_special(id);
  if (!options_.special && is_special) return "";
  const TokenizerParts& parts = *tokenizer_.parts_;
  std::string text = parts.joiner.add(state_, parts.decoded(id), is_special);
  return parts.cleans_up ? clean_up(state_.uncleaned, std::move(text)) : text;
}

std::string StreamDecoder::waiting() const {
  if (state_.bytes.empty() || io::valid_utf8_length(state_.bytes) < state_.bytes.size()) return {};
  return StreamDecoder(*this).finish();
}

std::string StreamDecoder::finish() {
  Uncleaned uncleaned = std::move(state_.uncleaned);
  std::string text = tokenizer_.parts_->joiner.finish(state_);
  return tokenizer_.parts_->cleans_up ? finish_clean_up(uncleaned, std::move(text)) : text;
}

}  // namespace headlight::text
