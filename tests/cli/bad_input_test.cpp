// Command lines that are right and files that are not: exit 3, one line, nothing written.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <sstream>

#include "tests/base/temporary_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"

namespace headlight::test {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

struct BadInput {
  std::string arguments;  // words, separated by spaces; files lie in the test's folder
  std::string part;
};

// Shapes that do not fit, each file fine by itself.
const std::vector<BadInput> kShapes = {
    {"--query x24.npy --heads 5", "24"},
    {"--query x24.npy --heads 5", "5 heads"},
    {"--query x24.npy --heads 4 --kv-heads 2", "width of a head is 12, the query has 6"},
    {"--query vector.npy", "shape is [4], (T,C), (B,T,C) or (B,H,T,D) is needed"},
    {"--query scalar.npy", "shape is []"},
    {"--query five.npy", "shape is [1, 1, 1, 1, 1]"},
    {"--query x24.npy --key x2.npy", "shape is [3, 4], the query has rank 3"},
    {"--query x24.npy --key other_batch.npy", "batch is 3, the query has 2"},
    {"--query x24.npy --key narrow.npy", "width of a head is 20, the query has 24"},
    {"--query x24.npy --key x24.npy --value short.npy", "number of rows is 2, the key has 3"},
    {"--query split.npy --heads 5", "--heads (5): the query has 6 heads"},
    {"--query split.npy --heads 1", "--heads (1): the query has 6 heads"},
    {"--query split.npy --kv-heads 3", "--kv-heads (3): the key has 6 heads"},
    {"--query split.npy --weights module.safetensors", "with --weights (T,C) or (B,T,C)"},
    {"--query x24.npy --keep-mask ones.json", "shape is [1, 2], [3, 3] with any axis 1"},
    {"--query x24.npy --forbid-mask vector.npy", "forbid"},
    {"--query x24.npy --keep-mask x24.npy", "keep-mask"},
    {"--query x24.npy --bias m35.npy", "bias"},
    {"--query x24.npy --head-gates vector.npy", "[1] or [2, 1]"},
    {"--query x24.npy --valid-lens 3", "shape is [1], [2] or [2, 3]"},
    {"--query x24.npy --valid-lens 3,4", "4 at position 1 is not within 0 and 3"},
    {"--query x24.npy --valid-lens 3,2,1", "shape is [3]"},
    {"--query x24.npy --valid-lens negative.json", "-1 at position 1"},
    {"--query x24.npy --valid-lens half.json", "element 1 is 1.5"},
    {"--query x24.npy --causal --past 1,2,3", "shape is [3], [2]"},
    {"--query x24.npy --causal --past far.json", "--past (far.json): number 1 is"},
    {"--query x24.npy --grad-out x2.npy --grads out/g.safetensors",
     "--grad-out (x2.npy): shape is [3, 4], the output has [2, 3, 24]"},
    {"--query x24.npy --out out/y.csv", "csv"},
};

// Modules that do not fit.
const std::vector<BadInput> kModules = {
    {"--query x24.npy --weights module.safetensors --heads 5", "24"},
    {"--query narrow.npy --weights module.safetensors --heads 4", "20"},
    {"--query x24.npy --weights module.safetensors:h.0", R"(no tensor's name starts so)"},
    {"--query x24.npy --weights square.safetensors --heads 4", "layout"},
    {"--query x24.npy --weights module.safetensors --layout torch --heads 4", "proj_weight"},
    {"--query x24.npy --weights module.safetensors --scoring additive", "W_q.weight"},
    {"--query x24.npy --weights nothing.safetensors", "the file holds no tensors"},
    {"--query x24.npy --weights missing.safetensors", "missing.safetensors"},
    {"--query x24.npy --weights pickle.bin", "pickle"},
    {"--query x24.npy --weights integers.safetensors --layout fused", "c_attn.weight"},
};

// Files that are not what their ending says.
const std::vector<BadInput> kFiles = {
    {"--query missing.npy", "missing.npy"},
    {"--query no/such/folder.npy", "no/such/folder.npy"},
    {"--query folder.npy", "directory"},
    {"--query pipe.npy", "pipe"},
    {"--query /dev/null.npy", "/dev/null.npy"},
    {"--query x2.npy/y.npy", "x2.npy/y.npy"},
    {"--query empty.npy", "empty.npy"},
    {"--query text.npy", "text.npy"},
    {"--query cut.npy", "cut.npy"},
    {"--query huge.npy", "huge.npy"},
    {"--query object.npy", "object.npy"},
    {"--query page.safetensors", "page.safetensors"},
    {"--query pointer.safetensors", "LFS"},
    {"--query three.safetensors", "3 bytes"},
    {"--query long.safetensors", "long.safetensors"},
    {"--query module.safetensors", "pick one"},
    {"--query module.safetensors:c_atn.weight", "c_attn"},
    {"--query nothing.safetensors", "nothing.safetensors"},
    {"--query empty.json", "empty.json"},
    {"--query ragged.json", "ragged.json"},
    {"--query words.json", "words.json"},
    {"--query null.json", "null"},
    {"--query deep.json", "deep.json"},
    {"--query twice.json", "twice.json"},
    {"--query empty.csv", "empty.csv"},
    {"--query ragged.csv", "ragged.csv"},
    {"--query words.csv", "words.csv"},
    {"--query bytes.csv", "bytes.csv"},
    {"--query x24.npy --key missing.json", "missing.json"},
    {"--query x24.npy --valid-lens words.json", "words.json"},
    {"--query x24.npy --head-gates cut.npy", "cut.npy"},
};

class BadInputTest : public testing::Test {
 protected:
  void SetUp() override {
    write("x2.npy", {3, 4});
    write("x24.npy", {2, 3, 24});
    write("other_batch.npy", {3, 3, 24});
    write("narrow.npy", {2, 3, 20});
    write("short.npy", {2, 2, 24});
    write("split.npy", {2, 6, 7, 8});
    write("vector.npy", {4});
    write("scalar.npy", {});
    write("five.npy", {1, 1, 1, 1, 1});
    write("m35.npy", {3, 5});
    write_state("module.safetensors", {{"c_attn.weight", {72, 24}}, {"c_proj.weight", {24, 24}}});
    write_state("square.safetensors", {{"c_attn.weight", {24, 24}}});
    write_state("nothing.safetensors", {});
    io::write_safetensors(base::real_files(), folder_ / "integers.safetensors",
                          {{"c_attn.weight", Tensor::zeros(DType::i64, {72, 24})}});
    write_broken_files();
    std::filesystem::create_directory(folder_ / "out");
    std::filesystem::create_directory(folder_ / "folder.npy");
    mkfifo((folder_ / "pipe.npy").c_str(), 0600);
  }

  void write_broken_files() {
    const std::string npy = folder_.get("x24.npy");
    folder_.put("empty.npy", "");
    folder_.put("text.npy", "1 2 3\n4 5 6\n");
    folder_.put("cut.npy", npy.substr(0, npy.size() - 1));
    folder_.put("huge.npy", npy_header("'<f4'", "(4194305, 4194305, 4194305)"));
    folder_.put("object.npy", npy_header("'|O'", "(2, 2)"));
    folder_.put("page.safetensors", "<!DOCTYPE html><html><body>Sign in</body></html>");
    folder_.put("pointer.safetensors",
                "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 12345\n");
    folder_.put("three.safetensors", "abc");
    folder_.put("long.safetensors", std::string(7, '\xff') + std::string(100, ' '));
    folder_.put("pickle.bin", "\x80\x04\x95" + std::string(64, 'q'));
    folder_.put("ones.json", "[[1, 1]]");
    folder_.put("negative.json", "[3, -1]");
    folder_.put("half.json", "[3, 1.5]");
    folder_.put("far.json", "[0, 9223372036854775807]");
    folder_.put("empty.json", "");
    folder_.put("ragged.json", "[[1, 2], [3]]");
    folder_.put("words.json", R"([["one", "two"]])");
    folder_.put("null.json", "[[1, null]]");
    folder_.put("deep.json", std::string(100000, '['));
    folder_.put("twice.json", "[[1, 2]] [[3, 4]]");
    folder_.put("empty.csv", "");
    folder_.put("ragged.csv", "1,2\n3\n");
    folder_.put("words.csv", "width,height\n1,2\n");
    folder_.put("bytes.csv", std::string("\x00\x01\xff\n", 4));
  }

  static std::string npy_header(const std::string& dtype, const std::string& shape) {
    std::string header =
        "{'descr': " + dtype + ", 'fortran_order': False, 'shape': " + shape + ", }";
    header.resize(117, ' ');
    return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n";
  }

  void write(const std::string& name, const Shape& shape) { write_numbers(folder_ / name, shape); }

  void write_state(const std::string& name,
                   const std::vector<std::pair<std::string, Shape>>& shapes) {
    std::vector<io::NamedTensor> tensors;
    for (const auto& [tensor, shape] : shapes) {
      tensors.push_back({tensor, Tensor::zeros(DType::f32, shape)});
    }
    io::write_safetensors(base::real_files(), folder_ / name, tensors);
  }

  // File names of the table, made whole; numbers and option names stay.
  std::vector<std::string> words_of(const std::string& arguments) const {
    std::vector<std::string> words = {"attend"};
    std::istringstream stream(arguments);
    for (std::string word; stream >> word;) {
      const bool is_file = word.find('.') != std::string::npos && word[0] != '/';
      words.push_back(is_file ? folder_ / word : word);
    }
    return words;
  }

  void expect_refused(const std::vector<BadInput>& cases) {
    for (const BadInput& bad : cases) {
      SCOPED_TRACE("headlight attend " + bad.arguments);
      std::vector<std::string> words = words_of(bad.arguments);
      if (bad.arguments.find("--out ") == std::string::npos) {
        words.insert(words.end(), {"--out", folder_ / "out/y.npy"});
      }
      words.insert(words.end(), {"--trace", folder_ / "out/t.safetensors"});
      ProgramRun run = run_program(words);
      // The table has names where the message has paths.
      for (size_t at; (at = run.errors.find(folder_.path() + "/")) != std::string::npos;) {
        run.errors.erase(at, folder_.path().size() + 1);
      }
      expect_one_line(run, 3, bad.part);
      EXPECT_TRUE(std::filesystem::is_empty(folder_ / "out"));
    }
  }

  TemporaryFolder folder_;
};

TEST_F(BadInputTest, of_shapes_that_disagree_gives_the_numbers) { expect_refused(kShapes); }
TEST_F(BadInputTest, of_modules_that_do_not_fit_names_the_parameter) { expect_refused(kModules); }
TEST_F(BadInputTest, of_files_names_the_file) { expect_refused(kFiles); }

TEST_F(BadInputTest, leaves_an_older_output_as_it_was) {
  folder_.put("out/y.npy", "older");
  expect_one_line(run_program({"attend", "--query", folder_ / "x24.npy", "--heads", "5", "--out",
                               folder_ / "out/y.npy"}),
                  3, "24");
  EXPECT_EQ(folder_.get("out/y.npy"), "older");
}

}  // namespace
}  // namespace headlight::test
