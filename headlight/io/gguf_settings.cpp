// Values of twelve types and arrays of them, as JSON values.
#include "headlight/io/gguf_settings.h"

#include <array>
#include <limits>

#include "headlight/io/utf8.h"

namespace headlight::io {
namespace {

constexpr uint64_t kMaxSettings = 65'536;
constexpr uint64_t kMaxSettingElements = 4'000'000;  // of all arrays together
constexpr uint64_t kMaxSettingText = 16'777'216;     // bytes
constexpr uint64_t kMaxKey = 65'535;                 // bytes
constexpr int kMaxNesting = 8;

enum class SettingType : uint32_t {
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  float32,
  boolean,
  text,
  array,
  uint64,
  int64,
  float64,
};
// Bytes that a value of each type takes at least.
constexpr std::array<uint64_t, 13> kLeastBytes = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

class SettingsReader {
 public:
  explicit SettingsReader(ByteReader& reader) : reader_(reader) {}

  Gguf::Settings read(uint64_t count) {
    if (count > kMaxSettings) {
      reader_.refuse("it has " + std::to_string(count) + " settings, at most " +
                     std::to_string(kMaxSettings) + " are read");
    }
    Gguf::Settings settings;
    for (uint64_t i = 0; i < count; ++i) {
      key_ = read_gguf_text(reader_, kMaxKey, "the key of a setting");
      if (key_.empty() || valid_utf8_length(key_) != key_.size()) {
        reader_.refuse("the key " + in_quotes(key_) + " of a setting is " +
                       (key_.empty() ? "empty" : "not UTF-8"));
      }
      part_ = "setting " + in_quotes(key_);
      Json setting = value(type(), 0);
      if (!settings.emplace(key_, std::move(setting)).second) refuse_setting("is there twice");
    }
    return settings;
  }

 private:
  [[noreturn]] void refuse_setting(const std::string& why) const {
    reader_.refuse(part_ + " " + why);
  }

  template <class T>
  T number() {
    return reader_.number<T>(part_);
  }

  SettingType type() {
    const auto type = number<uint32_t>();
    if (type >= kLeastBytes.size()) {
      refuse_setting("has type " + std::to_string(type) + ", 0 to 12 are known");
    }
    return static_cast<SettingType>(type);
  }

  Json value(SettingType type, int depth) {
    switch (type) {
      case SettingType::uint8:
        return number<uint8_t>();
      case SettingType::int8:
        return number<int8_t>();
      case SettingType::uint16:
        return number<uint16_t>();
      case SettingType::int16:
        return number<int16_t>();
      case SettingType::uint32:
        return number<uint32_t>();
      case SettingType::int32:
        return number<int32_t>();
      case SettingType::float32:
        return static_cast<double>(number<float>());
      case SettingType::boolean:
        return boolean();
      case SettingType::text:
        return read_gguf_text(reader_, kMaxSettingText, part_);
      case SettingType::array:
        return array(depth);
      case SettingType::uint64:
        return unsigned64();
      case SettingType::int64:
        return number<int64_t>();
      case SettingType::float64:
        return number<double>();
    }
    return {};
  }

  Json boolean() {
    const auto byte = number<uint8_t>();
    if (byte > 1) refuse_setting("is " + std::to_string(byte) + ", a bool is 0 or 1");
    return byte == 1;
  }

  Json unsigned64() {
    const auto value = number<uint64_t>();
    if (value > std::numeric_limits<int64_t>::max()) {
      refuse_setting("is " + std::to_string(value) + ", integers up to 2^63 - 1 are read");
    }
    return static_cast<int64_t>(value);
  }

  Json array(int depth) {
    if (depth == kMaxNesting) {
      refuse_setting("has arrays nested deeper than " + std::to_string(kMaxNesting));
    }
    const SettingType inner = type();
    const auto count = number<uint64_t>();
    const uint64_t least = kLeastBytes[static_cast<size_t>(inner)];
    if (count > reader_.left() / least) {
      refuse_setting("has " + std::to_string(count) + " elements, " +
                     std::to_string(reader_.left()) + " bytes are left; truncated download?");
    }
    elements_ += count;
    if (elements_ > kMaxSettingElements) {
      refuse_setting("and those before it have more than " + std::to_string(kMaxSettingElements) +
                     " elements in arrays");
    }
    Json::Array elements;
    elements.reserve(count);
    for (uint64_t i = 0; i < count; ++i) elements.push_back(value(inner, depth + 1));
    return elements;
  }

  ByteReader& reader_;
  std::string key_;
  std::string part_;  // of the file: the setting with this key
  uint64_t elements_ = 0;
};

}  // namespace

std::string read_gguf_text(ByteReader& reader, uint64_t limit, std::string_view part) {
  const auto size = reader.number<uint64_t>(part);
  if (size > limit) {
    reader.refuse(std::string(part) + " has " + std::to_string(size) + " bytes, at most " +
                  std::to_string(limit) + " are read");
  }
  return reader.text(size, part);
}

Gguf::Settings read_gguf_settings(ByteReader& reader, uint64_t count) {
  return SettingsReader(reader).read(count);
}

}  // namespace headlight::io
