// Recognising other formats by their first bytes.
#include "headlight/io/foreign.h"

#include <algorithm>
#include <string_view>

namespace headlight::io {
namespace {

constexpr uint64_t kLookedAt = 64;

bool is_pickle(std::string_view bytes) {
  // Protocols 2 to 5 start with the opcode PROTO and their number.
  return bytes.size() >= 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

bool is_html(std::string_view bytes) {
  bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
  std::string start(bytes.substr(0, 9));
  std::transform(start.begin(), start.end(), start.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return start == "<!doctype" || start.starts_with("<html");
}

}  // namespace

std::string foreign_format(const base::Input& input) {
  std::string start(std::min(input.size(), kLookedAt), '\0');
  input.read(0, std::as_writable_bytes(std::span(start)));
  if (is_pickle(start)) return "it is a Python pickle, which can run code; convert to safetensors";
  if (start.starts_with("PK\x03\x04")) {
    return "it is a zip archive (an .npz, or PyTorch's format, whose pickle can run code; convert "
           "to safetensors)";
  }
  if (start.starts_with("GGUF")) return "it is a GGUF file; convert to safetensors";
  if (start.starts_with("\x93NUMPY")) return "it is an .npy file; give it that ending";
  if (start.starts_with("version https://git-lfs")) {
    return "it is a Git-LFS pointer, not the file itself; fetch it with: git lfs pull";
  }
  if (is_html(start)) return "it is an HTML page; download the file itself";
  return "";
}

}  // namespace headlight::io
