// Two forms of one thing: a pickle with the tensors' descriptions, and storages with their numbers.
#include "headlight/io/checkpoint.h"

#include <algorithm>
#include <array>
#include <set>

#include "headlight/io/foreign.h"
#include "headlight/io/torch_objects.h"
#include "headlight/io/utf8.h"
#include "headlight/io/zip.h"

namespace headlight::io {
namespace {

using base::Error;
using base::ErrorKind;
using base::Input;
using Kind = PickleValue::Kind;

constexpr std::string_view kCheckpoint = "checkpoint";
constexpr uint64_t kMaxSmallRecord = 64;  // bytes of a version or a byte order
constexpr int64_t kNewestArchive = 10;
constexpr int64_t kLegacyProtocol = 1001;
constexpr std::string_view kLegacyMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

// Where each storage's bytes begin.
using StoragePlaces = std::map<std::string, uint64_t>;

[[noreturn]] void refuse_checkpoint(const Input& input, const std::string& why) {
  throw Error(ErrorKind::bad_input, kCheckpoint, input.name(), why);
}

bool has_tensors_only(const Pickle& pickle, const TorchObjects& objects,
                      const PickleValue& dictionary) {
  for (size_t i = 1; i < dictionary.items.size(); i += 2) {
    if (objects.tensor_of(pickle[dictionary.items[i]]) == nullptr) return false;
  }
  return true;
}

// The names of a dictionary's members that are tensors in a dictionary of their own.
std::vector<const PickleValue*> inner_states(const Pickle& pickle, const TorchObjects& objects,
                                             const PickleValue& dictionary, std::string& names) {
  constexpr std::array<std::string_view, 3> kInner = {"state_dict", "model", "model_state_dict"};
  std::vector<const PickleValue*> found;
  size_t looked_at = 0;
  for (size_t i = 1; i < dictionary.items.size(); i += 2) {
    const PickleValue& key = pickle[dictionary.items[i - 1]];
    const PickleValue& value = pickle[dictionary.items[i]];
    if (key.kind != Kind::text || std::ranges::count(kInner, key.text) == 0) continue;
    // More are the same names again, and may be as many copies of one large dictionary.
    if (++looked_at > kInner.size()) break;
    const bool is_state = value.kind == Kind::dictionary && !value.items.empty() &&
                          has_tensors_only(pickle, objects, value);
    if (!is_state) continue;
    found.push_back(&value);
    names += (names.empty() ? "" : " and ") + in_quotes(key.text);
  }
  return found;
}

// The dictionary whose members are the tensors.
const PickleValue& state_in(const Input& input, const Pickle& pickle, const TorchObjects& objects) {
  const PickleValue& root = pickle.root();
  if (root.kind != Kind::dictionary) {
    refuse_checkpoint(input,
                      std::string("it holds ") +
                          (objects.tensor_of(root) != nullptr ? "one tensor" : name_of(root.kind)) +
                          ", not a dictionary of tensors");
  }
  if (root.items.empty()) refuse_checkpoint(input, "its dictionary is empty");
  if (has_tensors_only(pickle, objects, root)) return root;
  std::string names;
  const std::vector<const PickleValue*> inner = inner_states(pickle, objects, root, names);
  if (inner.size() == 1) {
    for (size_t i = 1; i < root.items.size(); i += 2) {
      if (objects.tensor_of(pickle[root.items[i]]) == nullptr) continue;
      refuse_checkpoint(input, "it holds tensors both by themselves and under " + names +
                                   "; save one dictionary of tensors alone");
    }
    return *inner.front();
  }
  if (inner.size() > 1) {
    refuse_checkpoint(input,
                      "it holds tensors under " + names + "; save one dictionary of tensors alone");
  }
  for (size_t i = 1; i < root.items.size(); i += 2) {
    const PickleValue& value = pickle[root.items[i]];
    if (objects.tensor_of(value) != nullptr) continue;
    const PickleValue& key = pickle[root.items[i - 1]];
    refuse_checkpoint(
        input, "its member " +
                   (key.kind == Kind::text ? in_quotes(key.text) : std::to_string((i + 1) / 2)) +
                   " is " + name_of(value.kind) +
                   ", not a tensor; save the model's state_dict() alone");
  }
  return root;
}

StoredTensors tensors_in(std::shared_ptr<const Input> input, const Pickle& pickle,
                         const TorchObjects& objects, const StoragePlaces& places,
                         bool is_big_endian) {
  const PickleValue& state = state_in(*input, pickle, objects);
  std::vector<StoredTensors::Entry> entries;
  std::set<PickleId> names;  // one long text, named again and again, is not copied as often
  for (size_t i = 1; i < state.items.size(); i += 2) {
    const PickleValue& key = pickle[state.items[i - 1]];
    if (key.kind != Kind::text) {
      refuse_checkpoint(
          *input, std::string("the name of a tensor is ") + name_of(key.kind) + ", not a text");
    }
    if (!names.insert(state.items[i - 1]).second) {
      refuse_checkpoint(*input, "tensor " + in_quotes(key.text) + " is there twice");
    }
    if (valid_utf8_length(key.text) != key.text.size()) {
      refuse_checkpoint(*input, "the name " + in_quotes(key.text) + " is not UTF-8");
    }
    const TorchTensor& tensor = *objects.tensor_of(pickle[state.items[i]]);
    StoredTensors::Entry entry{.name = key.text, .array = tensor.array};
    entry.array.offset += places.at(objects.storages()[tensor.storage].key);
    entry.array.is_big_endian = is_big_endian;
    entries.push_back(std::move(entry));
  }
  return {kCheckpoint, std::move(input), std::move(entries)};
}

// "archive/" of "archive/data.pkl"; nothing where the archive is of another kind.
std::string archive_prefix(const Input& input, const ZipRecords& records) {
  constexpr std::string_view kPickleRecord = "/data.pkl";
  std::string prefix;
  for (const auto& [name, record] : records) {
    if (!name.ends_with(kPickleRecord) || name.find('/') != name.size() - kPickleRecord.size()) {
      continue;
    }
    if (!prefix.empty()) refuse_checkpoint(input, "it has more than one data.pkl");
    prefix = name.substr(0, name.find('/') + 1);
  }
  if (prefix.empty()) {
    const bool is_npz = std::ranges::any_of(
        records, [](const auto& record) { return record.first.ends_with(".npy"); });
    refuse_checkpoint(input, is_npz ? "it is an .npz archive of NumPy"
                                    : "it is a zip archive of another kind: it has no data.pkl");
  }
  if (records.contains(prefix + "constants.pkl")) {
    refuse_checkpoint(input,
                      "it is a TorchScript program, not a checkpoint; save the model's "
                      "state_dict() with torch.save()");
  }
  return prefix;
}

std::string small_record(const Input& input, const std::string& name, const ZipRecord& record) {
  if (record.size > kMaxSmallRecord) {
    refuse_checkpoint(input, "record " + in_quotes(name) + " has " + std::to_string(record.size) +
                                 " bytes, at most " + std::to_string(kMaxSmallRecord) +
                                 " are read");
  }
  std::string text = ByteReader(kCheckpoint, input, record.offset, record.offset + record.size)
                         .text(record.size, name);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

void check_archive_version(const Input& input, const ZipRecords& records,
                           const std::string& prefix) {
  auto record = records.find(prefix + ".data/version");
  if (record == records.end()) record = records.find(prefix + "version");
  if (record == records.end()) refuse_checkpoint(input, "its record \"version\" is missing");
  const std::string text = small_record(input, record->first, record->second);
  const bool is_number = !text.empty() && text.size() < 6 &&
                         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (is_number && std::stoll(text) >= 1 && std::stoll(text) <= kNewestArchive) return;
  refuse_checkpoint(input, "its version is " + in_quotes(text) + ", 1 to " +
                               std::to_string(kNewestArchive) + " are read");
}

bool is_big_endian_archive(const Input& input, const ZipRecords& records,
                           const std::string& prefix) {
  const auto record = records.find(prefix + "byteorder");
  if (record == records.end()) return false;
  const std::string order = small_record(input, record->first, record->second);
  if (order == "little" || order == "big") return order == "big";
  refuse_checkpoint(input, "its byte order is " + in_quotes(order) + ", little or big are read");
}

StoragePlaces places_in_archive(const Input& input, const ZipRecords& records,
                                const std::string& prefix, const TorchObjects& objects) {
  StoragePlaces places;
  for (const TorchStorage& storage : objects.storages()) {
    const auto record = records.find(prefix + "data/" + storage.key);
    if (record == records.end()) {
      refuse_checkpoint(input, "storage " + in_quotes(storage.key) + " is missing: no record " +
                                   in_quotes(prefix + "data/" + storage.key));
    }
    if (record->second.size != storage.bytes()) {
      refuse_checkpoint(input, "storage " + in_quotes(storage.key) + " has " +
                                   std::to_string(record->second.size) + " bytes, its " +
                                   std::to_string(storage.elements) + " elements need " +
                                   std::to_string(storage.bytes()));
    }
    places[storage.key] = record->second.offset;
  }
  return places;
}

StoredTensors open_archive(std::shared_ptr<const Input> input) {
  const ZipRecords records = read_zip(*input, kCheckpoint);
  const std::string prefix = archive_prefix(*input, records);
  check_archive_version(*input, records, prefix);
  const bool is_big_endian = is_big_endian_archive(*input, records, prefix);
  const ZipRecord& described = records.at(prefix + "data.pkl");
  ByteReader reader(kCheckpoint, *input, described.offset, described.offset + described.size);
  TorchObjects objects(kCheckpoint, input->name());
  const Pickle pickle = read_pickle(reader, objects);
  if (reader.left() > 0) {
    refuse_checkpoint(*input, std::to_string(reader.left()) + " bytes follow its pickle");
  }
  const StoragePlaces places = places_in_archive(*input, records, prefix, objects);
  return tensors_in(std::move(input), pickle, objects, places, is_big_endian);
}

// What was written before the tensors: a number that marks the format, its protocol, and facts of
// the machine.
void check_legacy_start(const Input& input, ByteReader& reader) {
  TorchObjects none(kCheckpoint, input.name());
  const Pickle magic = read_pickle(reader, none);
  if (magic.root().kind != Kind::long_integer || magic.root().text != kLegacyMagic) {
    refuse_checkpoint(input, "it is a pickle of another kind, not a checkpoint of PyTorch");
  }
  const Pickle protocol = read_pickle(reader, none);
  if (protocol.root().kind != Kind::integer || protocol.root().integer != kLegacyProtocol) {
    refuse_checkpoint(input, "its protocol is not " + std::to_string(kLegacyProtocol));
  }
  const Pickle facts = read_pickle(reader, none);
  const PickleValue& root = facts.root();
  for (size_t i = 1; i < root.items.size(); i += 2) {
    const PickleValue& value = facts[root.items[i]];
    if (facts[root.items[i - 1]].text == "little_endian" &&
        (value.kind != Kind::boolean || value.integer == 0)) {
      refuse_checkpoint(input, "it was written on a big-endian machine; save it anew");
    }
  }
  if (root.kind != Kind::dictionary) refuse_checkpoint(input, "its facts are no dictionary");
}

// Behind the pickles, in the order of a list of keys: the number of elements, then their bytes.
StoragePlaces places_behind(const Input& input, ByteReader& reader, const TorchObjects& objects) {
  TorchObjects none(kCheckpoint, input.name());
  const Pickle keys = read_pickle(reader, none);
  if (keys.root().kind != Kind::list) refuse_checkpoint(input, "its keys are no list");
  StoragePlaces places;
  uint64_t position = reader.position();
  for (const PickleId id : keys.root().items) {
    const PickleValue& key = keys[id];
    const TorchStorage* storage = objects.find_storage(key.text);
    if (key.kind != Kind::text || storage == nullptr) {
      refuse_checkpoint(input, "storage " + in_quotes(key.text) + " belongs to no tensor");
    }
    ByteReader header(kCheckpoint, input, position, input.size());
    const auto elements = header.number<int64_t>("the size of a storage");
    if (elements != storage->elements) {
      refuse_checkpoint(input, "storage " + in_quotes(key.text) + " has " +
                                   std::to_string(elements) + " elements, its description has " +
                                   std::to_string(storage->elements));
    }
    position = header.position();
    if (storage->bytes() > input.size() - position) {
      refuse_checkpoint(input, "storage " + in_quotes(key.text) + " needs " +
                                   std::to_string(storage->bytes()) + " bytes from byte " +
                                   std::to_string(position) + " on, the file ends at " +
                                   std::to_string(input.size()) + "; truncated download?");
    }
    if (!places.emplace(key.text, position).second) {
      refuse_checkpoint(input, "storage " + in_quotes(key.text) + " is there twice");
    }
    position += storage->bytes();
  }
  if (position != input.size()) {
    refuse_checkpoint(input,
                      std::to_string(input.size() - position) + " bytes follow the last storage");
  }
  for (const TorchStorage& storage : objects.storages()) {
    if (places.contains(storage.key)) continue;
    refuse_checkpoint(input, "storage " + in_quotes(storage.key) + " is missing");
  }
  return places;
}

StoredTensors open_legacy(std::shared_ptr<const Input> input) {
  ByteReader reader(kCheckpoint, *input, 0, input->size());
  check_legacy_start(*input, reader);
  TorchObjects objects(kCheckpoint, input->name());
  const Pickle pickle = read_pickle(reader, objects);
  const StoragePlaces places = places_behind(*input, reader, objects);
  return tensors_in(std::move(input), pickle, objects, places, false);
}

}  // namespace

StoredTensors open_checkpoint(std::shared_ptr<const Input> input) {
  std::string start(std::min<uint64_t>(input->size(), 4), '\0');
  input->read(0, std::as_writable_bytes(std::span(start)));
  if (start.starts_with("PK\x03\x04")) return open_archive(std::move(input));
  if (start.starts_with('\x80')) return open_legacy(std::move(input));
  const std::string format = foreign_format(*input);
  refuse_checkpoint(*input, !format.empty() ? format
                            : input->size() == 0
                                ? "it is empty"
                                : "it is neither the archive nor the pickles that torch.save() "
                                  "writes");
}

bool is_checkpoint_path(std::string_view path) {
  return path.ends_with(".bin") || path.ends_with(".pt") || path.ends_with(".pth");
}

}  // namespace headlight::io
