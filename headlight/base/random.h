// Counter-based random numbers: Philox4x32-10. A number depends only on its key and its counter, so
// a state is (seed, step) and any element can be drawn alone, in any order, on any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace headlight::base {

using PhiloxBlock = std::array<uint32_t, 4>;

// Ten rounds of Philox over the counter with the key; four independent 32-bit numbers.
constexpr PhiloxBlock philox(PhiloxBlock counter, uint64_t key) {
  uint32_t key_0 = static_cast<uint32_t>(key);
  uint32_t key_1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product_0 = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t product_1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(product_1 >> 32) ^ counter[1] ^ key_0,
               static_cast<uint32_t>(product_1),
               static_cast<uint32_t>(product_0 >> 32) ^ counter[3] ^ key_1,
               static_cast<uint32_t>(product_0)};
    key_0 += 0x9E3779B9u;
    key_1 += 0xBB67AE85u;
  }
  return counter;
}

// Mixes two numbers into one key; used to derive a key from seed, step and layer.
uint64_t mix(uint64_t a, uint64_t b);
// A key for a name, e.g. of a layer.
uint64_t name_key(std::string_view name);

// A stream of numbers for initialisation, shuffling and sampling: element `index` of stream `key`.
class Random {
 public:
  explicit Random(uint64_t key) : key_(key) {}
  uint32_t bits(uint64_t index) const;
  float uniform(uint64_t index) const;                   // [0, 1), multiples of 2^-24
  double uniform64(uint64_t index) const;                // [0, 1), multiples of 2^-53
  float normal(uint64_t index) const;                    // mean 0, deviation 1 (Box-Muller)
  uint64_t below(uint64_t index, uint64_t bound) const;  // [0, bound), bound > 0

 private:
  uint64_t key_;
};

}  // namespace headlight::base
