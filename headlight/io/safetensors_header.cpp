// The header's fields, straight from the JSON parser's events: a header may be 100 MB, a document
// of it would be many times that.
#include "headlight/io/safetensors_header.h"

#include <array>
#include <optional>

#include "headlight/io/json_events.h"
#include "headlight/io/utf8.h"

namespace headlight::io {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::Shape;

constexpr int64_t kMaxNumber = int64_t{1} << 48;
constexpr std::array<Element, 13> kElements = {
    Element::f64, Element::f32, Element::f16,    Element::bf16, Element::i64,
    Element::i32, Element::i16, Element::i8,     Element::u64,  Element::u32,
    Element::u16, Element::u8,  Element::boolean};

class HeaderEvents : public JsonEvents {
 public:
  HeaderEvents(const std::string& path, size_t limit) : path_(path), limit_(limit) {}

  void null() override { refuse_value("null"); }
  void boolean(bool) override { refuse_value("a boolean"); }
  void real(std::string_view number) override { refuse_number(std::string(number)); }
  void integer(int64_t value) override {
    if (value < 0 || value > kMaxNumber) refuse_number(std::to_string(value));
    if (state_ != State::list) refuse_value("a number");
    if (list_->size() > Shape::kMaxRank) return;  // too many already, said when the list ends
    list_->push_back(value);
  }

  void text(std::string& value) override {
    if (state_ == State::metadata) {
      if (header_.metadata.size() == limit_) refuse_count("entries of metadata");
      header_.metadata.emplace(std::move(key_), std::move(value));
    } else if (state_ == State::tensor && key_ == "dtype") {
      element_ = element_of(value);
    } else {
      refuse_value("a text");
    }
  }

  void begin_array() override {
    if (state_ != State::tensor || key_ == "dtype") refuse_value("a list");
    list_ = &(key_ == "shape" ? shape_ : offsets_).emplace();
    state_ = State::list;
  }
  void end_array() override {
    if (shape_ && shape_->size() > Shape::kMaxRank) refuse_tensor("the rank is over 8");
    if (offsets_ && offsets_->size() != 2) {
      refuse_tensor("data_offsets has " + std::to_string(offsets_->size()) + " numbers, not 2");
    }
    state_ = State::tensor;
  }

  void begin_object() override {
    if (state_ == State::start) {
      state_ = State::header;
    } else if (state_ == State::header && name_ == kMetadataName) {
      state_ = State::metadata;
    } else if (state_ == State::header) {
      begin_tensor();
    } else {
      refuse_value("an object");
    }
  }
  void key(std::string& key) override {
    (state_ == State::header ? name_ : key_) = std::move(key);
    if (state_ == State::tensor && key_ != "dtype" && key_ != "shape" && key_ != "data_offsets") {
      refuse_tensor("the field " + in_quotes(key_) + " is unknown");
    }
  }
  void end_object() override {
    if (state_ == State::tensor) end_tensor();
    state_ = State::header;
  }

  SafetensorsHeader take() { return std::move(header_); }

 private:
  enum class State { start, header, metadata, tensor, list };

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::bad_input, "safetensors", path_, why);
  }
  [[noreturn]] void refuse_count(const char* things) const {
    refuse("more than " + std::to_string(limit_) + " " + things);
  }
  [[noreturn]] void refuse_tensor(const std::string& why) const {
    refuse("tensor " + in_quotes(name_) + ": " + why);
  }
  [[noreturn]] void refuse_number(const std::string& number) const {
    if (state_ != State::list) refuse_value("a number");
    refuse_tensor(key_ + " holds " + number.substr(0, 32) + ", integers from 0 to 2^48 are read");
  }
  // `value` stands where something else is needed.
  [[noreturn]] void refuse_value(const std::string& value) const {
    switch (state_) {
      case State::start:
        refuse("the header is " + value + ", not an object");
      case State::header:
        refuse("the entry " + in_quotes(name_) + " is " + value + ", not an object");
      case State::metadata:
        refuse("metadata " + in_quotes(key_) + " is " + value + ", not a text");
      case State::list:
        refuse_tensor(key_ + " holds " + value + ", not numbers only");
      case State::tensor:
        break;
    }
    refuse_tensor(key_ + " is " + value + (key_ == "dtype" ? ", not a text" : ", not a list"));
  }

  Element element_of(const std::string& name) const {
    std::string known;
    for (const Element element : kElements) {
      if (name == name_of(element)) return element;
      known.append(known.empty() ? "" : " ").append(name_of(element));
    }
    refuse_tensor("the dtype " + in_quotes(name) + " is not read; " + known + " are");
  }

  void begin_tensor() {
    if (header_.entries.size() == limit_) refuse_count("tensors");
    state_ = State::tensor;
    element_.reset();
    shape_.reset();
    offsets_.reset();
  }

  void end_tensor() {
    if (!element_) refuse_tensor("dtype is missing");
    if (!shape_) refuse_tensor("shape is missing");
    if (!offsets_) refuse_tensor("data_offsets is missing");
    const int64_t begin = (*offsets_)[0];
    const int64_t end = (*offsets_)[1];
    if (begin > end) {
      refuse_tensor("its range runs backwards, from " + std::to_string(begin) + " to " +
                    std::to_string(end));
    }
    StoredArray array{*element_, checked_shape(), static_cast<uint64_t>(begin)};
    if (array.bytes() != static_cast<uint64_t>(end - begin)) {
      refuse_tensor("its range has " + std::to_string(end - begin) + " bytes, shape " +
                    array.shape.text() + " of " + name_of(*element_) + " needs " +
                    std::to_string(array.bytes()));
    }
    header_.entries.push_back({std::move(name_), array});
  }

  Shape checked_shape() const {
    try {
      return Shape(*shape_);
    } catch (const Error& error) {
      refuse_tensor(error.what());
    }
  }

  const std::string& path_;
  size_t limit_;
  SafetensorsHeader header_;
  State state_ = State::start;
  std::string name_;  // of the entry
  std::string key_;   // inside the entry
  std::optional<Element> element_;
  std::optional<std::vector<int64_t>> shape_;
  std::optional<std::vector<int64_t>> offsets_;
  std::vector<int64_t>* list_ = nullptr;  // the one being filled
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& path,
                                           size_t limit) {
  HeaderEvents events(path, limit);
  parse_json_events(text, "safetensors", path, events);
  return events.take();
}

}  // namespace headlight::io
