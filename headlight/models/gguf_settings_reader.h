// Settings of a GGUF file that belong to its architecture, key by key; each mistake names the file
// and the key. Inside models only.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/io/io.h"

namespace headlight::models {

class GgufSettingsReader {
 public:
  // The file must outlive the reader. Throws Error(bad_input) where it names no architecture or is
  // not a whole model.
  explicit GgufSettingsReader(const io::Gguf& file);

  const io::Gguf& file() const noexcept { return file_; }
  const std::string& path() const noexcept { return path_; }
  const std::string& architecture() const noexcept { return architecture_; }

  // Keys are without the architecture: "attention.head_count". Where a file has a list, one number
  // for each layer, they must be the same.
  int64_t integer(std::string_view key) const;  // a missing one is an error
  std::optional<int64_t> find_integer(std::string_view key) const;
  std::optional<double> find_number(std::string_view key) const;
  double number(std::string_view key) const;
  std::optional<bool> find_boolean(std::string_view key) const;
  std::string text(std::string_view key) const;  // empty where there is none
  const io::Json* find(std::string_view key) const;
  // Says that a key is known and changes no number here.
  void pass(std::initializer_list<std::string_view> keys) const;

  // Throws for a key of the architecture that nobody has asked for.
  void refuse_unread() const;
  [[noreturn]] void refuse(std::string_view key, const std::string& why) const;

  // Rows of a tensor; an error where there is none.
  int64_t rows(std::string_view tensor) const;
  bool has(std::string_view tensor) const { return file_.find(tensor) != nullptr; }

 private:
  std::string full(std::string_view key) const;

  const io::Gguf& file_;
  std::string path_;
  std::string architecture_;
  mutable std::set<std::string, std::less<>> asked_;
};

}  // namespace headlight::models
