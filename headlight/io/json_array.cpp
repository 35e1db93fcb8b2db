// Nested lists to a tensor, straight from the parser's events.
#include "headlight/io/json_array.h"

#include <algorithm>
#include <string>
#include <vector>

#include "headlight/io/json_events.h"
#include "headlight/io/numbers.h"
#include "headlight/io/text_array.h"

namespace headlight::io {
namespace {

using base::Error;
using base::ErrorKind;
using base::Input;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

constexpr int64_t kUnknown = -1;

class ArrayEvents : public JsonEvents {
 public:
  explicit ArrayEvents(const Input& input) : input_(input) {}

  void null() override { refuse("null is no number; JSON has no NaN or infinity, .npy has"); }
  void text(std::string&) override { refuse("a text is no number"); }
  void begin_object() override { refuse("an object is no list of numbers"); }
  void key(std::string&) override {}
  void end_object() override {}

  void boolean(bool value) override {
    leaf(Kind::boolean);
    booleans_.push_back(value);
  }
  void integer(int64_t value) override {
    leaf(Kind::number);
    numbers_.add(value);
  }
  void real(std::string_view number) override {
    const auto wide = parse_number<double>(number);
    if (wide && is_beyond_float32(*wide)) refuse(std::string(number) + " is beyond float32");
    leaf(Kind::number);
    numbers_.add(parse_float32(number).value_or(0.0f));  // too small even for a float64
  }

  void begin_array() override {
    if (depth() == Shape::kMaxRank) refuse("lists are nested deeper than 8 levels");
    if (depth() == leaf_depth_) refuse("a list is here, numbers are before it");
    counts_.push_back(0);
    if (depth() > static_cast<int64_t>(sizes_.size())) sizes_.push_back(kUnknown);
  }

  void end_array() override {
    const int64_t count = counts_.back();
    counts_.pop_back();
    int64_t& size = sizes_[counts_.size()];
    if (size == kUnknown) size = count;
    if (size != count) {
      refuse("a list of " + std::to_string(count) + " is here, those before it have " +
             std::to_string(size));
    }
    count_one();
  }

  Tensor tensor() const {
    const Shape shape(sizes_);
    if (kind_ == Kind::none) return Tensor::zeros(DType::f32, shape);
    if (kind_ == Kind::number) return numbers_.tensor(shape);
    Tensor result = Tensor::uninitialized(DType::boolean, shape);
    std::copy(booleans_.begin(), booleans_.end(), result.mutable_data<bool>());
    return result;
  }

 private:
  enum class Kind { none, boolean, number };

  int64_t depth() const { return static_cast<int64_t>(counts_.size()); }
  void count_one() {
    if (!counts_.empty()) ++counts_.back();
  }

  void leaf(Kind kind) {
    if (kind_ != Kind::none && kind_ != kind) refuse("numbers and booleans are mixed");
    if (depth() != static_cast<int64_t>(sizes_.size()))
      refuse("a number is here, lists are before it");
    kind_ = kind;
    leaf_depth_ = depth();
    count_one();
  }

  // `why` at the place of the value that comes now: "[2][0]".
  [[noreturn]] void refuse(const std::string& why) const {
    std::string text;
    for (const int64_t count : counts_) text.append("[").append(std::to_string(count)).append("]");
    if (!text.empty()) text.append(": ");
    throw Error(ErrorKind::bad_input, "json", input_.name(), text.append(why));
  }

  const Input& input_;
  Kind kind_ = Kind::none;
  NumberList numbers_;
  std::vector<bool> booleans_;
  std::vector<int64_t> counts_;  // entries so far in each open list
  std::vector<int64_t> sizes_;   // of the lists at each depth
  int64_t leaf_depth_ = kUnknown;
};

void write_axis(ElementWriter& writer, const Shape& shape, int axis) {
  if (axis == shape.rank()) return writer.write_element();
  writer.write("[");
  for (int64_t i = 0; i < shape[axis]; ++i) {
    if (i > 0) writer.write(",");
    write_axis(writer, shape, axis + 1);
  }
  writer.write("]");
}

}  // namespace

Tensor read_json_array(const Input& input) {
  const std::string text = base::read_all(input, kTextArrayLimit);
  ArrayEvents events(input);
  parse_json_events(text, "json", input.name(), events);
  return events.tensor();
}

void write_json_array(base::Output& output, const Tensor& array) {
  ElementWriter writer(output, array, {"true", "false", false});
  write_axis(writer, array.shape(), 0);
  writer.finish();
}

}  // namespace headlight::io
