// Published models beside what other programs compute for them, where tools/fetch-models has put
// them.
#include "tests/fetched.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

#include "headlight/text/text.h"
#include "tests/models/support.h"

namespace headlight::models {
namespace {

constexpr const char* kSmolLm2 = "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";

class FetchedModel : public ModelTest {
 protected:
  // Ids of a text of this project.
  static std::vector<int64_t> ids_of_text(const std::string& tokenizer, size_t count) {
    std::ifstream file(tests::source_folder() + "/docs/how-to/models.md");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    std::vector<int64_t> ids = text::load_tokenizer(base::real_files(), tokenizer).encode(text);
    ids.resize(std::min(ids.size(), count));
    return ids;
  }

  // 77: a package is missing.
  int run_check(const std::string& python, const std::string& model) {
    const std::string command = "'" + python + "' '" + tests::source_folder() +
                                "/tests/models/gguf_check.py' '" + model + "' '" +
                                folder_ / "ids.safetensors" + "' '" + folder_ / "out.safetensors" +
                                "' > '" + folder_ / "said" + "' 2>&1";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  TemporaryFolder folder_;
};

int64_t best_of(const Tensor& logits, int64_t row) {
  const float* first = logits.data<float>() + row * logits.size(-1);
  return std::max_element(first, first + logits.size(-1)) - first;
}

// Of how many rows the best token is that of the list.
int64_t same_best(const Tensor& logits, const std::vector<int64_t>& best) {
  int64_t same = 0;
  for (int64_t row = 0; row < std::ssize(best); ++row) {
    same += best_of(logits, row) == best[static_cast<size_t>(row)] ? 1 : 0;
  }
  return same;
}

TEST_F(FetchedModel, smollm2_computes_what_transformers_and_llama_cpp_compute) {
  const std::string path = tests::fetched(kSmolLm2);
  SKIP_UNLESS_FETCHED(path);
  const char* python = std::getenv("HEADLIGHT_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "HEADLIGHT_PYTHON names no Python with gguf";
  const std::vector<int64_t> ids = ids_of_text(path, 500);
  ASSERT_EQ(ids.size(), 500u);
  io::write_safetensors(base::real_files(), folder_ / "ids.safetensors",
                        {{{"ids", integers({500}, ids)}}});
  const int status = run_check(python, path);
  if (status == 77) GTEST_SKIP() << folder_.get("said");
  ASSERT_EQ(status, 0) << folder_.get("said");
  const nn::StateDict expected = read_tensors(folder_ / "out.safetensors");
  const auto model = load_model(base::real_files(), path);
  Context context = inference_context();
  const Tensor logits =
      model->logits(context, model->forward(context, {.ids = integers({1, 500}, ids)}))
          .data()
          .reshaped({500, model->vocab_size()});
  const Tensor& right = expected.at("logits");
  const float apart = distance(logits, right) / largest(right);
  RecordProperty("logits_apart", std::to_string(apart));
  std::printf("logits: %.2e of the largest apart from transformers\n", static_cast<double>(apart));
  EXPECT_LE(apart, 1e-4F);
  std::vector<int64_t> best;
  for (int64_t i = 0; i < 500; ++i) best.push_back(best_of(right, i));
  std::printf("best token: the same as that of transformers at %d of 500 positions\n",
              static_cast<int>(same_best(logits, best)));
  if (!expected.contains("best")) GTEST_SKIP() << "no llama_cpp to compare best tokens with";
  const int64_t* found = expected.at("best").data<int64_t>();
  const int64_t same = same_best(logits, {found, found + 500});
  std::printf("best token: the same as llama.cpp's at %d of 500 positions\n",
              static_cast<int>(same));
  EXPECT_GE(same, 475);
}

TEST_F(FetchedModel, checkpoints_of_three_berts_open) {
  const std::string folder = tests::fetched("rxnfp");
  SKIP_UNLESS_FETCHED(folder);
  for (const char* name : {"bert_ft", "bert_ft_10k_25s", "bert_pretrained"}) {
    std::vector<std::string> notes;
    const auto model =
        load_model(base::real_files(), folder + "/" + name, known_architectures(), &notes);
    EXPECT_EQ(model->type(), "bert") << name;
    EXPECT_TRUE(model->capabilities().embeds) << name;
  }
}

TEST_F(FetchedModel, stories15m_writes_a_story) {
  const std::string folder = tests::fetched("stories15m");
  SKIP_UNLESS_FETCHED(folder);
  const auto model = load_model(base::real_files(), folder);
  const text::Tokenizer tokenizer = text::load_tokenizer(base::real_files(), folder);
  std::vector<int64_t> ids = tokenizer.encode("Once upon a time", {.framed = true});
  Context context = inference_context();
  Decoding decoding = model->start(context);
  Tensor next = decoding.read(context, integers({1, std::ssize(ids)}, ids));
  for (int i = 0; i < 12; ++i) {
    ids.push_back(best_of(next, 0));
    next = decoding.read(context, integers({1, 1}, {ids.back()}));
  }
  const std::string story = tokenizer.decode(ids, {.special = false});
  EXPECT_NE(story.find("Once upon a time, there was a little"), std::string::npos) << story;
}

}  // namespace
}  // namespace headlight::models
