// A zip archive is read from its end: the end record points to the directory, the directory to the
// header of each record, behind which its bytes lie.
#include "headlight/io/zip.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "headlight/io/byte_reader.h"
#include "headlight/io/utf8.h"

namespace headlight::io {
namespace {

using base::Input;

constexpr uint32_t kEnd64Mark = 0x06064b50;
constexpr uint32_t kEnd64PlaceMark = 0x07064b50;
constexpr uint32_t kDirectoryMark = 0x02014b50;
constexpr uint32_t kRecordMark = 0x04034b50;
constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kEnd64PlaceBytes = 20;
constexpr uint64_t kEnd64Bytes = 56;
constexpr uint64_t kRecordHeaderBytes = 30;
constexpr uint64_t kLongestComment = 65'535;
constexpr uint64_t kMaxDirectory = 100'000'000;  // bytes
constexpr uint64_t kMaxRecords = 1'000'000;
constexpr uint16_t kZip64Field = 1;
constexpr uint32_t kIn32 = 0xFFFFFFFF;  // the number is in the zip64 field

struct Directory {
  uint64_t records = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
};

class ZipReader {
 public:
  ZipReader(const Input& input, std::string_view format) : input_(input), format_(format) {}

  ZipRecords read() {
    const Directory directory = find_directory();
    ByteReader reader = part(directory.offset, directory.size);
    ZipRecords records;
    for (uint64_t i = 0; i < directory.records; ++i) add_record(reader, directory, records);
    if (reader.left() > 0) {
      refuse_zip(std::to_string(reader.left()) + " bytes of the directory belong to no record");
    }
    check_overlaps(records);
    return records;
  }

 private:
  [[noreturn]] void refuse_zip(const std::string& why) const {
    throw base::Error(base::ErrorKind::bad_input, format_, input_.name(), "zip archive: " + why);
  }
  [[noreturn]] void refuse_record(const std::string& name, const std::string& why) const {
    refuse_zip("record " + in_quotes(name) + " " + why);
  }

  ByteReader part(uint64_t offset, uint64_t size) const {
    return {format_, input_, offset, offset + size};
  }

  // The end record, behind which there is a comment of the length it names and nothing else.
  uint64_t find_end() const {
    const uint64_t size = input_.size();
    const uint64_t looked_at = std::min(size, kEndBytes + kLongestComment);
    std::string tail(looked_at, '\0');
    input_.read(size - looked_at, std::as_writable_bytes(std::span(tail)));
    for (size_t at = tail.size() < kEndBytes ? 0 : tail.size() - kEndBytes + 1; at > 0;) {
      at = tail.rfind("PK\x05\x06", at - 1);
      if (at == tail.npos) break;
      const uint64_t begin = size - looked_at + at;
      const auto comment = part(begin + 20, 2).number<uint16_t>("the end record");
      if (begin + kEndBytes + comment == size) return begin;
    }
    refuse_zip("its directory is missing at the end of the file; truncated download?");
  }

  Directory find_directory() const {
    const uint64_t end = find_end();
    ByteReader reader = part(end + 4, kEndBytes - 4);
    const auto disk = reader.number<uint16_t>("the end record");
    const auto first_disk = reader.number<uint16_t>("the end record");
    reader.number<uint16_t>("the end record");  // records on this disk
    Directory directory{.records = reader.number<uint16_t>("the end record"),
                        .size = reader.number<uint32_t>("the end record"),
                        .offset = reader.number<uint32_t>("the end record")};
    const auto place = find_directory64(end);
    if (place) directory = *place;
    if (!place && (disk != 0 || first_disk != 0)) refuse_zip("it is one of several parts");
    if (directory.records > kMaxRecords) {
      refuse_zip("it has " + std::to_string(directory.records) + " records, at most " +
                 std::to_string(kMaxRecords) + " are read");
    }
    if (directory.size > kMaxDirectory) {
      refuse_zip("its directory has " + std::to_string(directory.size) + " bytes, at most " +
                 std::to_string(kMaxDirectory) + " are read");
    }
    if (directory.offset > end || directory.size > end - directory.offset) {
      refuse_zip("its directory, " + std::to_string(directory.size) + " bytes from byte " +
                 std::to_string(directory.offset) + " on, does not lie before its end record at " +
                 std::to_string(end));
    }
    return directory;
  }

  // The numbers of 64 bits, where there are any: their place is named before the end record.
  std::optional<Directory> find_directory64(uint64_t end) const {
    if (end < kEnd64PlaceBytes) return std::nullopt;
    const char* what = "the zip64 end record";
    ByteReader place = part(end - kEnd64PlaceBytes, kEnd64PlaceBytes);
    if (place.number<uint32_t>(what) != kEnd64PlaceMark) return std::nullopt;
    const auto disk = place.number<uint32_t>(what);
    const auto offset = place.number<uint64_t>(what);
    if (disk != 0 || place.number<uint32_t>(what) > 1) refuse_zip("it is one of several parts");
    if (offset > end || end - offset < kEnd64Bytes) {
      refuse_zip("its zip64 end record is said to be at byte " + std::to_string(offset) +
                 ", past the end record at " + std::to_string(end));
    }
    ByteReader reader = part(offset, kEnd64Bytes);
    if (reader.number<uint32_t>(what) != kEnd64Mark) {
      refuse_zip("there is no zip64 end record at byte " + std::to_string(offset));
    }
    reader.text(28, what);  // its size, versions, disks, records on this disk
    Directory directory;
    directory.records = reader.number<uint64_t>(what);
    directory.size = reader.number<uint64_t>(what);
    directory.offset = reader.number<uint64_t>(what);
    return directory;
  }

  struct DirectoryEntry {
    std::string name;
    uint64_t stored = 0;  // bytes in the archive
    uint64_t size = 0;    // bytes of the record
    uint64_t header = 0;  // where its header is
  };

  void add_record(ByteReader& reader, const Directory& directory, ZipRecords& records) const {
    const char* what = "the directory";
    if (reader.number<uint32_t>(what) != kDirectoryMark) {
      refuse_zip("there is no entry of the directory at byte " +
                 std::to_string(reader.position() - 4));
    }
    reader.number<uint32_t>(what);  // versions
    const auto flags = reader.number<uint16_t>(what);
    const auto method = reader.number<uint16_t>(what);
    reader.text(8, what);  // time and checksum
    DirectoryEntry entry;
    entry.stored = reader.number<uint32_t>(what);
    entry.size = reader.number<uint32_t>(what);
    const auto name_size = reader.number<uint16_t>(what);
    const auto extra_size = reader.number<uint16_t>(what);
    const auto comment_size = reader.number<uint16_t>(what);
    reader.text(8, what);  // disk and attributes
    entry.header = reader.number<uint32_t>(what);
    entry.name = reader.text(name_size, what);
    widen(reader, extra_size, entry);
    reader.text(comment_size, what);
    if ((flags & 1) != 0) refuse_record(entry.name, "is encrypted");
    if (method != 0 || entry.stored != entry.size) {
      refuse_record(entry.name, "is compressed (method " + std::to_string(method) +
                                    "); PyTorch stores them as they are");
    }
    const ZipRecord record = place_of(entry, directory);
    if (!records.emplace(entry.name, record).second) {
      refuse_record(entry.name, "is there twice");
    }
  }

  // Numbers that do not fit into 32 bits are in a field of their own, in this order.
  void widen(ByteReader& reader, uint64_t extra_size, DirectoryEntry& entry) const {
    const char* what = "the directory";
    std::vector<uint64_t*> wide;
    for (uint64_t* number : {&entry.size, &entry.stored, &entry.header}) {
      if (*number == kIn32) wide.push_back(number);
    }
    while (extra_size > 0) {
      if (extra_size < 4) refuse_record(entry.name, "has a field that is cut off");
      const auto kind = reader.number<uint16_t>(what);
      uint64_t size = reader.number<uint16_t>(what);
      extra_size -= 4;
      if (size > extra_size) refuse_record(entry.name, "has a field that is cut off");
      extra_size -= size;
      if (kind == kZip64Field && !wide.empty()) {
        if (size < 8 * wide.size()) refuse_record(entry.name, "has too few numbers of 64 bits");
        for (uint64_t* number : wide) *number = reader.number<uint64_t>(what);
        size -= 8 * wide.size();
        wide.clear();
      }
      reader.text(size, what);
    }
    if (!wide.empty()) refuse_record(entry.name, "lacks its numbers of 64 bits");
  }

  // The record's own header tells where its bytes begin, and must be that of this record.
  ZipRecord place_of(const DirectoryEntry& entry, const Directory& directory) const {
    const uint64_t limit = directory.offset;
    const char* what = "a record's header";
    if (entry.header > limit || limit - entry.header < kRecordHeaderBytes) {
      refuse_record(entry.name, "begins at byte " + std::to_string(entry.header) +
                                    ", past the records, which end at " + std::to_string(limit));
    }
    ByteReader reader = part(entry.header, kRecordHeaderBytes);
    if (reader.number<uint32_t>(what) != kRecordMark) {
      refuse_record(entry.name, "has no header at byte " + std::to_string(entry.header));
    }
    reader.text(22, what);  // the same numbers once more
    const auto name_size = reader.number<uint16_t>(what);
    const auto extra_size = reader.number<uint16_t>(what);
    const uint64_t left = limit - reader.position();
    if (name_size != entry.name.size() || name_size > left ||
        part(reader.position(), name_size).text(name_size, what) != entry.name) {
      refuse_record(entry.name, "has another name in its own header");
    }
    if (extra_size > left - name_size || entry.size > left - name_size - extra_size) {
      refuse_record(entry.name, "has " + std::to_string(entry.size) +
                                    " bytes and does not fit before the directory at byte " +
                                    std::to_string(limit));
    }
    return {reader.position() + name_size + extra_size, entry.size};
  }

  void check_overlaps(const ZipRecords& records) const {
    std::vector<const ZipRecords::value_type*> order;
    for (const auto& record : records) order.push_back(&record);
    std::ranges::sort(
        order, {}, [](const auto* one) { return std::pair(one->second.offset, one->second.size); });
    for (size_t i = 1; i < order.size(); ++i) {
      const ZipRecord& before = order[i - 1]->second;
      if (before.offset + before.size <= order[i]->second.offset) continue;
      refuse_record(order[i]->first, "overlaps " + in_quotes(order[i - 1]->first));
    }
  }

  const Input& input_;
  std::string_view format_;
};

}  // namespace

ZipRecords read_zip(const Input& input, std::string_view format) {
  return ZipReader(input, format).read();
}

}  // namespace headlight::io
