// The blocks of GGUF's quantised kinds. Each holds a float16 scale d, some a minimum m besides, and
// numbers of 4 to 8 bits; in K kinds, parts of a block have small scales of their own. Products and
// sums are rounded one by one, in the order written here: other orders give other last bits.
#include "headlight/io/quantized.h"

#include <bit>
#include <cstring>

#include "headlight/tensor/tensor.h"

namespace headlight::io {
namespace {

constexpr int kBlock = 32;
constexpr int kHalfBlock = 16;  // numbers whose low bits, or high bits, share bytes
constexpr int kLargeBlock = 256;

int byte_at(const std::byte* bytes, int index) { return std::to_integer<int>(bytes[index]); }
int signed_byte_at(const std::byte* bytes, int index) {
  return std::bit_cast<int8_t>(bytes[index]);
}
float half_at(const std::byte* bytes) {
  uint16_t bits;
  std::memcpy(&bits, bytes, sizeof bits);
  return tensor::from_float16(bits);
}
uint32_t word_at(const std::byte* bytes) {
  uint32_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Of 16 bytes: numbers 0 to 15 are the low halves, 16 to 31 the high ones.
int half_byte(const std::byte* bytes, int index) {
  return byte_at(bytes, index % 16) >> (index / 16 * 4) & 0xF;
}
// The same with a fifth bit from a word.
int five_bits(const std::byte* bytes, uint32_t fifth, int index) {
  return half_byte(bytes, index) | static_cast<int>(fifth >> index & 1) << 4;
}

void dequantize_q8_0(const std::byte* block, float* to) {
  const float d = half_at(block);
  for (int i = 0; i < kBlock; ++i) to[i] = d * static_cast<float>(signed_byte_at(block + 2, i));
}

void dequantize_q4_0(const std::byte* block, float* to) {
  const float d = half_at(block);
  for (int i = 0; i < kHalfBlock; ++i) {
    const int both = byte_at(block + 2, i);
    to[i] = d * static_cast<float>((both & 0xF) - 8);
    to[i + kHalfBlock] = d * static_cast<float>((both >> 4) - 8);
  }
}

void dequantize_q4_1(const std::byte* block, float* to) {
  const float d = half_at(block);
  const float m = half_at(block + 2);
  for (int i = 0; i < kHalfBlock; ++i) {
    const int both = byte_at(block + 4, i);
    to[i] = d * static_cast<float>(both & 0xF) + m;
    to[i + kHalfBlock] = d * static_cast<float>(both >> 4) + m;
  }
}

void dequantize_q5_0(const std::byte* block, float* to) {
  const float d = half_at(block);
  const uint32_t fifth = word_at(block + 2);
  for (int i = 0; i < kBlock; ++i) {
    to[i] = d * static_cast<float>(five_bits(block + 6, fifth, i) - 16);
  }
}

void dequantize_q5_1(const std::byte* block, float* to) {
  const float d = half_at(block);
  const float m = half_at(block + 2);
  const uint32_t fifth = word_at(block + 4);
  for (int i = 0; i < kBlock; ++i) {
    to[i] = d * static_cast<float>(five_bits(block + 8, fifth, i)) + m;
  }
}

// Scale and minimum, six bits each, of one of the eight parts of a block. The first four parts have
// theirs in bytes 0 to 3 and 4 to 7; of the others the low four bits are in bytes 8 to 11, the high
// two above those of the first four.
struct PartScales {
  float scale;
  float minimum;
};
PartScales part_scales(const std::byte* scales, int part) {
  if (part < 4) {
    return {static_cast<float>(byte_at(scales, part) & 0x3F),
            static_cast<float>(byte_at(scales, part + 4) & 0x3F)};
  }
  const int low = byte_at(scales, part + 4);
  return {static_cast<float>((low & 0xF) | (byte_at(scales, part - 4) >> 2 & 0x30)),
          static_cast<float>(low >> 4 | (byte_at(scales, part) >> 2 & 0x30))};
}

// Q4_K, and Q5_K where `fifth` holds a bit more of each number: eight parts of 32 numbers.
void dequantize_parts(const std::byte* block, const std::byte* fifth, const std::byte* low,
                      float* to) {
  const float d = half_at(block);
  const float m = half_at(block + 2);
  for (int part = 0; part < 8; ++part) {
    const PartScales scales = part_scales(block + 4, part);
    const float scale = d * scales.scale;
    const float minimum = m * scales.minimum;
    for (int i = 0; i < 32; ++i) {
      int number = byte_at(low, part / 2 * 32 + i) >> (part % 2 * 4) & 0xF;
      if (fifth != nullptr) number |= (byte_at(fifth, i) >> part & 1) << 4;
      to[part * 32 + i] = scale * static_cast<float>(number) - minimum;
    }
  }
}

void dequantize_q4_k(const std::byte* block, float* to) {
  dequantize_parts(block, nullptr, block + 16, to);
}

void dequantize_q5_k(const std::byte* block, float* to) {
  dequantize_parts(block, block + 16, block + 48, to);
}

// Sixteen parts of 16 numbers; four low bits of each in `low`, two high ones in `high`.
void dequantize_q6_k(const std::byte* block, float* to) {
  const std::byte* low = block;
  const std::byte* high = block + 128;
  const std::byte* scales = block + 192;
  const float d = half_at(block + 208);
  for (int i = 0; i < kLargeBlock; ++i) {
    const int half = i / 128;          // which 64 bytes of `low` and 32 of `high`
    const int quarter = i % 128 / 32;  // which bits of them
    const int four = byte_at(low, half * 64 + i % 64) >> (quarter / 2 * 4) & 0xF;
    const int two = byte_at(high, half * 32 + i % 32) >> (quarter * 2) & 3;
    const float scale = d * static_cast<float>(signed_byte_at(scales, i / 16));
    to[i] = scale * static_cast<float>((four | two << 4) - 32);
  }
}

using DequantizeBlock = void (*)(const std::byte* block, float* to);

DequantizeBlock function_for(Element element) {
  switch (element) {
    case Element::q8_0:
      return dequantize_q8_0;
    case Element::q4_0:
      return dequantize_q4_0;
    case Element::q4_1:
      return dequantize_q4_1;
    case Element::q5_0:
      return dequantize_q5_0;
    case Element::q5_1:
      return dequantize_q5_1;
    case Element::q4_k:
      return dequantize_q4_k;
    case Element::q5_k:
      return dequantize_q5_k;
    default:
      return dequantize_q6_k;
  }
}

}  // namespace

float* dequantize(Element element, std::span<const std::byte> blocks, float* to) {
  const DequantizeBlock dequantize_block = function_for(element);
  const size_t size = size_of(element);
  for (size_t begin = 0; begin + size <= blocks.size(); begin += size) {
    dequantize_block(blocks.data() + begin, to);
    to += block_of(element);
  }
  return to;
}

}  // namespace headlight::io
