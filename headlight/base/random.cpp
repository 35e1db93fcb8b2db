// Numbers drawn from Philox blocks.
#include "headlight/base/random.h"

#include <cmath>
#include <numbers>

namespace headlight::base {
namespace {

__extension__ using Product = unsigned __int128;

PhiloxBlock block(uint64_t index, uint32_t purpose, uint64_t key) {
  return philox({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), purpose, 0},
                key);
}

uint64_t wide(const PhiloxBlock& numbers) { return (uint64_t{numbers[0]} << 32) | numbers[1]; }

}  // namespace

uint64_t mix(uint64_t a, uint64_t b) {
  const PhiloxBlock numbers =
      philox({static_cast<uint32_t>(b), static_cast<uint32_t>(b >> 32), 0x6d6978u, 0}, a);
  return wide(numbers);
}

uint64_t name_key(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

uint32_t Random::bits(uint64_t index) const { return block(index, 0, key_)[0]; }

float Random::uniform(uint64_t index) const {
  return static_cast<float>(bits(index) >> 8) * 0x1p-24f;
}

double Random::uniform64(uint64_t index) const {
  return static_cast<double>(wide(block(index, 1, key_)) >> 11) * 0x1p-53;
}

float Random::normal(uint64_t index) const {
  const PhiloxBlock numbers = block(index, 2, key_);
  const double radius = std::sqrt(-2.0 * std::log((numbers[0] + 0.5) * 0x1p-32));
  return static_cast<float>(radius *
                            std::cos(2.0 * std::numbers::pi * (numbers[1] + 0.5) * 0x1p-32));
}

uint64_t Random::below(uint64_t index, uint64_t bound) const {
  // The high half of a 64x64 product: its bias is below bound / 2^64.
  return static_cast<uint64_t>((Product{wide(block(index, 3, key_))} * bound) >> 64);
}

}  // namespace headlight::base
