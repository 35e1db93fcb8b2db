// safetensors: eight bytes with the header's length, the header, the numbers.
#include "headlight/io/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "headlight/io/foreign.h"
#include "headlight/io/safetensors_header.h"
#include "headlight/io/utf8.h"

namespace headlight::io {
namespace {

using base::Error;
using base::ErrorKind;
using base::Input;
using tensor::Tensor;
using Entry = Safetensors::Entry;

constexpr uint64_t kLengthBytes = 8;
constexpr size_t kNamesInMessage = 5;

[[noreturn]] void refuse_file(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::bad_input, "safetensors", path, why);
}

// A wrong length is mostly another format's start.
[[noreturn]] void refuse_length(const Input& input, const std::string& why) {
  const std::string format = foreign_format(input);
  refuse_file(input.name(), format.empty() ? why : format);
}

std::string read_header(const Input& input) {
  const uint64_t size = input.size();
  if (size < kLengthBytes) {
    refuse_file(input.name(), std::to_string(size) + " bytes, the header length needs 8");
  }
  std::array<std::byte, kLengthBytes> bytes;
  input.read(0, bytes);
  uint64_t length;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxSafetensorsHeader) {
    refuse_length(input, "the header length is " + std::to_string(length) + ", at most " +
                             std::to_string(kMaxSafetensorsHeader) + " is read");
  }
  if (length > size - kLengthBytes) {
    refuse_length(input, "the header ends at byte " + std::to_string(kLengthBytes + length) +
                             ", the file at " + std::to_string(size) + "; truncated download?");
  }
  std::string text(length, '\0');
  input.read(kLengthBytes, std::as_writable_bytes(std::span(text)));
  return text;
}

// The ranges must fill `data_bytes`, one after the other, without overlaps and holes.
void check_ranges(const std::string& path, std::vector<Entry>& entries, uint64_t data_bytes) {
  const auto end_of = [](const Entry& entry) { return entry.array.offset + entry.array.bytes(); };
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    return std::pair(a.array.offset, end_of(a)) < std::pair(b.array.offset, end_of(b));
  });
  uint64_t end = 0;
  for (const Entry& entry : entries) {
    const uint64_t begin = entry.array.offset;
    if (begin < end) {
      refuse_file(path, "tensor " + in_quotes(entry.name) + " begins at byte " +
                            std::to_string(begin) +
                            " of the data and overlaps the one before it, which ends at " +
                            std::to_string(end));
    }
    if (begin > end) {
      refuse_file(path, "bytes " + std::to_string(end) + " to " + std::to_string(begin) +
                            " of the data belong to no tensor");
    }
    end = end_of(entry);
  }
  if (end > data_bytes) {
    refuse_file(path, std::to_string(end - data_bytes) + " bytes missing: the tensors have " +
                          std::to_string(end) + ", " + std::to_string(data_bytes) +
                          " are there; truncated download?");
  }
  if (end < data_bytes)
    refuse_file(path, std::to_string(data_bytes - end) + " bytes follow the last tensor");
}

void sort_by_name(std::vector<Entry>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
}

}  // namespace

Safetensors::Safetensors(std::shared_ptr<const Input> input) {
  const std::string text = read_header(*input);
  SafetensorsHeader header = parse_safetensors_header(text, input->name());
  const uint64_t data_offset = kLengthBytes + text.size();
  check_ranges(input->name(), header.entries, input->size() - data_offset);
  for (Entry& entry : header.entries) entry.array.offset += data_offset;
  sort_by_name(header.entries);
  metadata_ = std::move(header.metadata);
  entries_ = std::move(header.entries);
  inputs_.push_back(std::move(input));
}

Safetensors::Safetensors(std::vector<Safetensors> shards) {
  for (Safetensors& shard : shards) {
    if (inputs_.empty()) metadata_ = std::move(shard.metadata_);
    for (Entry& entry : shard.entries_) {
      entry.file += inputs_.size();
      entries_.push_back(std::move(entry));
    }
    inputs_.insert(inputs_.end(), shard.inputs_.begin(), shard.inputs_.end());
  }
  sort_by_name(entries_);
  for (size_t i = 1; i < entries_.size(); ++i) {
    if (entries_[i].name != entries_[i - 1].name) continue;
    refuse_file(path_of(entries_[i]), "tensor " + in_quotes(entries_[i].name) + " is in " +
                                          path_of(entries_[i - 1]) + " too");
  }
}

const Entry* Safetensors::find(std::string_view name) const {
  const auto place = std::lower_bound(
      entries_.begin(), entries_.end(), name,
      [](const Entry& entry, std::string_view wanted) { return entry.name < wanted; });
  return place != entries_.end() && place->name == name ? &*place : nullptr;
}

std::string Safetensors::names_text() const {
  std::string text =
      std::to_string(entries_.size()) + (entries_.size() == 1 ? " tensor" : " tensors");
  for (size_t i = 0; i < std::min(entries_.size(), kNamesInMessage); ++i) {
    text += (i == 0 ? ": " : ", ") + in_quotes(entries_[i].name);
  }
  return text + (entries_.size() > kNamesInMessage ? ", …" : "");
}

Tensor Safetensors::load(const Entry& entry) const {
  return io::load(*inputs_[entry.file], entry.array, "safetensors");
}

bool Safetensors::same_numbers(const Entry& a, const Entry& b) const {
  constexpr int64_t kPiece = int64_t{1} << 18;  // elements
  if (a.array.shape != b.array.shape) return false;
  const auto piece_of = [this](const Entry& entry, int64_t begin, int64_t count) {
    StoredArray piece = entry.array;
    piece.shape = {count};
    piece.offset += static_cast<uint64_t>(begin) * size_of(piece.element);
    return tensor::to_float32(io::load(*inputs_[entry.file], piece, "safetensors"));
  };
  const int64_t elements = a.array.shape.elements();
  for (int64_t begin = 0; begin < elements; begin += kPiece) {
    const int64_t count = std::min(kPiece, elements - begin);
    const Tensor first = piece_of(a, begin, count);
    const Tensor second = piece_of(b, begin, count);
    if (std::memcmp(first.raw(), second.raw(), first.bytes()) != 0) return false;
  }
  return true;
}

Tensor Safetensors::load(std::string_view name) const {
  if (const Entry* entry = find(name)) return load(*entry);
  refuse_file(inputs_.empty() ? "" : inputs_.front()->name(),
              "there is no tensor " + in_quotes(name) + " among its " + names_text());
}

}  // namespace headlight::io
