// Which numbers a page holds, and in what letters.
#include "headlight/narrate/page_values.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <utility>

#include "headlight/io/io.h"

namespace headlight::narrate {
namespace {

using explain::Trace;
using explain::TracedTensor;
using io::Json;
using tensor::Tensor;

// A run of so many numbers is held whole. Of a larger one a page has as much as can be sent and
// opened at once, a megabyte.
constexpr int64_t kMostWhole = int64_t{1} << 19;
constexpr int64_t kMostOfLarge = 200'000;

// The bytes of floats, the lowest first, in letters of base 64: half as long as their digits, and
// the same bits.
void append_floats(std::string& text, const float* values, int64_t count) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint32_t bits = 0;
  int held = 0;  // of the bits
  const auto put = [&] { text += kLetters[(bits >> (held -= 6)) & 63]; };
  text += '"';
  for (int64_t i = 0; i < count; ++i) {
    const auto number = std::bit_cast<uint32_t>(values[i]);
    for (int byte = 0; byte < 4; ++byte) {
      bits = bits << 8 | (number >> (8 * byte) & 255);
      held += 8;
      while (held >= 6) put();
    }
  }
  if (held > 0) {
    bits <<= 6 - held;
    held = 6;
    put();
  }
  text.append((3 - 4 * static_cast<size_t>(count) % 3) % 3, '=').append("\"");
}

bool has_same_bits(const Tensor& a, const Tensor& b) {
  const Tensor first = a.contiguous();
  const Tensor second = b.contiguous();
  return first.dtype() == second.dtype() && first.bytes() == second.bytes() &&
         std::memcmp(first.raw(), second.raw(), first.bytes()) == 0;
}

// Without axes of one position, which change nothing to be seen.
std::vector<int64_t> seen_sizes(const tensor::Shape& shape) {
  std::vector<int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  std::erase(sizes, 1);
  return sizes;
}

// The tensor whose numbers this one passes on as they are: of what it was made of, the first that
// has its sizes and its bits. Empty: none.
std::string source_of(const Trace& trace, const TracedTensor& tensor) {
  if (tensor.shape.elements() > kMostOnPage) return "";
  for (const explain::Operand& operand : tensor.operands) {
    const TracedTensor& from = trace.at(operand.name);
    const bool is_alike =
        !from.is_parameter() && seen_sizes(from.shape) == seen_sizes(tensor.shape);
    if (is_alike && has_same_bits(trace.values(tensor.name), trace.values(from.name))) {
      return from.name;
    }
  }
  return "";
}

// Of tensors that a page may hold.
int64_t numbers_of(const Trace& trace) {
  int64_t sum = 0;
  for (const auto* tensors : {&trace.tensors(), &trace.parameters()}) {
    for (const TracedTensor& tensor : *tensors) {
      if (tensor.shape.elements() <= kMostOnPage) sum += tensor.shape.elements();
    }
  }
  return sum;
}

}  // namespace

std::string page_numbers(const Tensor& values) {
  const Tensor dense = values.contiguous();
  const int64_t count = dense.shape().elements();
  if (values.dtype() == tensor::DType::i64) {
    return io::json_text(Json::Array(dense.data<int64_t>(), dense.data<int64_t>() + count));
  }
  std::string text;
  append_floats(text, dense.data<float>(), count);
  return text;
}

PassedOn passed_on(const Trace& trace) {
  PassedOn passed;
  for (const TracedTensor& tensor : trace.tensors()) {
    std::string from = source_of(trace, tensor);
    if (!from.empty()) passed.emplace(tensor.name, std::move(from));
  }
  return passed;
}

bool is_whole_on_page(const Trace& trace) { return numbers_of(trace) <= kMostWhole; }

std::string page_values(const Trace& trace, const PassedOn& passed) {
  std::set<std::string_view> chosen;
  int64_t sum = 0;
  const int64_t most = is_whole_on_page(trace) ? kMostWhole : kMostOfLarge;
  const auto choose = [&](const std::vector<TracedTensor>& tensors, bool weights_only) {
    for (const TracedTensor& tensor : tensors) {
      const int64_t count = tensor.shape.elements();
      const bool wanted = !weights_only || tensor.is_attention;
      if (!wanted || passed.contains(tensor.name)) continue;
      if (count > kMostOnPage || sum + count > most) continue;
      if (chosen.insert(tensor.name).second) sum += count;
    }
  };
  choose(trace.tensors(), true);
  choose(trace.tensors(), false);
  choose(trace.parameters(), false);
  std::string text = "{";
  for (const std::string_view name : chosen) {
    if (text.size() > 1) text += ',';
    text += io::json_text(Json(name)) + ":" + page_numbers(trace.values(name));
  }
  return text + "}";
}

}  // namespace headlight::narrate
