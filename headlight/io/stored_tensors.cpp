// Tensors of one or several files as one list.
#include "headlight/io/stored_tensors.h"

#include <algorithm>
#include <cstring>

#include "headlight/io/utf8.h"

namespace headlight::io {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::Tensor;

constexpr size_t kNamesInMessage = 5;

// `count` elements from `begin` on, of an array that lies in one piece.
StoredArray piece_of(const StoredArray& array, int64_t begin, int64_t count) {
  StoredArray piece = array;
  piece.shape = {count};
  piece.offset += StoredArray{array.element, {begin}}.bytes();
  return piece;
}

}  // namespace

StoredTensors::StoredTensors(std::string_view format, std::shared_ptr<const base::Input> input,
                             std::vector<Entry> entries)
    : format_(format), entries_(std::move(entries)) {
  inputs_.push_back(std::move(input));
  sort_entries();
}

StoredTensors::StoredTensors(std::vector<StoredTensors> parts) {
  for (StoredTensors& part : parts) {
    format_ = part.format_;
    for (Entry& entry : part.entries_) {
      entry.file += inputs_.size();
      entries_.push_back(std::move(entry));
    }
    inputs_.insert(inputs_.end(), part.inputs_.begin(), part.inputs_.end());
  }
  sort_entries();
}

// By name, of which each is there once.
void StoredTensors::sort_entries() {
  std::ranges::stable_sort(entries_, {}, &Entry::name);
  const auto twice = std::ranges::adjacent_find(entries_, {}, &Entry::name);
  if (twice == entries_.end()) return;
  const Entry& second = *(twice + 1);
  throw Error(
      ErrorKind::bad_input, format_, path_of(second),
      "tensor " + in_quotes(twice->name) +
          (twice->file == second.file ? " is there twice" : " is in " + path_of(*twice) + " too"));
}

StoredTensors StoredTensors::renamed(
    const std::function<std::string(const std::string&)>& name_of) const {
  StoredTensors result = *this;
  for (Entry& entry : result.entries_) entry.name = name_of(entry.name);
  std::erase_if(result.entries_, [](const Entry& entry) { return entry.name.empty(); });
  result.sort_entries();
  return result;
}

const StoredTensors::Entry* StoredTensors::find(std::string_view name) const {
  const auto place = std::ranges::lower_bound(entries_, name, {}, &Entry::name);
  return place != entries_.end() && place->name == name ? &*place : nullptr;
}

std::string StoredTensors::names_text() const {
  std::string text =
      std::to_string(entries_.size()) + (entries_.size() == 1 ? " tensor" : " tensors");
  for (size_t i = 0; i < std::min(entries_.size(), kNamesInMessage); ++i) {
    text += (i == 0 ? ": " : ", ") + in_quotes(entries_[i].name);
  }
  return text + (entries_.size() > kNamesInMessage ? ", …" : "");
}

Tensor StoredTensors::load(const Entry& entry) const {
  return io::load(*inputs_[entry.file], entry.array, format_);
}

Tensor StoredTensors::load(std::string_view name) const {
  if (const Entry* entry = find(name)) return load(*entry);
  throw Error(ErrorKind::bad_input, format_, inputs_.empty() ? "" : inputs_.front()->name(),
              "there is no tensor " + in_quotes(name) + " among its " + names_text());
}

void StoredTensors::load_rows(const Entry& entry, int64_t begin, int64_t count,
                              std::byte* to) const {
  io::load_rows(*inputs_[entry.file], entry.array, begin, count, to);
}

bool StoredTensors::same_numbers(const Entry& a, const Entry& b) const {
  constexpr int64_t kPiece = int64_t{1} << 18;  // elements, whole blocks of every kind
  if (a.array.shape != b.array.shape) return false;
  const int64_t elements = a.array.shape.elements();
  const bool in_one_piece = a.array.strides.empty() && b.array.strides.empty();
  const int64_t step = in_one_piece ? kPiece : std::max<int64_t>(elements, 1);
  for (int64_t begin = 0; begin < elements; begin += step) {
    const int64_t count = std::min(step, elements - begin);
    const auto numbers = [&](const Entry& entry) {
      const StoredArray array = in_one_piece ? piece_of(entry.array, begin, count) : entry.array;
      return tensor::to_float32(io::load(*inputs_[entry.file], array, format_));
    };
    const Tensor first = numbers(a);
    const Tensor second = numbers(b);
    if (std::memcmp(first.raw(), second.raw(), first.bytes()) != 0) return false;
  }
  return true;
}

}  // namespace headlight::io
