// Writing safetensors.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "headlight/io/json.h"
#include "headlight/io/safetensors.h"
#include "headlight/io/safetensors_header.h"
#include "headlight/io/utf8.h"

namespace headlight::io {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::DType;
using tensor::Tensor;

constexpr size_t kAlignment = 8;

Element element_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return Element::f32;
    case DType::f16:
      return Element::f16;
    case DType::bf16:
      return Element::bf16;
    case DType::i64:
      return Element::i64;
    case DType::boolean:
      return Element::boolean;
  }
  return Element::f32;
}

std::vector<const NamedTensor*> in_file_order(const std::string& path,
                                              const std::vector<NamedTensor>& tensors) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& named : tensors) order.push_back(&named);
  std::sort(order.begin(), order.end(),
            [](const NamedTensor* a, const NamedTensor* b) { return a->name < b->name; });
  for (size_t i = 0; i < order.size(); ++i) {
    assert(order[i]->tensor.defined());
    const std::string& name = order[i]->name;
    if (name == kMetadataName || (i > 0 && order[i - 1]->name == name)) {
      throw Error(ErrorKind::bad_input, "safetensors", path,
                  "the name " + in_quotes(name) +
                      (name == kMetadataName ? " is reserved" : " is given twice"));
    }
  }
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return tensor::size_of(a->tensor.dtype()) > tensor::size_of(b->tensor.dtype());
  });
  return order;
}

// With spaces at its end, so that the numbers after it are aligned.
std::string header_of(const std::vector<const NamedTensor*>& order, const Metadata& metadata) {
  Json::Object members;
  if (!metadata.empty()) {
    Json::Object texts;
    for (const auto& [key, value] : metadata) texts.emplace_back(key, value);
    members.emplace_back(kMetadataName, std::move(texts));
  }
  size_t offset = 0;
  for (const NamedTensor* named : order) {
    const Tensor& tensor = named->tensor;
    const auto sizes = tensor.shape().sizes();
    Json::Object fields;
    fields.emplace_back("dtype", name_of(element_of(tensor.dtype())));
    fields.emplace_back("shape", Json::Array(sizes.begin(), sizes.end()));
    fields.emplace_back("data_offsets", Json::Array{offset, offset + tensor.bytes()});
    members.emplace_back(named->name, std::move(fields));
    offset += tensor.bytes();
  }
  std::string text = json_text(std::move(members));
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  return text;
}

}  // namespace

void write_safetensors(base::Output& output, const std::string& name,
                       const std::vector<NamedTensor>& tensors, const Metadata& metadata) {
  const std::vector<const NamedTensor*> order = in_file_order(name, tensors);
  const std::string header = header_of(order, metadata);
  if (header.size() > kMaxSafetensorsHeader) {
    throw Error(ErrorKind::failed, "safetensors", name,
                "the header would have " + std::to_string(header.size()) + " bytes, at most " +
                    std::to_string(kMaxSafetensorsHeader) + " are read");
  }
  const uint64_t length = header.size();
  output.write(std::as_bytes(std::span(&length, 1)));
  output.write(header);
  for (const NamedTensor* named : order) {
    const Tensor data = named->tensor.contiguous();
    output.write(std::span<const std::byte>(data.raw(), data.bytes()));
  }
}

void write_safetensors(base::FileSystem& files, const std::string& path,
                       const std::vector<NamedTensor>& tensors, const Metadata& metadata) {
  base::write_file(files, path, [&](base::Output& output) {
    write_safetensors(output, path, tensors, metadata);
  });
}

}  // namespace headlight::io
