// Models by name, those that come along, their tokenizers, and heads switched off by name.
#include <filesystem>

#include "tests/places.h"
#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

class ANamedModel : public testing::Test {
 protected:
  std::string bytes_of(const std::string& path) {
    return base::read_all(*base::open_input(files_, path), uint64_t{1} << 30);
  }

  FilesWithEmbedded files_;
  base::ThreadPool threads_{1};
};

TEST_F(ANamedModel, comes_along_without_any_file) {
  EXPECT_EQ(embedded_models(),
            (std::vector<std::string>{"numbers", "repeats", "stories", "thrones"}));
  for (const std::string& name : embedded_models()) {
    const LoadedModel loaded = load_named_model(files_, name);
    EXPECT_EQ(loaded.folder, "embedded:" + name);
    EXPECT_EQ(need_tokenizer(files_, loaded).size(), loaded.model->source_vocab_size()) << name;
  }
}

TEST_F(ANamedModel, that_comes_along_is_its_files_byte_for_byte) {
  const std::string sources = tests::source_folder() + "/headlight/recipes/embedded/";
  for (const std::string& name : embedded_models()) {
    std::vector<std::string> inside, outside;
    ASSERT_EQ(files_.list("embedded:" + name, inside), 0);
    ASSERT_EQ(files_.list(sources + name, outside), 0);
    std::ranges::sort(inside);
    std::ranges::sort(outside);
    EXPECT_EQ(inside, outside) << name;
    uint64_t bytes = 0;
    for (const std::string& file : inside) {
      const std::string there = bytes_of("embedded:" + name + "/" + file);
      EXPECT_TRUE(there == bytes_of(sources + name + "/" + file)) << name << "/" << file;
      bytes += there.size();
    }
    EXPECT_EQ(embedded_bytes(name), bytes);
  }
}

TEST_F(ANamedModel, that_comes_along_does_what_it_was_trained_for) {
  const LoadedModel loaded = load_named_model(files_, "thrones");
  for (const SentencePair& pair : default_sentences()) {
    EXPECT_EQ(continuation_of(threads_, *loaded.model, need_tokenizer(files_, loaded), pair.source),
              pair.target);
  }
}

TEST_F(ANamedModel, that_is_nowhere_is_refused_with_those_there_are) {
  expect_refused(
      ErrorKind::bad_input, [&] { load_named_model(files_, "thornes"); },
      "model (thornes): there is no such file or folder; models that come with the program "
      "are numbers, repeats, stories, thrones");
}

// Who trains a model and mistypes its folder means that one.
TEST_F(ANamedModel, that_is_nowhere_is_told_of_a_model_folder_with_almost_its_name) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "shakespeare");
  std::filesystem::create_directories(folder / "shakespearr");
  models::save_model(files_, folder / "shakespeare", *load_named_model(files_, "thrones").model);
  expect_refused(
      ErrorKind::bad_input, [&] { load_named_model(files_, folder / "shakespear"); },
      "are numbers, repeats, stories, thrones; the nearest is " + folder / "shakespeare");
  const std::string other = refusal_of([&] { load_named_model(files_, folder / "en-tr"); }).text;
  EXPECT_EQ(other.find("nearest"), std::string::npos) << other;
}

TEST_F(ANamedModel, of_the_network_is_told_that_nothing_is_downloaded) {
  for (const char* name : {"gpt2", "openai-community/gpt2", "bert-base-uncased"}) {
    expect_refused(
        ErrorKind::bad_input, [&] { load_named_model(files_, name); }, "; nothing is downloaded: ");
  }
  for (const char* name : {"./gpt2", "mymodel", "/none/of/this"}) {
    const std::string error = refusal_of([&] { load_named_model(files_, name); }).text;
    EXPECT_EQ(error.find("downloaded"), std::string::npos) << error;
  }
}

TEST_F(ANamedModel, without_a_tokenizer_says_so_where_text_needs_one) {
  const TemporaryFolder folder;
  models::save_model(files_, folder.path(), *load_named_model(files_, "thrones").model);
  const LoadedModel loaded = load_named_model(files_, folder.path());
  EXPECT_FALSE(find_tokenizer(files_, loaded));
  expect_refused(
      ErrorKind::bad_input, [&] { need_tokenizer(files_, loaded, "; give ids"); },
      "has no tokenizer: no tokenizer.json, vocab.json with merges.txt, encoder.json with "
      "vocab.bpe, source.spm with vocab.json, tokenizer.model, spiece.model or vocab.txt");
}

TEST_F(ANamedModel, whose_tokenizer_has_more_tokens_than_it_has_ids_is_refused) {
  const TemporaryFolder folder;
  models::save_model(files_, folder.path(), *load_named_model(files_, "thrones").model);
  need_tokenizer(files_, load_named_model(files_, "stories")).save(files_, folder.path());
  const LoadedModel loaded = load_named_model(files_, folder.path());
  expect_refused(
      ErrorKind::bad_input, [&] { find_tokenizer(files_, loaded); },
      "has 468 tokens, the model has 29");
}

TEST_F(ANamedModel, in_the_library_cannot_be_written_to) {
  EXPECT_EQ(
      refusal_of([&] { base::write_file(files_, "embedded:thrones/config.json", "{}"); }).kind,
      ErrorKind::failed);
}

TEST_F(ANamedModel, writes_something_else_without_its_heads) {
  const LoadedModel loaded = load_named_model(files_, "thrones");
  const text::Tokenizer tokenizer = need_tokenizer(files_, loaded);
  const models::Batch batch{.ids = models::integers({1, 2}, {1, 5}),
                            .source_ids = models::integers({1, 3}, {4, 5, 6})};
  const auto output = [&](const std::string& names) {
    heads::HeadsOff heads(names.empty() ? std::vector<heads::HeadName>()
                                        : heads::parse_head_names(names, "heads_off"),
                          *loaded.model);
    tensor::Arena arena;
    autograd::Context context{
        .threads = threads_, .arena = arena, .intervention = heads.empty() ? nullptr : &heads};
    return loaded.model->forward(context, batch).data();
  };
  EXPECT_FALSE(models::same_bits(output(""), output("decoder.0.self.1")));
  EXPECT_FALSE(models::same_bits(output("decoder.0.self.0"), output("decoder.0.self.1")));
  EXPECT_TRUE(models::same_bits(output("encoder.0.self.0,encoder.0.self.1"),
                                output("encoder.0.self.1,encoder.0.self.0")));
}

TEST_F(ANamedModel, refuses_heads_that_it_does_not_have) {
  const LoadedModel loaded = load_named_model(files_, "thrones");
  const auto refused = [&](const std::string& names) {
    return refusal_of(
               [&] { heads::HeadsOff(heads::parse_head_names(names, "heads_off"), *loaded.model); })
        .text;
  };
  expect_has(refused("decoder.1.self.0"),
             "heads_off (\"decoder.1.self\"): the model has no such attention; the nearest is "
             "decoder.0.self");
  expect_has(refused("decoder.0.self.2"), "there is no head 2 among 2, they count from 0");
  expect_has(refused("decoder"), "heads_off (\"decoder\"): is not a head's name");
  expect_has(refused("decoder.0.self.-1"), "is not a head's name");
}

}  // namespace
}  // namespace headlight::recipes
