// XXH64 through the library's streaming interface.
#include "headlight/train/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace headlight::train {

struct Checksum::State {
  XXH64_state_t hash;
};

Checksum::Checksum() : state_(std::make_unique<State>()) { XXH64_reset(&state_->hash, 0); }
Checksum::~Checksum() = default;

void Checksum::add(std::span<const std::byte> bytes) {
  XXH64_update(&state_->hash, bytes.data(), bytes.size());
}

// The number goes first, so that two lists cannot pass for one.
void Checksum::add_ids(std::span<const int64_t> ids) {
  const auto count = static_cast<int64_t>(ids.size());
  add(std::as_bytes(std::span(&count, 1)));
  add(std::as_bytes(ids));
}

void Checksum::add(const data::TokenStream& tokens) {
  constexpr int64_t kPiece = int64_t{1} << 16;
  std::vector<int64_t> ids;
  for (int64_t first = 0; first < tokens.size(); first += kPiece) {
    ids.resize(static_cast<size_t>(std::min(kPiece, tokens.size() - first)));
    tokens.copy(first, ids);
    add_ids(ids);
  }
}

void Checksum::add(const data::PairSet& pairs) {
  for (int64_t pair = 0; pair < pairs.size(); ++pair) {
    add_ids(pairs.source(pair));
    add_ids(pairs.target(pair));
  }
}

std::string Checksum::text() const {
  constexpr char kDigits[] = "0123456789abcdef";
  const XXH64_hash_t sum = XXH64_digest(&state_->hash);
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[sum >> shift & 15];
  return text;
}

std::string file_sum(base::FileSystem& files, const std::string& path) {
  constexpr size_t kPiece = size_t{1} << 20;
  const auto input = base::open_input(files, path);
  std::vector<std::byte> piece(kPiece);
  Checksum sum;
  for (uint64_t offset = 0; offset < input->size(); offset += kPiece) {
    const auto bytes = std::span(piece).first(
        static_cast<size_t>(std::min<uint64_t>(kPiece, input->size() - offset)));
    input->read(offset, bytes);
    sum.add(bytes);
  }
  return sum.text();
}

}  // namespace headlight::train
