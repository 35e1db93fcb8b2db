// XXH64 sums: whether bytes are those that they were.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "headlight/data/data.h"

namespace headlight::train {

// The sum of all bytes that it is given, however they are cut.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  void add(std::span<const std::byte> bytes);
  // The ids of a text, or of pairs, and how many there are.
  void add(const data::TokenStream& tokens);
  void add(const data::PairSet& pairs);
  std::string text() const;  // 16 hexadecimal digits

 private:
  void add_ids(std::span<const int64_t> ids);

  struct State;
  std::unique_ptr<State> state_;
};

// Of a file's bytes.
std::string file_sum(base::FileSystem& files, const std::string& path);

}  // namespace headlight::train
