// Opening one file of tensors, or the shards that an index names: safetensors, or checkpoints of
// PyTorch.
#include <algorithm>
#include <set>

#include "headlight/io/checkpoint.h"
#include "headlight/io/gguf.h"
#include "headlight/io/json_events.h"
#include "headlight/io/safetensors.h"
#include "headlight/io/safetensors_header.h"
#include "headlight/io/utf8.h"

namespace headlight::io {
namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kMapName = "weight_map";
constexpr std::string_view kIndexEnding = ".index.json";

using Index = std::map<std::string, std::string>;  // from tensors to shards

// What an index is of, by its name: "model.safetensors.index.json", "pytorch_model.bin.index.json".
bool is_of_checkpoints(std::string_view path) {
  return is_checkpoint_path(path.substr(0, path.size() - kIndexEnding.size()));
}
std::string_view index_kind(std::string_view path) {
  return is_of_checkpoints(path) ? "checkpoint index" : "safetensors index";
}
std::string_view shard_ending(std::string_view path) {
  return is_of_checkpoints(path) ? ".bin" : ".safetensors";
}

[[noreturn]] void refuse_index(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::bad_input, index_kind(path), path, why);
}

// A name with a path in it could reach any file of the machine.
bool is_plain(std::string_view name, std::string_view ending) {
  return name.size() > ending.size() && name.ends_with(ending) &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

// Takes weight_map out of the top object and passes over everything else in it.
class IndexEvents : public JsonEvents {
 public:
  explicit IndexEvents(const std::string& path) : path_(path) {}

  void null() override { pass(); }
  void boolean(bool) override { pass(); }
  void integer(int64_t) override { pass(); }
  void real(std::string_view) override { pass(); }
  void text(std::string& value) override {
    if (!is_in_map()) return pass();
    if (index_.size() == kMaxSafetensorsEntries) refuse_index(path_, "more than 1000000 tensors");
    const std::string ending(shard_ending(path_));
    if (!is_plain(value, ending)) {
      refuse_index(path_, "the shard " + in_quotes(value) +
                              " is no plain file name that ends with " + ending);
    }
    index_.emplace(std::move(key_), std::move(value));
  }
  void begin_array() override {
    pass();
    ++depth_;
  }
  void end_array() override { --depth_; }
  void begin_object() override {
    if (is_in_map()) pass();
    ++depth_;
  }
  void key(std::string& key) override {
    (depth_ == 1 ? top_key_ : key_) = std::move(key);
    has_map_ = has_map_ || top_key_ == kMapName;
  }
  void end_object() override { --depth_; }

  Index take() {
    if (!has_map_) refuse_index(path_, "weight_map is missing");
    return std::move(index_);
  }

 private:
  bool is_in_map() const { return depth_ >= 2 && top_key_ == kMapName; }

  // A value that is neither an object nor a shard's name: fine outside of the map.
  void pass() const {
    if (depth_ == 0) refuse_index(path_, "it is not an object");
    if (depth_ == 1 && top_key_ == kMapName) refuse_index(path_, "weight_map is not an object");
    if (is_in_map()) refuse_index(path_, "tensor " + in_quotes(key_) + " has no file name");
  }

  const std::string& path_;
  Index index_;
  std::string top_key_;
  std::string key_;
  size_t depth_ = 0;
  bool has_map_ = false;
};

Index read_index(base::FileSystem& files, const std::string& path) {
  const std::string text = base::read_all(*base::open_input(files, path), kMaxSafetensorsHeader);
  IndexEvents events(path);
  parse_json_events(text, index_kind(path), path, events);
  return events.take();
}

std::set<std::string> shards_of(const Index& index) {
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : index) shards.insert(shard);
  return shards;
}

void check_presence(base::FileSystem& files, const std::string& path, const std::string& folder,
                    const std::set<std::string>& shards) {
  std::vector<std::string> missing;
  std::copy_if(shards.begin(), shards.end(), std::back_inserter(missing),
               [&](const std::string& shard) { return !base::exists(files, folder + shard); });
  if (missing.empty()) return;
  refuse_index(path, std::to_string(missing.size()) + " of " + std::to_string(shards.size()) +
                         " shards are missing, the first is " + in_quotes(missing.front()));
}

// Each tensor of the index is in its shard, and the shards hold no others.
void check_agreement(const std::string& path, const std::string& folder, const Index& index,
                     const StoredTensors& tensors) {
  for (const auto& [name, shard] : index) {
    const StoredTensors::Entry* entry = tensors.find(name);
    if (!entry) refuse_index(path, "tensor " + in_quotes(name) + " is in none of the shards");
    if (tensors.path_of(*entry) != folder + shard) {
      refuse_index(path, "tensor " + in_quotes(name) + " is not in " + shard + " but in " +
                             tensors.path_of(*entry));
    }
  }
  for (const StoredTensors::Entry& entry : tensors.entries()) {
    if (!index.contains(entry.name)) {
      refuse_index(path, "tensor " + in_quotes(entry.name) + " of " + tensors.path_of(entry) +
                             " is not in the index");
    }
  }
}

// The shards of an index, each opened by `open`, as one.
template <class Tensors, class Open>
Tensors open_shards(base::FileSystem& files, const std::string& path, const Open& open) {
  const Index index = read_index(files, path);
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const std::set<std::string> shards = shards_of(index);
  check_presence(files, path, folder, shards);
  std::vector<Tensors> parts;
  for (const std::string& shard : shards) {
    parts.push_back(open(base::open_input(files, folder + shard)));
  }
  Tensors tensors(std::move(parts));
  check_agreement(path, folder, index, tensors);
  return tensors;
}

}  // namespace

Safetensors open_safetensors(base::FileSystem& files, const std::string& path) {
  if (!path.ends_with(kIndexEnding)) return Safetensors(base::open_input(files, path));
  return open_shards<Safetensors>(files, path, [](std::shared_ptr<const base::Input> input) {
    return Safetensors(std::move(input));
  });
}

StoredTensors open_tensors(base::FileSystem& files, const std::string& path) {
  if (is_gguf_path(path)) return open_gguf(files, path);
  if (is_checkpoint_path(path)) return open_checkpoint(base::open_input(files, path));
  if (path.ends_with(kIndexEnding) && is_of_checkpoints(path)) {
    return open_shards<StoredTensors>(files, path, open_checkpoint);
  }
  return open_safetensors(files, path);
}

}  // namespace headlight::io
