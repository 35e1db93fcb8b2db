// Array files by their ending.
#include "headlight/io/arrays.h"

#include <optional>

#include "headlight/io/csv.h"
#include "headlight/io/json_array.h"
#include "headlight/io/npy.h"
#include "headlight/io/safetensors.h"

namespace headlight::io {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::Tensor;

constexpr std::string_view kSafetensors = ".safetensors";

enum class Format { npy, safetensors, json, csv };

std::optional<Format> known_format(std::string_view path) {
  if (path.ends_with(".npy")) return Format::npy;
  if (path.ends_with(kSafetensors)) return Format::safetensors;
  if (path.ends_with(".json")) return Format::json;
  if (path.ends_with(".csv")) return Format::csv;
  return std::nullopt;
}

Format format_of(const std::string& path) {
  if (const auto format = known_format(path)) return *format;
  throw Error(ErrorKind::usage, "array", path,
              "its ending is none of .npy, .safetensors, .json and .csv");
}

// What is about to be held, `copies` times.
void check_array_memory(base::FileSystem& files, const StoredArray& array, int copies,
                        const std::string& path) {
  const double bytes = static_cast<double>(array.shape.elements()) *
                       static_cast<double>(tensor::size_of(dtype_of(array.element)));
  base::check_memory(files, copies * bytes, "array " + array.shape.text(), path);
}

Tensor read_safetensors(base::FileSystem& files, const ArrayPlace& place) {
  const Safetensors tensors = open_safetensors(files, place.path);
  const bool is_only = place.name.empty() && tensors.entries().size() == 1;
  const Safetensors::Entry* entry = is_only ? &tensors.entries().front() : tensors.find(place.name);
  if (entry != nullptr) {
    check_array_memory(files, entry->array, 1, place.path);
    return tensors.load(*entry);
  }
  if (!place.name.empty()) return tensors.load(place.name);
  throw Error(ErrorKind::bad_input, "safetensors", place.path,
              tensors.names_text() + "; pick one with " + std::string(kSafetensors) + ":NAME");
}

}  // namespace

ArrayPlace split_place(const std::string& place) {
  const size_t ending = place.find(std::string(kSafetensors) + ":");
  if (ending == std::string::npos) return {place, ""};
  const size_t colon = ending + kSafetensors.size();
  return {place.substr(0, colon), place.substr(colon + 1)};
}

bool is_array_place(const std::string& place) {
  return known_format(split_place(place).path).has_value();
}

Tensor read_array(base::FileSystem& files, const std::string& place) {
  const ArrayPlace parts = split_place(place);
  const Format format = format_of(parts.path);
  if (format == Format::safetensors) return read_safetensors(files, parts);
  const std::unique_ptr<base::Input> input = base::open_input(files, parts.path);
  if (format == Format::npy) {
    const NpyArray npy = open_npy(*input);
    check_array_memory(files, npy.array, npy.is_fortran_order ? 2 : 1, parts.path);
    return load_npy(*input, npy);
  }
  // As text, and as numbers of hardly less.
  base::check_memory(files, 2.0 * static_cast<double>(input->size()), "array", parts.path);
  return format == Format::json ? read_json_array(*input) : read_csv(*input);
}

void check_rank_fits(const std::string& place, int rank) {
  const std::string path = split_place(place).path;
  if (format_of(path) != Format::csv || rank == 2) return;
  throw Error(ErrorKind::bad_input, "array", path,
              "a .csv file has rows and columns, rank 2, and the array has rank " +
                  std::to_string(rank) + "; .npy, .safetensors and .json hold any");
}

void write_array(base::FileSystem& files, const std::string& place, const Tensor& array) {
  check_rank_fits(place, array.rank());
  const ArrayPlace parts = split_place(place);
  const Format format = format_of(parts.path);
  if (format == Format::safetensors) {
    const std::string name = parts.name.empty() ? "array" : parts.name;
    return write_safetensors(files, parts.path, {{name, array}});
  }
  base::write_file(files, parts.path, [&](base::Output& output) {
    if (format == Format::npy) return write_npy(output, array);
    if (format == Format::csv) return write_csv(output, array);
    write_json_array(output, array);
    output.write("\n");
  });
}

}  // namespace headlight::io
