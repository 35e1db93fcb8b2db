// Tokenizers with the settings of published ones, made by Hugging Face's `tokenizers` and Google's
// `sentencepiece`, where HEADLIGHT_PYTHON names a Python that has them: the same ids and texts for
// 10,000 strings of each kind.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "tests/places.h"
#include "tests/text/comparison.h"
#include "tests/text/support.h"

namespace headlight::text {
namespace {

constexpr int kLibrariesMissing = 77;

int run_script(const std::string& python, const std::string& folder, const std::string& log) {
  const std::string script = tests::source_folder() + "/tests/text/published_tokenizers.py";
  const std::string command =
      "'" + python + "' '" + script + "' '" + folder + "' >'" + log + "' 2>&1";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(PublishedTokenizers, give_the_ids_and_texts_that_their_own_libraries_give) {
  const char* python = std::getenv("HEADLIGHT_PYTHON");
  if (!python) GTEST_SKIP() << "HEADLIGHT_PYTHON names no Python with `tokenizers`";
  const test::TemporaryFolder folder;
  const int status = run_script(python, folder.path(), folder / "log");
  if (status == kLibrariesMissing)
    GTEST_SKIP() << python << " has no `tokenizers`, `sentencepiece`";
  ASSERT_EQ(status, 0) << folder.get("log");
  const std::vector<Comparison> comparisons = compare_kinds(folder.path());
  EXPECT_GE(comparisons.size(), 38u);
  for (const Comparison& comparison : comparisons) {
    EXPECT_EQ(comparison.count(), 10'000) << comparison.name();
    EXPECT_EQ(comparison.differences(), 0) << comparison.name() << ": " << comparison.first();
  }
}

// The same for a few strings and small files, which need no Python.
TEST(PublishedTokenizers, give_the_ids_and_texts_that_are_known) {
  const std::vector<Comparison> comparisons =
      compare_kinds(tests::source_folder() + "/tests/golden/tokenizers");
  EXPECT_GE(comparisons.size(), 19u);
  for (const Comparison& comparison : comparisons) {
    EXPECT_GT(comparison.count(), 40) << comparison.name();
    EXPECT_EQ(comparison.differences(), 0) << comparison.name() << ": " << comparison.first();
  }
}

// Saved and read again they are the same.
TEST(PublishedTokenizers, are_saved_as_they_were) {
  const std::string folder = tests::source_folder() + "/tests/golden/tokenizers";
  const io::Json kinds = io::read_json(base::real_files(), folder + "/kinds.json");
  for (const io::Json& kind : *kinds.array()) {
    const std::string& name = *kind.find("kind")->text();
    SCOPED_TRACE(name);
    const Tokenizer tokenizer = load_tokenizer(base::real_files(), folder + "/" + name);
    const Tokenizer again = reloaded(tokenizer);
    EXPECT_EQ(again.size(), tokenizer.size());
    for (const char* text : {"It's 12 o'clock, naïve <s> 😊", "  a\n\nb ", ">>tur<< quick"}) {
      const EncodeOptions options{.special = true, .framed = true};
      EXPECT_EQ(again.encode(text, options), tokenizer.encode(text, options));
      EXPECT_EQ(again.decode(again.encode(text)), tokenizer.decode(tokenizer.encode(text)));
    }
  }
}

// Ids that come one by one give the same text, whole code points at a time.
TEST(PublishedTokenizers, decode_id_by_id) {
  const std::string folder = tests::source_folder() + "/tests/golden/tokenizers";
  const io::Json kinds = io::read_json(base::real_files(), folder + "/kinds.json");
  for (const io::Json& kind : *kinds.array()) {
    SCOPED_TRACE(*kind.find("kind")->text());
    const Tokenizer tokenizer =
        load_tokenizer(base::real_files(), folder + "/" + *kind.find("kind")->text());
    const base::Random random(5);
    const auto size = static_cast<uint64_t>(tokenizer.size());
    for (uint64_t round = 0; round < 200; ++round) {
      Ids ids;
      for (uint64_t i = 0; i < 12; ++i) {
        ids.push_back(static_cast<int64_t>(random.below(round * 12 + i, size)));
      }
      for (const bool special : {false, true}) {
        StreamDecoder stream(tokenizer, {.special = special});
        std::string joined;
        for (const int64_t id : ids) {
          const std::string some = stream.add(id);
          EXPECT_EQ(io::valid_utf8_length(some), some.size());
          joined += some;
        }
        EXPECT_EQ(joined + stream.finish(), tokenizer.decode(ids, {.special = special}));
      }
    }
  }
}

}  // namespace
}  // namespace headlight::text
