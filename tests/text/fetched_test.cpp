// Vocabularies that llama.cpp publishes with the ids of some texts, where tools/fetch-models has
// put them.
#include "tests/fetched.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/text/support.h"

namespace headlight::text {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> texts_of(const std::string& all) {
  constexpr std::string_view kBetween = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  size_t begin = 0;
  for (size_t end = all.find(kBetween); end != std::string::npos; end = all.find(kBetween, begin)) {
    texts.push_back(all.substr(begin, end - begin));
    begin = end + kBetween.size();
  }
  return texts;
}

class FetchedVocabulary : public testing::TestWithParam<const char*> {};

TEST_P(FetchedVocabulary, gives_the_ids_that_are_published_with_it) {
  const std::string path =
      tests::fetched("llama.cpp/models/ggml-vocab-" + std::string(GetParam()) + ".gguf");
  SKIP_UNLESS_FETCHED(path);
  const Tokenizer tokenizer = load_tokenizer(base::real_files(), path);
  const std::vector<std::string> texts = texts_of(content_of(path + ".inp"));
  std::istringstream lines(content_of(path + ".out"));
  ASSERT_GT(texts.size(), 30u);
  for (const std::string& text : texts) {
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    std::istringstream numbers(line);
    const Ids ids{std::istream_iterator<int64_t>(numbers), {}};
    EXPECT_EQ(tokenizer.encode(text), ids) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, FetchedVocabulary,
                         testing::Values("gpt-2", "llama-bpe", "llama-spm", "qwen2", "starcoder",
                                         "refact", "command-r", "mpt", "bert-bge"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace headlight::text
