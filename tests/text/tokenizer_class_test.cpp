// What transformers takes from the class of a tokenizer and from tokenizer_config.json.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "tests/places.h"
#include "tests/text/comparison.h"
#include "tests/text/support.h"

namespace headlight::text {
namespace {

// The exit status of tokenizer_classes.py, or -1.
int make_class_folders(const std::string& python, const test::TemporaryFolder& folder) {
  const std::string script = tests::source_folder() + "/tests/text/tokenizer_classes.py";
  const std::string command =
      "'" + python + "' '" + script + "' '" + folder.path() + "' >'" + (folder / "log") + "' 2>&1";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(TokenizerClasses, give_the_ids_and_texts_of_transformers) {
  const char* python = std::getenv("HEADLIGHT_PYTHON");
  if (!python) GTEST_SKIP() << "HEADLIGHT_PYTHON names no Python with `transformers`";
  const test::TemporaryFolder folder;
  const int status = make_class_folders(python, folder);
  if (status == 77) GTEST_SKIP() << python << " has no `transformers` 5";
  ASSERT_EQ(status, 0) << folder.get("log");
  const std::vector<Comparison> comparisons = compare_kinds(folder.path());
  EXPECT_GE(comparisons.size(), 35u);
  for (const Comparison& comparison : comparisons) {
    EXPECT_GT(comparison.count(), 400) << comparison.name();
    EXPECT_EQ(comparison.differences(), 0) << comparison.name() << ": " << comparison.first();
  }
}

class FolderWithClass : public testing::Test {
 protected:
  // A vocabulary and merges.
  void put_files() const {
    folder_.put("vocab.json",
                R"({"a":0,"1":1,"2":2,"12":3,"Ã":4,"©":5,"Ã©":6,"<s>":7,"</s>":8,"Ġ":9,"e":10})");
    folder_.put("merges.txt", "#version: 0.2\n1 2\nÃ ©\n");
  }
  // Bytes of Llama's kind.
  void put_llama() const {
    folder_.put(
        "tokenizer.json",
        R"({"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},)"
        R"({"type":"Replace","pattern":{"String":" "},"content":"▁"}]},"decoder":{"type":"Sequence",)"
        R"("decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},)"
        R"({"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]},)"
        R"("added_tokens":[{"id":0,"content":"<s>","special":true,"normalized":false}],)"
        R"("model":{"type":"BPE","byte_fallback":true,"vocab":{"<s>":0,"▁":1,"a":2,"▁a":3},)"
        R"("merges":["▁ a"]}})");
  }
  void put_words(const std::string& members = "") const {
    folder_.put("tokenizer.json",
                R"({"pre_tokenizer":{"type":"WhitespaceSplit"},)" + members +
                    R"("model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"a":1,"b":2}}})");
  }
  void config(const std::string& json) const { folder_.put("tokenizer_config.json", json); }
  void model(const std::string& type) const {
    folder_.put("config.json", R"({"model_type":")" + type + "\"}");
  }
  Tokenizer load() const { return load_tokenizer(base::real_files(), folder_.path()); }
  std::string error() const {
    return io::error_of([&] { load(); });
  }

  test::TemporaryFolder folder_;
};

TEST_F(FolderWithClass, reads_a_vocabulary_and_merges_by_its_class) {
  put_files();
  EXPECT_EQ(load().encode("a12e\u0301"), (Ids{0, 3, 10}));
  config(R"({"tokenizer_class":"Qwen2Tokenizer"})");
  EXPECT_EQ(load().encode("12e\u0301"), (Ids{1, 2, 6}));
  config(R"({"tokenizer_class":"GPTNeoXTokenizerFast"})");
  EXPECT_EQ(load().encode("12e\u0301", {.framed = true}), (Ids{3, 6}));
  config(R"({"tokenizer_class":"RobertaTokenizer"})");
  EXPECT_EQ(load().encode("12", {.framed = true}), (Ids{7, 3, 8}));
  config("{}");
  model("qwen3");
  EXPECT_EQ(load().encode("12"), (Ids{1, 2}));
  config(R"({"tokenizer_class":"CLIPTokenizer"})");
  EXPECT_NE(error().find("\"CLIPTokenizer\" is not read from a vocabulary and merges"),
            std::string::npos)
      << error();
}

TEST_F(FolderWithClass, takes_llamas_spaces_from_its_two_settings) {
  put_llama();
  const EncodeOptions special{.special = true};
  config(R"({"tokenizer_class":"LlamaTokenizer","legacy":true})");
  EXPECT_EQ(load().encode("a<s>a", special), (Ids{3, 0, 3}));
  config(R"({"tokenizer_class":"LlamaTokenizer","legacy":false})");
  EXPECT_EQ(load().encode("a<s>a", special), (Ids{3, 0, 2}));
  EXPECT_EQ(load().decode(Ids{3, 1, 2}), "a a");
  config(R"({"tokenizer_class":"LlamaTokenizerFast","add_prefix_space":false})");
  EXPECT_EQ(load().encode("a a"), (Ids{2, 3}));
  EXPECT_EQ(load().decode(Ids{3}), " a");
  // These take the file as it is.
  config(R"({"tokenizer_class":"PreTrainedTokenizerFast","add_prefix_space":false})");
  EXPECT_EQ(load().encode("a<s>a", special), (Ids{3, 0, 3}));
  config(R"({"tokenizer_class":"LlamaTokenizer","add_prefix_space":false})");
  model("mistral");
  EXPECT_EQ(load().encode("a<s>a", special), (Ids{3, 0, 3}));
}

TEST_F(FolderWithClass, leaves_what_stands_around_a_text_to_a_tokenizer_json) {
  put_words(R"("post_processor":{"type":"BertProcessing","sep":["b",2],"cls":["a",1]},)");
  config(R"({"add_bos_token":false,"add_eos_token":true,"eos_token":"?"})");
  EXPECT_EQ(load().encode("a", {.framed = true}), (Ids{1, 1, 2}));
  config(R"({"tokenizer_class":"GPTNeoXTokenizer"})");
  EXPECT_EQ(load().encode("a", {.framed = true}), (Ids{1}));
}

TEST_F(FolderWithClass, puts_no_space_before_a_text_where_the_class_takes_the_file_as_it_is) {
  const auto bytes = [&](const std::string& before, const std::string& after) {
    folder_.put("tokenizer.json",
                R"({"pre_tokenizer":)" + before +
                    R"({"type":"ByteLevel","add_prefix_space":false})" + after +
                    R"(,"model":{"type":"BPE","vocab":{"a":0,"Ġ":1},"merges":[]}})");
  };
  bytes("", "");
  config(R"({"tokenizer_class":"TokenizersBackend","add_prefix_space":true})");
  EXPECT_EQ(load().encode("a"), (Ids{0}));
  config(R"({"tokenizer_class":"GPT2Tokenizer","add_prefix_space":true})");
  EXPECT_EQ(load().encode("a"), (Ids{1, 0}));
  bytes(R"({"type":"Sequence","pretokenizers":[{"type":"Digits"},)", "]}");
  EXPECT_EQ(load().encode("a"), (Ids{1, 0}));
}

TEST_F(FolderWithClass, cleans_decoded_texts_that_are_to_be_cleaned) {
  folder_.put("tokenizer.json",
              R"({"pre_tokenizer":{"type":"WhitespaceSplit"},"model":{"type":"WordLevel",)"
              R"("unk_token":"?","vocab":{"?":0,"it":1,"'s":2,".":3,"n't":4,"'":5,"vex":6}}})");
  const Ids ids = {1, 2, 4, 5, 1, 6, 3, 3, 0, 6};
  EXPECT_EQ(load().decode(ids), "it 's n't ' it vex . . ? vex");
  config(R"({"clean_up_tokenization_spaces":true})");
  const Tokenizer tokenizer = load();
  EXPECT_EQ(tokenizer.decode(ids), "it'sn't'it vex..? vex");
  EXPECT_EQ(reloaded(tokenizer).decode(ids), tokenizer.decode(ids));
  // Id by id the same, and nothing waits for longer than it must.
  StreamDecoder stream(tokenizer);
  std::string joined = stream.add(0);
  EXPECT_EQ(joined, "?");
  for (const int64_t id : ids) joined += stream.add(id);
  EXPECT_EQ(joined + stream.finish(), "? it'sn't'it vex..? vex");
}

TEST_F(FolderWithClass, cleans_texts_of_any_length_without_waiting_for_their_end) {
  folder_.put("tokenizer.json",
              R"({"pre_tokenizer":{"type":"WhitespaceSplit"},"model":{"type":"WordLevel",)"
              R"("unk_token":"?","vocab":{"?":0,"m":1,"'":2,"'s":3,"ver":4}}})");
  config(R"({"clean_up_tokenization_spaces":true})");
  const Tokenizer tokenizer = load();
  StreamDecoder stream(tokenizer);
  size_t added = 0, given = 0;
  for (int i = 0; i < 1000; ++i) {
    const int64_t id = i % 5;
    added += (i > 0 ? 1 : 0) + tokenizer.token(id).size();
    const size_t spaces = 3 * static_cast<size_t>(i / 5 + 1);  // " 's" and " ' "
    given += stream.add(id).size();
    EXPECT_LT(added, given + spaces + 12) << i;
  }
  EXPECT_LT(stream.finish().size(), 12u);
}

TEST_F(FolderWithClass, leaves_decoded_texts_of_bpe_as_they_are) {
  put_llama();
  config(R"({"clean_up_tokenization_spaces":true})");
  EXPECT_EQ(load().decode(Ids{3, 3}), "a a");
}

TEST_F(FolderWithClass, names_a_special_token_that_has_no_id) {
  put_words();
  for (const char* json :
       {R"({"pad_token":"[PAD]"})", R"({"extra_special_tokens":{"image_token":"[PAD]"}})",
        R"({"additional_special_tokens":["[PAD]"]})", R"({"image_token":"[PAD]"})"}) {
    config(json);
    EXPECT_EQ(load().size(), 3) << json;
    EXPECT_EQ(load().encode("a [PAD]"), (Ids{1, 0})) << json;
    const std::string message = io::error_of([&] { load().encode("a[PAD]b", {.special = true}); });
    EXPECT_NE(message.find("the special token \"[PAD]\""), std::string::npos) << json << message;
  }
}

TEST_F(FolderWithClass, makes_no_special_tokens_where_they_are_to_be_split) {
  put_words(R"("added_tokens":[{"id":3,"content":"<x>","special":true}],)");
  EXPECT_EQ(load().encode("a <x>", {.special = true}), (Ids{1, 3}));
  config(R"({"split_special_tokens":true})");
  EXPECT_EQ(load().encode("a <x>", {.special = true}), (Ids{1, 0}));
  EXPECT_EQ(load().encode(MarkedText{"a <x>"}), (Ids{1, 0}));
  EXPECT_EQ(reloaded(load()).encode("a <x>", {.special = true}), (Ids{1, 0}));
}

TEST_F(FolderWithClass, gives_templates_the_tokens_of_its_class) {
  put_llama();
  const auto rendered = [&](const std::string& name) {
    config(R"({"tokenizer_class":")" + name +
           R"(","chat_template":"[{{ bos_token }}|{{ eos_token }}]"})");
    return find_chat_template(base::real_files(), folder_.path())
        ->render({chat_message("user", "a")}, {})
        .bytes;
  };
  EXPECT_EQ(rendered("LlamaTokenizer"), "[<s>|</s>]");
  EXPECT_EQ(rendered("Qwen2Tokenizer"), "[|<|endoftext|>]");
  EXPECT_EQ(rendered("GemmaTokenizerFast"), "[<bos>|<eos>]");
  EXPECT_EQ(rendered("PreTrainedTokenizerFast"), "[|]");
}

}  // namespace
}  // namespace headlight::text
