// Symbols in a chain, of which neighbours become one. For text's own use.
#pragma once

#include <cstdint>
#include <vector>

namespace headlight::text {

class Chain {
 public:
  static constexpr int32_t kNone = -1;

  void reserve(size_t size) { symbols_.reserve(size); }
  int32_t size() const { return static_cast<int32_t>(symbols_.size()); }  // with those merged away
  int32_t id(int32_t place) const { return at(place).id; }
  int32_t previous(int32_t place) const { return at(place).previous; }
  int32_t next(int32_t place) const { return at(place).next; }

  // A symbol after the last one, or one with which a new chain begins.
  void add(int32_t id, bool is_first) {
    symbols_.push_back({id, is_first ? kNone : size() - 1, kNone});
    if (!is_first) symbols_[symbols_.size() - 2].next = size() - 1;
  }

  // Appends the ids from the first symbol on.
  template <class Ids>
  void append_to(Ids& ids) const {
    for (int32_t place = symbols_.empty() ? kNone : 0; place != kNone; place = next(place)) {
      ids.push_back(id(place));
    }
  }

  // Whether the pair still begins here: a merge may have taken either half.
  bool holds(int32_t place, int32_t left, int32_t right) const {
    return at(place).id == left && at(place).next != kNone && at(at(place).next).id == right;
  }

  // The symbol here and its next become one.
  void merge(int32_t place, int32_t result) {
    Symbol& left = at(place);
    Symbol& right = at(left.next);
    left = {result, left.previous, right.next};
    right = {kNone, kNone, kNone};
    if (left.next != kNone) at(left.next).previous = place;
  }

 private:
  struct Symbol {
    int32_t id;
    int32_t previous;
    int32_t next;
  };

  Symbol& at(int32_t place) { return symbols_[static_cast<size_t>(place)]; }
  const Symbol& at(int32_t place) const { return symbols_[static_cast<size_t>(place)]; }

  std::vector<Symbol> symbols_;
};

// A pair of ids as one number, in the order of the pairs.
inline uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

}  // namespace headlight::text
