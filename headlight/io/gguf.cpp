// GGUF: a header, settings, descriptions of tensors, and after a gap up to the alignment their
// numbers, each at a multiple of it.
#include "headlight/io/gguf.h"

#include <algorithm>
#include <array>
#include <bit>

#include "headlight/io/foreign.h"
#include "headlight/io/gguf_settings.h"
#include "headlight/io/utf8.h"

namespace headlight::io {
namespace {

using base::Error;
using base::ErrorKind;
using base::Input;
using tensor::Shape;

constexpr std::string_view kGgufFormat = "gguf";
constexpr uint64_t kGgufHeaderBytes = 24;
constexpr uint64_t kMaxGgufTensors = 1'000'000;
constexpr uint64_t kLeastTensorBytes = 25;  // of a description
constexpr uint64_t kMaxTensorName = 1024;   // bytes
constexpr uint32_t kMaxGgufRank = 4;
constexpr int64_t kDefaultAlignment = 32;
constexpr int64_t kMaxAlignment = int64_t{1} << 20;
constexpr uint64_t kMaxTensorSize = uint64_t{1} << 48;

struct TensorType {
  uint32_t number;
  Element element;
};
constexpr std::array<TensorType, 16> kTensorTypes = {{{0, Element::f32},
                                                      {1, Element::f16},
                                                      {2, Element::q4_0},
                                                      {3, Element::q4_1},
                                                      {6, Element::q5_0},
                                                      {7, Element::q5_1},
                                                      {8, Element::q8_0},
                                                      {12, Element::q4_k},
                                                      {13, Element::q5_k},
                                                      {14, Element::q6_k},
                                                      {24, Element::i8},
                                                      {25, Element::i16},
                                                      {26, Element::i32},
                                                      {27, Element::i64},
                                                      {28, Element::f64},
                                                      {30, Element::bf16}}};

// Types that others write and that are not read, for the message.
std::string unread_type(uint32_t number) {
  constexpr std::array<std::pair<uint32_t, const char*>, 18> kUnread = {{{9, "Q8_1"},
                                                                         {10, "Q2_K"},
                                                                         {11, "Q3_K"},
                                                                         {15, "Q8_K"},
                                                                         {16, "IQ2_XXS"},
                                                                         {17, "IQ2_XS"},
                                                                         {18, "IQ3_XXS"},
                                                                         {19, "IQ1_S"},
                                                                         {20, "IQ4_NL"},
                                                                         {21, "IQ3_S"},
                                                                         {22, "IQ2_S"},
                                                                         {23, "IQ4_XS"},
                                                                         {29, "IQ1_M"},
                                                                         {34, "TQ1_0"},
                                                                         {35, "TQ2_0"},
                                                                         {39, "MXFP4"},
                                                                         {4, "Q4_2"},
                                                                         {5, "Q4_3"}}};
  const auto found = std::ranges::find(kUnread, number, [](const auto& one) { return one.first; });
  return found == kUnread.end() ? std::to_string(number) : found->second;
}

[[noreturn]] void refuse_gguf(const Input& input, const std::string& why) {
  throw Error(ErrorKind::bad_input, kGgufFormat, input.name(), why);
}

// Descriptions of tensors, one after the other.
class TensorReader {
 public:
  TensorReader(ByteReader& reader, uint64_t alignment) : reader_(reader), alignment_(alignment) {}

  StoredTensors::Entry read() {
    name_ = read_gguf_text(reader_, kMaxTensorName, "the name of a tensor");
    if (name_.empty() || valid_utf8_length(name_) != name_.size()) {
      reader_.refuse("the name " + in_quotes(name_) + " of a tensor is " +
                     (name_.empty() ? "empty" : "not UTF-8"));
    }
    StoredArray array;
    array.shape = shape();
    array.element = element();
    const int64_t block = block_of(array.element);
    const int64_t row = array.shape.rank() == 0 ? 1 : array.shape[-1];
    if (row % block != 0) {
      refuse_tensor("rows of " + std::to_string(row) + " elements are no whole blocks of " +
                    name_of(array.element) + ", " + std::to_string(block) + " each");
    }
    array.offset = reader_.number<uint64_t>("a tensor");
    if (array.offset % alignment_ != 0) {
      refuse_tensor("begins at byte " + std::to_string(array.offset) +
                    " of the data, which is no multiple of the alignment " +
                    std::to_string(alignment_));
    }
    return {.name = name_, .array = std::move(array)};
  }

 private:
  [[noreturn]] void refuse_tensor(const std::string& why) const {
    reader_.refuse("tensor " + in_quotes(name_) + ": " + why);
  }

  // The file has the axis first that lies together.
  Shape shape() {
    const auto rank = reader_.number<uint32_t>("a tensor");
    if (rank > kMaxGgufRank) {
      refuse_tensor("has " + std::to_string(rank) + " axes, at most " +
                    std::to_string(kMaxGgufRank) + " are read");
    }
    std::vector<int64_t> sizes;
    for (uint32_t axis = 0; axis < rank; ++axis) {
      const auto size = reader_.number<uint64_t>("a tensor");
      if (size > kMaxTensorSize) {
        refuse_tensor("has a size of " + std::to_string(size) + ", at most 2^48 are read");
      }
      sizes.insert(sizes.begin(), static_cast<int64_t>(size));
    }
    try {
      return Shape(sizes);
    } catch (const Error& error) {
      refuse_tensor(error.what());
    }
  }

  Element element() {
    const auto number = reader_.number<uint32_t>("a tensor");
    const auto found = std::ranges::find(kTensorTypes, number, &TensorType::number);
    if (found != kTensorTypes.end()) return found->element;
    std::string known;
    for (const TensorType& type : kTensorTypes) {
      known.append(known.empty() ? "" : " ").append(name_of(type.element));
    }
    refuse_tensor("the type " + unread_type(number) + " is not read; " + known + " are");
  }

  ByteReader& reader_;
  uint64_t alignment_;
  std::string name_;
};

uint64_t aligned(uint64_t bytes, uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// The tensors fill the data one after the other, each up to the next multiple of the alignment.
void check_data(const Input& input, std::vector<StoredTensors::Entry>& entries, uint64_t data_bytes,
                uint64_t alignment) {
  std::ranges::stable_sort(entries, {}, [](const StoredTensors::Entry& entry) {
    return std::pair(entry.array.offset, entry.array.bytes());
  });
  uint64_t end = 0;
  for (const StoredTensors::Entry& entry : entries) {
    const StoredArray& array = entry.array;
    const std::string which = "tensor " + in_quotes(entry.name);
    if (array.offset > data_bytes || array.bytes() > data_bytes - array.offset) {
      refuse_gguf(input, which + " needs " + std::to_string(array.bytes()) + " bytes from byte " +
                             std::to_string(array.offset) + " of the data on, which has " +
                             std::to_string(data_bytes) + "; truncated download?");
    }
    if (array.offset < end) {
      refuse_gguf(input, which + " begins at byte " + std::to_string(array.offset) +
                             " of the data and overlaps the one before it, which ends at " +
                             std::to_string(end));
    }
    if (array.offset > aligned(end, alignment)) {
      refuse_gguf(input, "bytes " + std::to_string(aligned(end, alignment)) + " to " +
                             std::to_string(array.offset) + " of the data belong to no tensor");
    }
    end = array.offset + array.bytes();
  }
  if (data_bytes > aligned(end, alignment)) {
    refuse_gguf(input, std::to_string(data_bytes - end) + " bytes follow the last tensor");
  }
}

uint64_t alignment_of(const Input& input, const Gguf::Settings& settings) {
  const auto found = settings.find("general.alignment");
  if (found == settings.end()) return kDefaultAlignment;
  const int64_t alignment = found->second.integer().value_or(0);
  if (alignment < 8 || alignment > kMaxAlignment ||
      !std::has_single_bit(static_cast<uint64_t>(alignment))) {
    refuse_gguf(input, "general.alignment is " + json_text(found->second).substr(0, 32) +
                           ", powers of two from 8 to 2^20 are read");
  }
  return static_cast<uint64_t>(alignment);
}

}  // namespace

// What is read of a file before it becomes tensors.
struct Gguf::File {
  std::shared_ptr<const Input> input;
  uint32_t version = 0;
  Settings settings;
  std::vector<Entry> entries;

  explicit File(std::shared_ptr<const Input> opened) : input(std::move(opened)) {
    ByteReader reader(kGgufFormat, *input, 0, input->size());
    check_start(reader);
    const auto tensors = reader.number<uint64_t>("the header");
    const auto count = reader.number<uint64_t>("the header");
    if (tensors > kMaxGgufTensors || tensors > reader.left() / kLeastTensorBytes) {
      refuse_gguf(*input, "it has " + std::to_string(tensors) + " tensors, " +
                              std::to_string(reader.left()) + " bytes are left and at most " +
                              std::to_string(kMaxGgufTensors) + " are read");
    }
    settings = read_gguf_settings(reader, count);
    const uint64_t alignment = alignment_of(*input, settings);
    TensorReader descriptions(reader, alignment);
    for (uint64_t i = 0; i < tensors; ++i) entries.push_back(descriptions.read());
    const uint64_t begin = aligned(reader.position(), alignment);
    check_data(*input, entries, input->size() - std::min(begin, input->size()), alignment);
    for (Entry& entry : entries) entry.array.offset += begin;
  }

  void check_start(ByteReader& reader) {
    if (input->size() < kGgufHeaderBytes) {
      refuse_gguf(*input, std::to_string(input->size()) + " bytes, the header needs " +
                              std::to_string(kGgufHeaderBytes));
    }
    if (reader.text(4, "the header") != "GGUF") {
      const std::string format = foreign_format(*input);
      refuse_gguf(*input, format.empty() ? "it does not begin with GGUF" : format);
    }
    version = reader.number<uint32_t>("the header");
    if (version == 2 || version == 3) return;
    refuse_gguf(*input, (version & 0xFFFF) == 0 && version != 0
                            ? "it is written for big-endian machines, which is not read"
                            : "its version is " + std::to_string(version) + ", 2 and 3 are read");
  }
};

Gguf::Gguf(std::shared_ptr<const Input> input) : Gguf(File(std::move(input))) {}

Gguf::Gguf(File file)
    : StoredTensors(kGgufFormat, std::move(file.input), std::move(file.entries)),
      version_(static_cast<int>(file.version)),
      settings_(std::move(file.settings)) {}

Gguf::Gguf(std::vector<Gguf> parts)
    : StoredTensors(std::vector<StoredTensors>(parts.begin(), parts.end())),
      version_(parts.front().version_),
      settings_(std::move(parts.front().settings_)) {}

const Json* Gguf::setting(std::string_view key) const {
  const auto found = settings_.find(key);
  return found == settings_.end() ? nullptr : &found->second;
}

bool is_gguf_path(std::string_view path) { return path.ends_with(".gguf"); }

}  // namespace headlight::io
