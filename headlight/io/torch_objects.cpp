// The few names that a state dict needs, and the checks that a tensor lies within its storage.
#include "headlight/io/torch_objects.h"

#include <algorithm>
#include <array>

#include "headlight/io/utf8.h"

namespace headlight::io {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::Shape;
using Kind = PickleValue::Kind;

constexpr int64_t kMaxTorchNumber = int64_t{1} << 48;
// Elements of a tensor that shows the numbers of its storage several times.
constexpr int64_t kMaxExpanded = int64_t{1} << 20;
constexpr size_t kMaxTorchTensors = 1'000'000;
constexpr size_t kMaxStorageKey = 256;  // bytes; each tensor may copy it

enum class TorchKind : uint8_t {
  ordered_dictionary,
  rebuild_tensor,  // without what gradients need
  rebuild_tensor_v2,
  rebuild_tensor_v3,  // of a storage without a kind
  rebuild_parameter,
  storage_type,
  untyped_storage,
  dtype,
  storage,  // these two are no names but what they make
  tensor,
};

struct KnownName {
  std::string_view module;
  std::string_view name;
  TorchKind kind;
  Element element = Element::f32;
};

constexpr std::array<KnownName, 20> kKnownNames = {
    {{"collections", "OrderedDict", TorchKind::ordered_dictionary},
     {"torch._utils", "_rebuild_tensor", TorchKind::rebuild_tensor},
     {"torch._utils", "_rebuild_tensor_v2", TorchKind::rebuild_tensor_v2},
     {"torch._utils", "_rebuild_tensor_v3", TorchKind::rebuild_tensor_v3},
     {"torch._utils", "_rebuild_parameter", TorchKind::rebuild_parameter},
     {"torch", "DoubleStorage", TorchKind::storage_type, Element::f64},
     {"torch", "FloatStorage", TorchKind::storage_type, Element::f32},
     {"torch", "HalfStorage", TorchKind::storage_type, Element::f16},
     {"torch", "BFloat16Storage", TorchKind::storage_type, Element::bf16},
     {"torch", "LongStorage", TorchKind::storage_type, Element::i64},
     {"torch", "IntStorage", TorchKind::storage_type, Element::i32},
     {"torch", "ShortStorage", TorchKind::storage_type, Element::i16},
     {"torch", "CharStorage", TorchKind::storage_type, Element::i8},
     {"torch", "ByteStorage", TorchKind::storage_type, Element::u8},
     {"torch", "BoolStorage", TorchKind::storage_type, Element::boolean},
     {"torch.storage", "UntypedStorage", TorchKind::untyped_storage},
     {"torch", "UntypedStorage", TorchKind::untyped_storage},
     {"torch", "uint16", TorchKind::dtype, Element::u16},
     {"torch", "uint32", TorchKind::dtype, Element::u32},
     {"torch", "uint64", TorchKind::dtype, Element::u64}}};

PickleValue object_of(TorchKind kind, size_t index) {
  return {.kind = Kind::object,
          .object_kind = static_cast<uint8_t>(kind),
          .integer = static_cast<int64_t>(index)};
}

bool is_object(const PickleValue& value, TorchKind kind) {
  return value.kind == Kind::object && value.object_kind == static_cast<uint8_t>(kind);
}

bool is_count(const PickleValue& value) {
  return value.kind == Kind::integer && value.integer >= 0 && value.integer <= kMaxTorchNumber;
}

std::string numbers_text(const std::vector<int64_t>& numbers) {
  std::string text = "[";
  for (const int64_t number : numbers) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  }
  return text + "]";
}

// Whether all elements lie within the first `elements` of a storage.
bool is_within(int64_t offset, const Shape& shape, const std::vector<int64_t>& strides,
               int64_t elements) {
  if (offset > elements) return false;
  if (shape.elements() == 0) return true;
  int64_t left = elements - offset - 1;  // from the first element to the storage's last
  for (int axis = 0; axis < shape.rank() && left >= 0; ++axis) {
    const int64_t steps = shape[axis] - 1;
    const int64_t stride = strides[static_cast<size_t>(axis)];
    if (steps > 0 && stride > left / steps) return false;
    left -= steps * stride;
  }
  return left >= 0;
}

// Whether the elements lie one after the other, row by row.
bool is_dense(const Shape& shape, const std::vector<int64_t>& strides) {
  int64_t expected = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] > 1 && strides[static_cast<size_t>(axis)] != expected) return false;
    expected *= std::max<int64_t>(shape[axis], 1);
  }
  return true;
}

}  // namespace

void TorchObjects::refuse_object(const std::string& why) const {
  throw Error(ErrorKind::bad_input, format_, path_, why);
}

PickleValue TorchObjects::global(const std::string& module, const std::string& name) {
  const auto found = std::ranges::find_if(kKnownNames, [&](const KnownName& known) {
    return known.module == module && known.name == name;
  });
  if (found != kKnownNames.end()) {
    return object_of(found->kind, static_cast<size_t>(found - kKnownNames.begin()));
  }
  refuse_object("it names " + in_quotes(module + "." + name) +
                "; only tensors, dictionaries, lists, tuples, numbers and texts are read, and "
                "nothing is run; save the model's state_dict() alone");
}

PickleValue TorchObjects::call(const PickleValue& function, const PickleValue& arguments,
                               const Pickle& pickle) {
  switch (static_cast<TorchKind>(function.object_kind)) {
    case TorchKind::ordered_dictionary:
      return ordered_dictionary(arguments, pickle);
    case TorchKind::rebuild_tensor:
    case TorchKind::rebuild_tensor_v2:
      return rebuilt_tensor(arguments, pickle, false);
    case TorchKind::rebuild_tensor_v3:
      return rebuilt_tensor(arguments, pickle, true);
    case TorchKind::rebuild_parameter:
      return parameter(arguments, pickle);
    default:
      refuse_object("it calls what is neither a tensor nor a dictionary");
  }
}

// Without arguments, or, as Python 2 wrote it, with a list of pairs.
PickleValue TorchObjects::ordered_dictionary(const PickleValue& arguments,
                                             const Pickle& pickle) const {
  PickleValue dictionary{.kind = Kind::dictionary};
  if (arguments.items.empty()) return dictionary;
  const PickleValue& pairs = pickle[arguments.items.front()];
  if (arguments.items.size() != 1 || pairs.kind != Kind::list) {
    refuse_object("an ordered dictionary is made of something other than a list of pairs");
  }
  for (const PickleId id : pairs.items) {
    const PickleValue& pair = pickle[id];
    if ((pair.kind != Kind::list && pair.kind != Kind::tuple) || pair.items.size() != 2) {
      refuse_object("an ordered dictionary is made of something other than a list of pairs");
    }
    dictionary.items.insert(dictionary.items.end(), pair.items.begin(), pair.items.end());
  }
  return dictionary;
}

PickleValue TorchObjects::parameter(const PickleValue& arguments, const Pickle& pickle) const {
  const PickleValue* data = arguments.items.empty() ? nullptr : &pickle[arguments.items.front()];
  if (arguments.items.size() != 3 || tensor_of(*data) == nullptr) {
    refuse_object("a parameter is made of something other than a tensor and two settings");
  }
  return *data;
}

// ("storage", kind, key, device, elements), in earlier files with a sixth.
PickleValue TorchObjects::persistent(const PickleValue& id, const Pickle& pickle) {
  const auto item = [&](size_t index) -> const PickleValue& { return pickle[id.items[index]]; };
  if (id.kind != Kind::tuple || id.items.size() < 5 || id.items.size() > 6 ||
      item(0).kind != Kind::text || item(0).text != "storage") {
    refuse_object("its pickle refers to something other than a storage");
  }
  const bool is_typed = is_object(item(1), TorchKind::storage_type);
  if (!is_typed && !is_object(item(1), TorchKind::untyped_storage)) {
    refuse_object("a storage is of no kind that is known");
  }
  if (item(2).kind != Kind::text) refuse_object("the key of a storage is no text");
  const std::string& key = item(2).text;
  if (key.size() > kMaxStorageKey) {
    refuse_object("the key of a storage has " + std::to_string(key.size()) + " bytes, at most " +
                  std::to_string(kMaxStorageKey) + " are read");
  }
  if (!is_count(item(4))) {
    refuse_object("storage " + in_quotes(key) + ": its number of elements is not in 0 to 2^48");
  }
  if (id.items.size() == 6 && item(5).kind != Kind::none) {
    refuse_object("storage " + in_quotes(key) +
                  " is a part of another one, as early versions of PyTorch wrote it; save it anew");
  }
  TorchStorage storage{.key = key, .element = {}, .elements = item(4).integer};
  if (is_typed) storage.element = kKnownNames[static_cast<size_t>(item(1).integer)].element;
  const auto [place, is_new] = storage_by_key_.emplace(key, storages_.size());
  if (is_new) {
    storages_.push_back(std::move(storage));
  } else if (storages_[place->second].element != storage.element ||
             storages_[place->second].elements != storage.elements) {
    refuse_object("storage " + in_quotes(key) + " is described in two ways");
  }
  return object_of(TorchKind::storage, place->second);
}

std::vector<int64_t> TorchObjects::counts_of(const PickleValue& tuple, const Pickle& pickle,
                                             const char* what) const {
  std::vector<int64_t> numbers;
  if (tuple.kind != Kind::tuple) refuse_object(std::string("a tensor has no ") + what);
  if (tuple.items.size() > Shape::kMaxRank) refuse_object("a tensor has a rank over 8");
  for (const PickleId id : tuple.items) {
    if (!is_count(pickle[id])) {
      refuse_object(std::string("a tensor has ") + what + " other than integers from 0 to 2^48");
    }
    numbers.push_back(pickle[id].integer);
  }
  return numbers;
}

// The part of a storage of so many elements that offset, sizes and strides show.
StoredArray TorchObjects::array_in(const TorchStorage& storage, Element element, int64_t offset,
                                   const std::vector<int64_t>& sizes,
                                   std::vector<int64_t> strides) const {
  const std::string which = "a tensor in storage " + in_quotes(storage.key);
  if (sizes.size() != strides.size()) {
    refuse_object(which + " has " + std::to_string(sizes.size()) + " sizes and " +
                  std::to_string(strides.size()) + " strides");
  }
  StoredArray array{.element = element, .shape = {}};
  try {
    array.shape = Shape(sizes);
  } catch (const Error& error) {
    refuse_object(which + ": " + error.what());
  }
  const auto elements = static_cast<int64_t>(storage.bytes() / size_of(element));
  if (!is_within(offset, array.shape, strides, elements)) {
    refuse_object(which + " of shape " + array.shape.text() + " and strides " +
                  numbers_text(strides) + " from element " + std::to_string(offset) +
                  " on reaches past its " + std::to_string(elements) + " elements");
  }
  if (array.shape.elements() > std::max(elements, kMaxExpanded)) {
    refuse_object(which + " of shape " + array.shape.text() + " shows " + std::to_string(elements) +
                  " elements many times; save it with contiguous()");
  }
  array.offset = static_cast<uint64_t>(offset) * size_of(element);
  if (array.shape.elements() > 0 && !is_dense(array.shape, strides)) {
    array.strides = std::move(strides);
  }
  return array;
}

// (storage, offset, sizes, strides), then what gradients need, the kind where the storage has none,
// and flags.
PickleValue TorchObjects::rebuilt_tensor(const PickleValue& arguments, const Pickle& pickle,
                                         bool has_dtype) {
  const size_t count = arguments.items.size();
  const auto item = [&](size_t index) -> const PickleValue& {
    return pickle[arguments.items[index]];
  };
  const size_t flags = has_dtype ? 7 : 6;  // where they are, if at all
  if (count < (has_dtype ? 7 : 4) || count > flags + 1 || !is_object(item(0), TorchKind::storage)) {
    refuse_object("a tensor is made of something other than a storage, its place and its shape");
  }
  if (!is_count(item(1))) refuse_object("a tensor begins at no integer from 0 to 2^48");
  if (count > flags && item(flags).kind != Kind::none && !item(flags).items.empty()) {
    refuse_object("a tensor has flags that change its numbers (conjugated, negated)");
  }
  const auto index = static_cast<size_t>(item(0).integer);
  const TorchStorage& storage = storages_[index];
  if (has_dtype == storage.element.has_value() ||
      (has_dtype && !is_object(item(6), TorchKind::dtype))) {
    refuse_object("a tensor in storage " + in_quotes(storage.key) + " has two kinds or none");
  }
  const Element element =
      has_dtype ? kKnownNames[static_cast<size_t>(item(6).integer)].element : *storage.element;
  if (tensors_.size() == kMaxTorchTensors) {
    refuse_object("more than " + std::to_string(kMaxTorchTensors) + " tensors");
  }
  tensors_.push_back(
      {index, array_in(storage, element, item(1).integer, counts_of(item(2), pickle, "sizes"),
                       counts_of(item(3), pickle, "strides"))});
  return object_of(TorchKind::tensor, tensors_.size() - 1);
}

const TorchStorage* TorchObjects::find_storage(const std::string& key) const {
  const auto found = storage_by_key_.find(key);
  return found == storage_by_key_.end() ? nullptr : &storages_[found->second];
}

const TorchTensor* TorchObjects::tensor_of(const PickleValue& value) const {
  return is_object(value, TorchKind::tensor) ? &tensors_[static_cast<size_t>(value.integer)]
                                             : nullptr;
}

}  // namespace headlight::io
