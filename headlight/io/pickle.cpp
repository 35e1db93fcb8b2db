// The machine that a pickle is a program for: a stack of values, marks in it, and a memo. Of its
// operations those are known that numbers, texts, lists, tuples, dictionaries and tensors need.
#include "headlight/io/pickle.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace headlight::io {
namespace {

constexpr uint64_t kMaxPickle = 100'000'000;  // bytes
constexpr size_t kMaxPushes = 4'000'000;      // on the stack and into copies, in one pickle
constexpr size_t kMaxGlobalName = 256;        // characters

// Operations, under the names of Python's module pickletools.
enum class Operation : uint8_t {
  mark = '(',
  stop = '.',
  binfloat = 'G',
  binint = 'J',
  binint1 = 'K',
  binint2 = 'M',
  none = 'N',
  binpersid = 'Q',
  reduce = 'R',
  binstring = 'T',
  short_binstring = 'U',
  binunicode = 'X',
  append = 'a',
  build = 'b',
  global = 'c',
  appends = 'e',
  binget = 'h',
  long_binget = 'j',
  empty_list = ']',
  empty_tuple = ')',
  empty_dict = '}',
  binput = 'q',
  long_binput = 'r',
  setitem = 's',
  tuple = 't',
  setitems = 'u',
  proto = 0x80,
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  newtrue = 0x88,
  newfalse = 0x89,
  long1 = 0x8a,
  short_binunicode = 0x8c,
  binunicode8 = 0x8d,
  stack_global = 0x93,
  memoize = 0x94,
  frame = 0x95,
};

std::string operation_text(uint8_t operation) {
  constexpr const char* kDigits = "0123456789abcdef";
  return std::string("0x") + kDigits[operation / 16] + kDigits[operation % 16];
}

}  // namespace

const char* name_of(PickleValue::Kind kind) {
  switch (kind) {
    case PickleValue::Kind::none:
      return "None";
    case PickleValue::Kind::boolean:
      return "a boolean";
    case PickleValue::Kind::integer:
    case PickleValue::Kind::long_integer:
      return "an integer";
    case PickleValue::Kind::real:
      return "a number";
    case PickleValue::Kind::text:
      return "a text";
    case PickleValue::Kind::tuple:
      return "a tuple";
    case PickleValue::Kind::list:
      return "a list";
    case PickleValue::Kind::dictionary:
      return "a dictionary";
    case PickleValue::Kind::object:
      break;
  }
  return "an object";
}

class Unpickler {
 public:
  Unpickler(ByteReader& reader, PickleObjects& objects)
      : reader_(reader), objects_(objects), begin_(reader.position()) {}

  Pickle read() {
    if (next() != Operation::proto) refuse_pickle("it does not begin with its protocol");
    const int protocol = number<uint8_t>();
    if (protocol < 2 || protocol > 5) {
      refuse_pickle("its protocol is " + std::to_string(protocol) + ", 2 to 5 are read");
    }
    for (Operation operation = next(); operation != Operation::stop; operation = next()) {
      run(operation);
    }
    pickle_.root_ = pop();
    if (!stack_.empty() || !marks_.empty()) refuse_pickle("values are left over at its end");
    return std::move(pickle_);
  }

 private:
  using Kind = PickleValue::Kind;

  [[noreturn]] void refuse_pickle(const std::string& why) const {
    reader_.refuse("pickle, before byte " + std::to_string(reader_.position()) + ": " + why);
  }

  template <class T>
  T number() {
    return reader_.number<T>("a pickle");
  }
  // Before so many more bytes are read.
  void check_bytes(uint64_t more) const {
    const uint64_t read = reader_.position() - begin_;
    if (read <= kMaxPickle && more <= kMaxPickle - read) return;
    refuse_pickle("it has more than " + std::to_string(kMaxPickle) + " bytes");
  }
  Operation next() {
    check_bytes(1);
    last_ = number<uint8_t>();
    return static_cast<Operation>(last_);
  }

  void count_values(size_t more) {
    pushes_ += more;
    if (pushes_ <= kMaxPushes) return;
    refuse_pickle("it has more than " + std::to_string(kMaxPushes) + " values");
  }
  void push(PickleId id) {
    count_values(1);
    stack_.push_back(id);
  }
  void push(PickleValue value) {
    pickle_.values_.push_back(std::move(value));
    push(static_cast<PickleId>(pickle_.values_.size() - 1));
  }
  // Those above the last mark only: what is below it belongs to somebody else.
  PickleId pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) {
      refuse_pickle("operation " + operation_text(last_) + " finds no value");
    }
    const PickleId id = stack_.back();
    stack_.pop_back();
    return id;
  }
  PickleValue& top() {
    const PickleId id = pop();
    stack_.push_back(id);
    return pickle_.values_[id];
  }
  std::vector<PickleId> pop_to_mark() {
    if (marks_.empty()) refuse_pickle("operation " + operation_text(last_) + " finds no mark");
    std::vector<PickleId> items(stack_.begin() + static_cast<ptrdiff_t>(marks_.back()),
                                stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }

  void run(Operation operation) {
    switch (operation) {
      case Operation::mark:
        marks_.push_back(stack_.size());
        if (marks_.size() > kMaxPushes) refuse_pickle("it has too many marks");
        return;
      case Operation::none:
        return push(PickleValue{});
      case Operation::newtrue:
      case Operation::newfalse:
        return push({.kind = Kind::boolean, .integer = operation == Operation::newtrue});
      case Operation::binint:
        return push_integer(number<int32_t>());
      case Operation::binint1:
        return push_integer(number<uint8_t>());
      case Operation::binint2:
        return push_integer(number<uint16_t>());
      case Operation::long1:
        return push_long(reader_.text(number<uint8_t>(), "a pickle"));
      case Operation::binfloat:
        return push({.kind = Kind::real,
                     .real = std::bit_cast<double>(__builtin_bswap64(number<uint64_t>()))});
      case Operation::short_binstring:
      case Operation::short_binunicode:
        return push_text(number<uint8_t>());
      case Operation::binstring:
      case Operation::binunicode:
        return push_text(number<uint32_t>());
      case Operation::binunicode8:
        return push_text(number<uint64_t>());
      case Operation::frame:
        number<uint64_t>();  // how much to read ahead
        return;
      default:
        return run_on_values(operation);
    }
  }

  void run_on_values(Operation operation) {
    switch (operation) {
      case Operation::empty_list:
        return push({.kind = Kind::list});
      case Operation::empty_dict:
        return push({.kind = Kind::dictionary});
      case Operation::empty_tuple:
        return push({.kind = Kind::tuple});
      case Operation::tuple1:
        return push_tuple(1);
      case Operation::tuple2:
        return push_tuple(2);
      case Operation::tuple3:
        return push_tuple(3);
      case Operation::tuple:
        return push({.kind = Kind::tuple, .items = pop_to_mark()});
      case Operation::append:
        return extend(Kind::list, {pop()});
      case Operation::appends:
        return extend(Kind::list, pop_to_mark());
      case Operation::setitem: {
        const PickleId value = pop();
        return extend(Kind::dictionary, {pop(), value});
      }
      case Operation::setitems:
        return extend(Kind::dictionary, pop_to_mark());
      case Operation::binput:
        return remember(number<uint8_t>());
      case Operation::long_binput:
        return remember(number<uint32_t>());
      case Operation::memoize:
        return remember(static_cast<uint32_t>(memo_.size()));
      case Operation::binget:
        return recall(number<uint8_t>());
      case Operation::long_binget:
        return recall(number<uint32_t>());
      default:
        return run_on_objects(operation);
    }
  }

  void run_on_objects(Operation operation) {
    switch (operation) {
      case Operation::global: {
        const std::string module = reader_.line(kMaxGlobalName, "a name in a pickle");
        return push(objects_.global(module, reader_.line(kMaxGlobalName, "a name in a pickle")));
      }
      case Operation::stack_global: {
        const PickleId name = pop();
        const PickleId module = pop();
        if (pickle_[name].kind != Kind::text || pickle_[module].kind != Kind::text) {
          refuse_pickle("the name of a class is no text");
        }
        return push(objects_.global(pickle_[module].text, pickle_[name].text));
      }
      case Operation::reduce: {
        const PickleId arguments = pop();
        const PickleId function = pop();
        if (pickle_[arguments].kind != Kind::tuple || pickle_[function].kind != Kind::object) {
          refuse_pickle(std::string("it calls ") + name_of(pickle_[function].kind) + " with " +
                        name_of(pickle_[arguments].kind));
        }
        PickleValue made = objects_.call(pickle_[function], pickle_[arguments], pickle_);
        count_values(made.items.size());  // copies of what others hold too
        return push(std::move(made));
      }
      case Operation::binpersid:
        return push(objects_.persistent(pickle_[pop()], pickle_));
      case Operation::build:
        pop();
        if (top().kind != Kind::dictionary) {
          refuse_pickle(std::string("it gives attributes to ") + name_of(top().kind) +
                        "; only dictionaries may have some");
        }
        return;
      default:
        refuse_pickle("operation " + operation_text(last_) +
                      " makes something other than tensors, dictionaries, lists, tuples, numbers "
                      "and texts");
    }
  }

  void push_integer(int64_t value) { push({.kind = Kind::integer, .integer = value}); }

  // Two's complement, the lowest byte first.
  void push_long(std::string bytes) {
    if (bytes.size() > 8) return push({.kind = Kind::long_integer, .text = std::move(bytes)});
    const bool is_negative = !bytes.empty() && (bytes.back() & 0x80) != 0;
    bytes.resize(8, is_negative ? '\xff' : '\0');
    int64_t value;
    std::memcpy(&value, bytes.data(), sizeof value);
    push_integer(value);
  }

  void push_text(uint64_t size) {
    check_bytes(size);
    push({.kind = Kind::text, .text = reader_.text(size, "a text in a pickle")});
  }

  void push_tuple(size_t size) {
    std::vector<PickleId> items(size);
    for (size_t i = size; i > 0; --i) items[i - 1] = pop();
    push({.kind = Kind::tuple, .items = std::move(items)});
  }

  // The container below gets more.
  void extend(Kind kind, const std::vector<PickleId>& items) {
    PickleValue& container = top();
    if (container.kind != kind) {
      refuse_pickle(std::string("it adds to ") + name_of(container.kind) + " as to " +
                    name_of(kind));
    }
    if (kind == Kind::dictionary && items.size() % 2 != 0) refuse_pickle("a key has no value");
    container.items.insert(container.items.end(), items.begin(), items.end());
  }

  void remember(uint32_t place) {
    const PickleId id = pop();
    stack_.push_back(id);
    memo_[place] = id;
  }
  void recall(uint32_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) {
      refuse_pickle("it asks for value " + std::to_string(place) + ", which it has not kept");
    }
    push(found->second);
  }

  ByteReader& reader_;
  PickleObjects& objects_;
  uint64_t begin_;
  Pickle pickle_;
  std::vector<PickleId> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  std::unordered_map<uint32_t, PickleId> memo_;
  size_t pushes_ = 0;
  uint8_t last_ = 0;
};

Pickle read_pickle(ByteReader& reader, PickleObjects& objects) {
  return Unpickler(reader, objects).read();
}

}  // namespace headlight::io
