// Files of PyTorch and of the package gguf hold the numbers here that they hold there, to the bit.
// Needs a Python that has them, named by the variable HEADLIGHT_PYTHON.
#include <cstdlib>
#include <filesystem>

#include "tests/base/temporary_folder.h"
#include "tests/io/bad_files.h"
#include "tests/io/same_tensors.h"
#include "tests/places.h"

namespace headlight::io {
namespace {

class ReferenceFiles : public testing::Test {
 protected:
  // Has the script write its files; skips where Python lacks one of these packages.
  void write(const std::string& action, const std::string& packages) {
    const char* python = std::getenv("HEADLIGHT_PYTHON");
    if (python == nullptr) GTEST_SKIP() << "HEADLIGHT_PYTHON names no Python that has " << packages;
    const std::string said = " > '" + folder_ / "said" + "' 2>&1";
    const std::string command = "'" + std::string(python) + "' ";
    if (std::system((command + "-c 'import " + packages + "'" + said).c_str()) != 0) {
      GTEST_SKIP() << python << " has not all of " << packages;
    }
    ASSERT_EQ(
        std::system((command + "'" + tests::source_folder() + "/tests/io/reference_files.py' " +
                     action + " '" + folder_.path() + "'" + said)
                        .c_str()),
        0)
        << folder_.get("said");
  }

  // Each file with this ending is compared with the .safetensors file of its name.
  template <class Open>
  void compare(const std::string& ending, const Open& open) {
    int files = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
      if (file.path().extension() != ending) continue;
      SCOPED_TRACE(file.path().filename().string());
      std::filesystem::path expected = file.path();
      expected.replace_extension(".safetensors");
      expect_same_tensors(open(file.path().string()),
                          open_tensors(base::real_files(), expected.string()));
      ++files;
    }
    EXPECT_EQ(files, 20);
  }

  test::TemporaryFolder folder_;
};

TEST_F(ReferenceFiles, of_torch_hold_the_same_numbers) {
  write("torch", "torch, safetensors");
  if (IsSkipped() || HasFatalFailure()) return;
  compare(".pt", [](const std::string& path) { return open_tensors(base::real_files(), path); });
}

TEST_F(ReferenceFiles, of_gguf_hold_the_same_numbers) {
  write("gguf", "gguf, safetensors");
  if (IsSkipped() || HasFatalFailure()) return;
  compare(".gguf", [](const std::string& path) { return open_gguf(base::real_files(), path); });
}

}  // namespace
}  // namespace headlight::io
