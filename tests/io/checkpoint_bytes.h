// PyTorch's checkpoints put together by hand, so that each byte of them can be wrong.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headlight::io {

template <class T>
std::string little_endian(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
inline std::string u16(uint64_t value) { return little_endian(static_cast<uint16_t>(value)); }
inline std::string u32(uint64_t value) { return little_endian(static_cast<uint32_t>(value)); }
inline std::string u64(uint64_t value) { return little_endian(value); }

// Parts of a pickle.
namespace pickled {

inline std::string text(const std::string& text) { return "X" + u32(text.size()) + text; }
inline std::string integer(int64_t value) { return "\x8a\x08" + u64(static_cast<uint64_t>(value)); }
inline std::string tuple(const std::vector<std::string>& items) {
  std::string all = "(";
  for (const std::string& item : items) all += item;
  return all + "t";
}
inline std::string integers(const std::vector<int64_t>& values) {
  std::vector<std::string> items;
  for (const int64_t value : values) items.push_back(integer(value));
  return tuple(items);
}
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string dictionary(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string all = "}(";
  for (const auto& [name, value] : members) all += text(name) + value;
  return all + "u";
}
inline std::string whole(const std::string& value, int protocol = 2) {
  return "\x80" + std::string(1, static_cast<char>(protocol)) + value + ".";
}

struct Storage {
  std::string type = global("torch", "FloatStorage");
  std::string key = text("0");
  std::string elements = integer(6);
  std::string more = "";  // a sixth part

  std::string bytes() const {
    return "(" + text("storage") + type + key + text("cpu") + elements + more + "tQ";
  }
};

struct TensorParts {
  std::string function = global("torch._utils", "_rebuild_tensor_v2");
  std::string storage = Storage{}.bytes();
  std::string offset = integer(0);
  std::string sizes = integers({2, 3});
  std::string strides = integers({3, 1});
  std::string more = "\x89}";  // no gradient, no hooks

  std::string bytes() const {
    return function + "(" + storage + offset + sizes + strides + more + "tR";
  }
};

inline std::string tensor() { return TensorParts{}.bytes(); }

}  // namespace pickled

struct Record {
  std::string name;
  std::string bytes;
};

// What may be wrong in an archive.
struct ArchiveParts {
  std::vector<Record> records;
  uint16_t method = 0;
  uint16_t flags = 0;
  uint64_t stored_more = 0;     // added to the stored size that the directory tells
  uint64_t record_place = 0;    // added to the places of records
  std::string local_name = "";  // in headers of records, instead of theirs
  bool zip64 = false;           // sizes and places in fields of 64 bits, and their own end record
  std::string extra = "";       // of each entry of the directory
  std::string comment = "";
  int64_t record_count = -1;  // said instead of the real one
  int64_t directory_size = -1;
  int64_t directory_place = -1;
};

inline std::string archive_bytes(const ArchiveParts& parts) {
  std::string bytes;
  std::string directory;
  for (const Record& record : parts.records) {
    const uint64_t place = bytes.size() + parts.record_place;
    const std::string& local = parts.local_name.empty() ? record.name : parts.local_name;
    const uint64_t size = record.bytes.size();
    bytes += "PK\x03\x04" + u16(45) + u16(parts.flags) + u16(parts.method) + u32(0) + u32(0) +
             u32(size) + u32(size) + u16(local.size()) + u16(0) + local + record.bytes;
    const uint64_t all = 0xFFFFFFFF;
    const uint64_t stored = size + parts.stored_more;
    const std::string extra =
        parts.zip64 ? u16(1) + u16(24) + u64(size) + u64(stored) + u64(place) : parts.extra;
    directory += "PK\x01\x02" + u16(45) + u16(45) + u16(parts.flags) + u16(parts.method) + u32(0) +
                 u32(0) + u32(parts.zip64 ? all : stored) + u32(parts.zip64 ? all : size) +
                 u16(record.name.size()) + u16(extra.size()) + u16(0) + u16(0) + u16(0) + u32(0) +
                 u32(parts.zip64 ? all : place) + record.name + extra;
  }
  const auto or_else = [](int64_t said, uint64_t real) {
    return said < 0 ? real : static_cast<uint64_t>(said);
  };
  const uint64_t count = or_else(parts.record_count, parts.records.size());
  const uint64_t size = or_else(parts.directory_size, directory.size());
  const uint64_t place = or_else(parts.directory_place, bytes.size());
  bytes += directory;
  if (parts.zip64) {
    const uint64_t end = bytes.size();
    bytes += "PK\x06\x06" + u64(44) + u16(45) + u16(45) + u32(0) + u32(0) + u64(count) +
             u64(count) + u64(size) + u64(place);
    bytes += "PK\x06\x07" + u32(0) + u64(end) + u32(1);
  }
  return bytes + "PK\x05\x06" + u16(0) + u16(0) + u16(parts.zip64 ? 0xFFFF : count) +
         u16(parts.zip64 ? 0xFFFF : count) + u32(parts.zip64 ? 0xFFFFFFFF : size) +
         u32(parts.zip64 ? 0xFFFFFFFF : place) + u16(parts.comment.size()) + parts.comment;
}

inline std::string six_floats() {
  std::string bytes;
  for (int i = 1; i <= 6; ++i) bytes += little_endian(static_cast<float>(i));
  return bytes;
}

// An archive of this pickle and six numbers in storage 0.
inline std::vector<Record> checkpoint_records(const std::string& pickle) {
  return {{"archive/data.pkl", pickle},
          {"archive/byteorder", "little"},
          {"archive/data/0", six_floats()},
          {"archive/version", "3\n"}};
}
inline std::string checkpoint_bytes(const std::string& value) {
  return archive_bytes({.records = checkpoint_records(pickled::whole(value))});
}
inline std::string one_tensor(const pickled::TensorParts& parts) {
  return checkpoint_bytes(pickled::dictionary({{"x", parts.bytes()}}));
}

// The form of before 1.6.
struct LegacyParts {
  std::string magic = std::string("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19");
  std::string protocol = "M\xe9\x03";
  std::string facts =
      pickled::dictionary({{"protocol_version", "M\xe9\x03"}, {"little_endian", "\x88"}});
  std::string value = pickled::dictionary({{"x", pickled::tensor()}});
  std::string keys = "](" + pickled::text("0") + "e";
  std::string storages = u64(6) + six_floats();

  std::string bytes() const {
    using pickled::whole;
    return whole(magic) + whole(protocol) + whole(facts) + whole(value) + whole(keys) + storages;
  }
};

}  // namespace headlight::io
