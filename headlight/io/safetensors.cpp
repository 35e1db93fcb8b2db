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
using Entry = Safetensors::Entry;

constexpr uint64_t kLengthBytes = 8;

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

// A shard without what all of them have together.
std::vector<StoredTensors> as_parts(const std::vector<Safetensors>& shards) {
  return {shards.begin(), shards.end()};
}

}  // namespace

// What is read of a file before it becomes tensors.
struct Safetensors::File {
  std::shared_ptr<const Input> input;
  SafetensorsHeader header;

  explicit File(std::shared_ptr<const Input> opened) : input(std::move(opened)) {
    const std::string text = read_header(*input);
    header = parse_safetensors_header(text, input->name());
    const uint64_t data_offset = kLengthBytes + text.size();
    check_ranges(input->name(), header.entries, input->size() - data_offset);
    for (Entry& entry : header.entries) entry.array.offset += data_offset;
  }
};

Safetensors::Safetensors(std::shared_ptr<const Input> input)
    : Safetensors(File(std::move(input))) {}

Safetensors::Safetensors(File file)
    : StoredTensors("safetensors", std::move(file.input), std::move(file.header.entries)),
      metadata_(std::move(file.header.metadata)) {}

Safetensors::Safetensors(std::vector<Safetensors> shards) : StoredTensors(as_parts(shards)) {
  if (!shards.empty()) metadata_ = std::move(shards.front().metadata_);
}

}  // namespace headlight::io
