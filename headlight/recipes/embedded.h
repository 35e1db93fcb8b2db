// Models that come with Headlight: folders whose files are part of the library.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/base.h"

namespace headlight::recipes {

// All files of headlight/recipes/embedded.
const std::vector<base::EmbeddedFile>& embedded_files();

// Their names, sorted.
std::vector<std::string> embedded_models();

// The arguments of a command that shows what the model is for: {"translate", "thrones", "--text",
// ...}.
std::vector<std::string> embedded_example(std::string_view name);
// What its files take.
uint64_t embedded_bytes(std::string_view name);

// The operating system's files and, under "embedded:", those that come with Headlight, which can
// only be read.
class FilesWithEmbedded : public base::FileSystem {
 public:
  int open(const std::string& path, int flags, unsigned permissions) override;
  int close(int file) override;
  int64_t read(int file, uint64_t offset, std::span<std::byte> into) override;
  int status(int file, base::FileStatus& status) override;
  int path_status(const std::string& path, base::FileStatus& status) override;
  int read_link(const std::string& path, std::string& target) override;
  int list(const std::string& path, std::vector<std::string>& names) override;
};

// What the name of a model means: a path, of a folder or a file, or "embedded:NAME" where there is
// no such path and a model of this name comes with Headlight. Throws Error(bad_input) when there is
// neither.
std::string model_place(base::FileSystem& files, std::string argument);
// The same as a folder: where it is a file of weights, the folder that this lies in, with the
// model's configuration and tokenizer.
std::string model_folder(base::FileSystem& files, std::string argument);

}  // namespace headlight::recipes
