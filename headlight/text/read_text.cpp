// Encodings other than UTF-8 are glibc's iconv's.
#include "headlight/text/read_text.h"

#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "headlight/io/io.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

constexpr uint64_t kTextFileLimit = uint64_t{1} << 32;  // bytes
constexpr size_t kLookedAt = 65'536;                    // bytes, to guess an encoding from

bool is_name(std::string_view encoding) {
  const auto is_fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == ':';
  };
  return !encoding.empty() && encoding.size() < 64 && std::ranges::all_of(encoding, is_fine);
}

struct Converted {
  std::string text;
  size_t used = 0;  // bytes of the input
};

// iconv's conversion to UTF-8.
class Converter {
 public:
  explicit Converter(const std::string& encoding) {
    // What stands after a slash would change how iconv treats mistakes.
    const bool is_open = is_name(encoding) && open(encoding);
    if (is_open) return;
    throw base::Error(base::ErrorKind::usage, "encoding", io::in_quotes(encoding),
                      "is unknown; utf-8, utf-16, latin1, cp1252, cp1254 and cp949 are some");
  }
  ~Converter() { iconv_close(descriptor_); }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  // As far as the bytes are of the encoding.
  Converted convert(std::string_view bytes) {
    Converted result;
    std::array<char, 16384> buffer;
    char* in = const_cast<char*>(bytes.data());  // iconv's signature; it does not write
    size_t left = bytes.size();
    const auto step = [&](char** from) {
      char* out = buffer.data();
      size_t room = buffer.size();
      const size_t status = iconv(descriptor_, from, &left, &out, &room);
      const bool is_stuck = status == static_cast<size_t>(-1) && errno != E2BIG;
      result.text.append(buffer.data(), buffer.size() - room);
      return !is_stuck;
    };
    while (left > 0 && step(&in)) {
    }
    step(nullptr);  // gives out what it held back
    result.used = bytes.size() - left;
    return result;
  }

 private:
  bool open(const std::string& encoding) {
    descriptor_ = iconv_open("UTF-8", encoding.c_str());
    return reinterpret_cast<intptr_t>(descriptor_) != -1;
  }

  iconv_t descriptor_ = nullptr;
};

struct Guess {
  const char* encoding;
  bool (*is_likely)(char32_t);  // a letter that texts in this encoding consist of
};

bool is_hangul(char32_t c) { return c >= 0xAC00 && c <= 0xD7A3; }
bool is_kana(char32_t c) { return c >= 0x3041 && c <= 0x30FF; }
bool is_cyrillic(char32_t c) { return c >= 0x0410 && c <= 0x044F; }
bool is_turkish(char32_t c) {
  return std::u32string_view(U"çğıöşüÇĞİÖŞÜâîû’“”").find(c) != std::u32string_view::npos;
}
bool is_western(char32_t c) {
  const bool is_quote = c >= 0x2018 && c <= 0x201E;
  return is_quote || (c >= 0xC0 && c <= 0xFF && c != 0xD7 && c != 0xF7);
}

constexpr std::array<Guess, 5> kGuesses = {{{"cp949", is_hangul},
                                            {"shift_jis", is_kana},
                                            {"cp1254", is_turkish},
                                            {"cp1251", is_cyrillic},
                                            {"cp1252", is_western}}};

// Which share of what is not ASCII is likely.
double share(std::string_view bytes, const Guess& guess) {
  const Converted converted = Converter(guess.encoding).convert(bytes);
  // The last character may be cut.
  if (bytes.size() - converted.used > 3) return 0;
  int64_t likely = 0;
  int64_t all = 0;
  for (size_t at = 0; at < converted.text.size();) {
    const CodePoint point = code_point_at(converted.text, at);
    if (point.value >= 0x80) {
      ++all;
      likely += guess.is_likely(point.value) ? 1 : 0;
    }
    at += point.length;
  }
  return all == 0 ? 0 : static_cast<double>(likely) / static_cast<double>(all);
}

// UTF-16 of most languages has a zero byte for each space at least.
std::string utf16_of(std::string_view bytes) {
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) return "utf-16";
  std::array<size_t, 2> zeros = {};
  for (size_t i = 0; i < bytes.size(); ++i) zeros[i % 2] += bytes[i] == '\0' ? 1 : 0;
  if (zeros[0] + zeros[1] < bytes.size() / 20 + 1) return "";
  if (zeros[0] > 10 * zeros[1]) return "utf-16be";
  return zeros[1] > 10 * zeros[0] ? "utf-16le" : "";
}

// Texts of one-byte encodings have hardly any controls but white space and escapes.
bool is_binary(std::string_view bytes) {
  const auto controls = std::ranges::count_if(bytes, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_used = (byte >= '\t' && byte <= '\r') || byte == 0x1b;
    return (byte < 0x20 && !is_used) || byte == 0x7f;
  });
  return static_cast<size_t>(controls) > bytes.size() / 100 + 4;
}

std::string without_mark(std::string text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

bool is_utf8_name(std::string_view encoding) {
  if (encoding.empty()) return true;
  return is_name(encoding) && (lower(encoding) == "utf-8" || lower(encoding) == "utf8");
}

}  // namespace

std::string likely_encoding(std::string_view bytes) {
  const std::string wide = utf16_of(bytes.substr(0, kLookedAt));
  if (!wide.empty() || is_binary(bytes.substr(0, kLookedAt))) return wide;
  // From a line's start, lest a character be cut in two.
  const size_t wrong = io::valid_utf8_length(bytes);
  const size_t line = wrong == 0 ? std::string_view::npos : bytes.rfind('\n', wrong - 1);
  const std::string_view sample =
      bytes.substr(line == std::string_view::npos ? 0 : line, kLookedAt);
  std::string best;
  double best_share = 0.5;
  for (const Guess& guess : kGuesses) {
    const double found = share(sample, guess);
    if (found <= best_share) continue;
    best_share = found;
    best = guess.encoding;
  }
  return best;
}

std::string to_utf8(std::string bytes, const std::string& name, const std::string& encoding) {
  const auto refuse = [&](const std::string& why) {
    throw base::Error(base::ErrorKind::bad_input, "text", name, why);
  };
  if (is_utf8_name(encoding)) {
    const size_t valid = io::valid_utf8_length(bytes);
    if (valid == bytes.size()) return without_mark(std::move(bytes));
    const std::string likely = likely_encoding(bytes);
    const bool is_no_text =
        likely.empty() && is_binary(std::string_view(bytes).substr(0, kLookedAt));
    refuse("not UTF-8 at byte " + std::to_string(valid) + "; " +
           (is_no_text       ? "it looks like a binary file, a text is needed"
            : likely.empty() ? "--encoding NAME reads other encodings"
                             : "it looks like " + likely + "; read it with --encoding " + likely));
  }
  Converted converted = Converter(encoding).convert(bytes);
  if (converted.used < bytes.size()) {
    refuse("not " + encoding + " at byte " + std::to_string(converted.used));
  }
  const size_t valid = io::valid_utf8_length(converted.text);
  if (valid < converted.text.size()) refuse("holds code points that are no characters");
  return without_mark(std::move(converted.text));
}

std::string read_text(base::FileSystem& files, const std::string& path,
                      const std::string& encoding) {
  return to_utf8(base::read_all(*base::open_input(files, path), kTextFileLimit), path, encoding);
}

}  // namespace headlight::text
