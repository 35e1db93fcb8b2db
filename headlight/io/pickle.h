// Python pickles as data: numbers, texts, lists, tuples and dictionaries, and objects that somebody
// else stands for. Nothing in a pickle is run. For io's own use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/io/byte_reader.h"

namespace headlight::io {

using PickleId = uint32_t;

struct PickleValue {
  enum class Kind : uint8_t {
    none,
    boolean,
    integer,
    long_integer,  // beyond 64 bits, as its bytes
    real,
    text,
    tuple,
    list,
    dictionary,
    object,  // what PickleObjects gave
  };
  Kind kind = Kind::none;
  uint8_t object_kind = 0;  // of an object: what PickleObjects says
  int64_t integer = 0;      // of a boolean, an integer, an object
  double real = 0;
  std::string text = {};
  std::vector<PickleId> items = {};  // of a dictionary: keys and values in turn
};

const char* name_of(PickleValue::Kind kind);  // "a list", for messages

// The values of a pickle. They refer to each other by number, so that neither depth nor cycles
// matter to anyone who goes through them.
class Pickle {
 public:
  const PickleValue& operator[](PickleId id) const { return values_[id]; }
  const PickleValue& root() const { return values_[root_]; }

 private:
  friend class Unpickler;
  std::vector<PickleValue> values_;
  PickleId root_ = 0;
};

// Who knows what the classes, functions and persistent ids in a pickle mean. Each of these throws
// Error(bad_input) for what it does not know.
class PickleObjects {
 public:
  virtual ~PickleObjects() = default;
  virtual PickleValue global(const std::string& module, const std::string& name) = 0;
  // What calling `function`, an object of global(), with the arguments would give.
  virtual PickleValue call(const PickleValue& function, const PickleValue& arguments,
                           const Pickle& pickle) = 0;
  virtual PickleValue persistent(const PickleValue& id, const Pickle& pickle) = 0;
};

// Reads one pickle of protocols 2 to 5 and leaves the reader behind it. Attributes of dictionaries,
// such as those of PyTorch's state dicts, are passed over.
Pickle read_pickle(ByteReader& reader, PickleObjects& objects);

}  // namespace headlight::io
