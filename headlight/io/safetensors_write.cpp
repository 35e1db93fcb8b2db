// Writing safetensors.
#include <algorithm>
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

std::vector<const PromisedTensor*> in_file_order(const std::string& path,
                                                 const std::vector<PromisedTensor>& tensors) {
  std::vector<const PromisedTensor*> order;
  for (const PromisedTensor& promised : tensors) order.push_back(&promised);
  std::sort(order.begin(), order.end(),
            [](const PromisedTensor* a, const PromisedTensor* b) { return a->name < b->name; });
  for (size_t i = 0; i < order.size(); ++i) {
    const std::string& name = order[i]->name;
    if (name == kMetadataName || (i > 0 && order[i - 1]->name == name)) {
      throw Error(ErrorKind::bad_input, "safetensors", path,
                  "the name " + in_quotes(name) +
                      (name == kMetadataName ? " is reserved" : " is given twice"));
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const PromisedTensor* a, const PromisedTensor* b) {
                     return tensor::size_of(a->dtype) > tensor::size_of(b->dtype);
                   });
  return order;
}

// With spaces at its end, so that the numbers after it are aligned.
std::string header_of(const std::vector<const PromisedTensor*>& order, const Metadata& metadata) {
  Json::Object members;
  if (!metadata.empty()) {
    Json::Object texts;
    for (const auto& [key, value] : metadata) texts.emplace_back(key, value);
    members.emplace_back(kMetadataName, std::move(texts));
  }
  size_t offset = 0;
  for (const PromisedTensor* promised : order) {
    const auto sizes = promised->shape.sizes();
    const size_t bytes =
        static_cast<size_t>(promised->shape.elements()) * tensor::size_of(promised->dtype);
    Json::Object fields;
    fields.emplace_back("dtype", name_of(element_of(promised->dtype)));
    fields.emplace_back("shape", Json::Array(sizes.begin(), sizes.end()));
    fields.emplace_back("data_offsets", Json::Array{offset, offset + bytes});
    members.emplace_back(promised->name, std::move(fields));
    offset += bytes;
  }
  std::string text = json_text(std::move(members));
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  return text;
}

std::vector<PromisedTensor> promised(const std::vector<NamedTensor>& tensors) {
  std::vector<PromisedTensor> all;
  for (const NamedTensor& named : tensors) {
    const Tensor& tensor = named.tensor;
    all.push_back({named.name, tensor.dtype(), tensor.shape(), [&tensor] { return tensor; }});
  }
  return all;
}

}  // namespace

void write_promised_safetensors(base::Output& output, const std::string& name,
                                const std::vector<PromisedTensor>& tensors,
                                const Metadata& metadata) {
  const std::vector<const PromisedTensor*> order = in_file_order(name, tensors);
  const std::string header = header_of(order, metadata);
  if (header.size() > kMaxSafetensorsHeader) {
    throw Error(ErrorKind::failed, "safetensors", name,
                "the header would have " + std::to_string(header.size()) + " bytes, at most " +
                    std::to_string(kMaxSafetensorsHeader) + " are read");
  }
  const uint64_t length = header.size();
  output.write(std::as_bytes(std::span(&length, 1)));
  output.write(header);
  for (const PromisedTensor* promised : order) {
    const Tensor data = promised->load().contiguous();
    output.write(std::span<const std::byte>(data.raw(), data.bytes()));
  }
}

void write_promised_safetensors(base::FileSystem& files, const std::string& path,
                                const std::vector<PromisedTensor>& tensors,
                                const Metadata& metadata) {
  base::write_file(files, path, [&](base::Output& output) {
    write_promised_safetensors(output, path, tensors, metadata);
  });
}

void write_safetensors(base::Output& output, const std::string& name,
                       const std::vector<NamedTensor>& tensors, const Metadata& metadata) {
  write_promised_safetensors(output, name, promised(tensors), metadata);
}

void write_safetensors(base::FileSystem& files, const std::string& path,
                       const std::vector<NamedTensor>& tensors, const Metadata& metadata) {
  write_promised_safetensors(files, path, promised(tensors), metadata);
}

}  // namespace headlight::io
