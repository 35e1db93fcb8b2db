// The ONNX operator Attention's own test cases through `headlight attend`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "tests/base/temporary_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"
#include "tests/places.h"

namespace headlight::test {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr size_t kCases = 40;
constexpr double kTolerance = 2e-5;  // of the largest entry, or of 1
constexpr double kFloat16Tolerance = 2e-3;

const std::string kFolder = tests::shared_folder() + "/conformance/Attention";

// One after the other along `axis`.
Tensor joined(const Tensor& first, const Tensor& second, int axis) {
  Tensor result = Tensor::uninitialized(
      DType::f32, first.shape().with(axis, first.size(axis) + second.size(axis)));
  int64_t outer = 1;
  for (int i = 0; i < axis; ++i) outer *= first.size(i);
  float* to = result.mutable_data<float>();
  for (int64_t i = 0; i < outer; ++i) {
    for (const Tensor& part : {first, second}) {
      const int64_t count = part.elements() / outer;
      to = std::copy_n(part.data<float>() + i * count, count, to);
    }
  }
  return result;
}

// (B, H, S, D) as (B, S, H*D) for rank 3; as it is for rank 4.
Tensor in_rank(const Tensor& split, int rank) {
  if (rank == 4) return split;
  return split.permuted({0, 2, 1, 3})
      .contiguous()
      .reshaped({split.size(0), split.size(2), split.size(1) * split.size(3)});
}

std::string list_text(const Tensor& numbers, int64_t offset) {
  std::string text;
  for (int64_t i = 0; i < numbers.elements(); ++i) {
    text += (i > 0 ? "," : "") + std::to_string(numbers.data<int64_t>()[i] + offset);
  }
  return text;
}

class ConformanceCase {
 public:
  explicit ConformanceCase(const std::string& path)
      : path_(path),
        file_(io::open_safetensors(base::real_files(), path)),
        tensors_(read_tensors(path)),
        attributes_(io::parse_json(file_.metadata().at("attributes"), path)) {}

  void check(const TemporaryFolder& folder) {
    add_arrays(folder);
    add_attributes();
    add_masks();
    words_.insert(words_.end(),
                  {"--out", folder / "out.npy", "--trace", folder / "trace.safetensors"});
    const ProgramRun run = run_program(words_);
    ASSERT_EQ(run.code, 0) << run.errors;
    expect_near(read_floats(folder / "out.npy"), "out.Y");
    if (!has("out.qk_matmul_output")) return;
    const char* name = score_name();
    expect_near(read_tensors(folder / "trace.safetensors").at(name), "out.qk_matmul_output");
  }

 private:
  bool has(const std::string& name) const { return tensors_.contains(name); }
  double attribute(const char* name) const {
    const io::Json* value = attributes_.find(name);
    return value == nullptr ? 0 : value->number().value_or(0);
  }
  void add(const std::string& option, const std::string& value) {
    words_.insert(words_.end(), {"--" + option, value});
  }

  // What was there before precedes what is new; the file says what that must give.
  void add_joined(const TemporaryFolder& folder, const std::string& option,
                  const std::string& input, const std::string& name) {
    const Tensor& fresh = tensors_.at("in." + input);
    const Tensor past = in_rank(tensors_.at("in.past_" + name), fresh.rank());
    const Tensor whole = joined(past, fresh, fresh.rank() - 2);
    EXPECT_EQ(distance(whole, in_rank(tensors_.at("out.present_" + name), fresh.rank())), 0);
    io::write_array(base::real_files(), folder / (name + ".npy"), whole);
    add(option, folder / (name + ".npy"));
  }

  void add_arrays(const TemporaryFolder& folder) {
    add("query", path_ + ":in.Q");
    if (has("in.past_key")) {
      add_joined(folder, "key", "K", "key");
      add_joined(folder, "value", "V", "value");
      add("past", std::to_string(tensors_.at("in.past_key").size(2)));
    } else {
      add("key", path_ + ":in.K");
      add("value", path_ + ":in.V");
    }
  }

  void add_attributes() {
    for (const auto& [option, name] :
         {std::pair{"heads", "q_num_heads"}, std::pair{"kv-heads", "kv_num_heads"},
          std::pair{"scale", "scale"}, std::pair{"softcap", "softcap"}}) {
      if (const io::Json* value = attributes_.find(name)) add(option, io::json_text(*value));
    }
    if (attribute("is_causal") != 0) words_.push_back("--causal");
  }

  void add_masks() {
    if (has("in.attn_mask")) {
      const bool is_boolean = tensors_.at("in.attn_mask").dtype() == DType::boolean;
      add(is_boolean ? "keep-mask" : "bias", path_ + ":in.attn_mask");
    }
    if (has("in.nonpad_kv_seqlen")) {
      const Tensor& query = tensors_.at("in.Q");
      add("valid-lens", path_ + ":in.nonpad_kv_seqlen");
      add("past", list_text(tensors_.at("in.nonpad_kv_seqlen"), -query.size(query.rank() - 2)));
    }
  }

  const char* score_name() const {
    const auto mode = static_cast<int>(attribute("qk_matmul_output_mode"));
    if (mode == 1 && attribute("softcap") > 0) return "capped_scores";
    constexpr const char* kNames[] = {"scaled_scores", "scaled_scores", "masked_scores", "weights"};
    return kNames[mode];
  }

  void expect_near(const Tensor& got, const std::string& name) const {
    const Tensor& expected = tensors_.at(name);
    const bool is_half = file_.find(name)->array.element == io::Element::f16;
    double scale = 1;
    for (int64_t i = 0; i < expected.elements(); ++i) {
      const double magnitude = std::abs(expected.data<float>()[i]);
      if (magnitude < 1e30) scale = std::max(scale, magnitude);
    }
    EXPECT_LE(distance(got, expected), (is_half ? kFloat16Tolerance : kTolerance) * scale) << name;
  }

  std::string path_;
  io::Safetensors file_;
  Tensors tensors_;
  io::Json attributes_;
  std::vector<std::string> words_ = {"attend"};
};

TEST(Conformance, of_attention_holds_in_all_cases) {
  if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << kFolder << " is not there";
  size_t cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    SCOPED_TRACE(entry.path().filename().string());
    const TemporaryFolder folder;
    ConformanceCase(entry.path().string()).check(folder);
    ++cases;
  }
  EXPECT_EQ(cases, kCases);
}

}  // namespace
}  // namespace headlight::test
