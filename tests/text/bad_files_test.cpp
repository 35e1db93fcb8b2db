// Tokenizer files that are wrong: each gives one sentence that says what is.
#include <gtest/gtest.h>

#include "tests/text/support.h"

namespace headlight::text {
namespace {

// A tokenizer.json of words whose "vocab" is this.
std::string of_vocabulary(const std::string& vocabulary) {
  return R"({"pre_tokenizer":{"type":"WhitespaceSplit"},"model":{"type":"WordLevel","vocab":)" +
         vocabulary + "}}";
}

// A byte-level one with the tokens a, b, c and ab, and these members of the model.
std::string of_merges(const std::string& merges, const std::string& members = "") {
  return R"({"pre_tokenizer":{"type":"ByteLevel"},"decoder":{"type":"ByteLevel"},"model":{"type":"BPE",)" +
         members + R"("vocab":{"a":0,"b":1,"c":2,"ab":3},"merges":)" + merges + "}}";
}

// Words with another component beside them.
std::string with(const std::string& member) {
  return R"({"pre_tokenizer":{"type":"WhitespaceSplit"},)" + member +
         R"(,"model":{"type":"WordLevel","vocab":{"a":0,"b":1}}})";
}

// The component in the place of the pre-tokenizer.
std::string split_by(const std::string& component) {
  return R"({"pre_tokenizer":)" + component + R"(,"model":{"type":"WordLevel","vocab":{"a":0}}})";
}

std::string unigram(const std::string& vocabulary) {
  return R"({"model":{"type":"Unigram","vocab":)" + vocabulary + "}}";
}

std::string times(int count, const std::string& text) {
  std::string all = text;
  for (int i = 1; i < count; ++i) all += "," + text;
  return all;
}

const std::vector<io::BadFile> kBadVocabularies = {
    {"negative_id", of_vocabulary(R"({"a":0,"b":-1})"), R"("b" has the id -1, ids start at 0)"},
    {"id_twice", of_vocabulary(R"({"a":0,"b":1,"c":1})"),
     R"(the id 1 belongs to two tokens, "b" and "c")"},
    {"gap", of_vocabulary(R"({"a":0,"b":2})"), "no token has the id 1; the 2 ids go up to 2"},
    {"first_missing", of_vocabulary(R"({"a":1,"b":2})"), "no token has the id 0"},
    {"huge_id", of_vocabulary(R"({"a":0,"b":9223372036854775807})"), "no token has the id 1"},
    {"beyond_64_bits", of_vocabulary(R"({"a":0,"b":9223372036854775808})"),
     R"(the id of "b" is not a whole number)"},
    {"fraction", of_vocabulary(R"({"a":0.5})"), R"(the id of "a" is not a whole number)"},
    {"text_for_id", of_vocabulary(R"({"a":"0"})"), "is not a whole number"},
    {"token_twice", of_vocabulary(R"({"a":0,"a":1})"), R"(the key "a" stands twice)"},
    {"empty", of_vocabulary("{}"), "the vocabulary is empty"},
    {"list", of_vocabulary("[]"), R"("vocab" is not an object)"},
    {"null_vocabulary", of_vocabulary("null"), R"("vocab" is not an object)"},
    {"long_token", of_vocabulary("{\"" + std::string(1'000'000, 'x') + "\":0}"),
     "id 0 has 1000000 bytes, at most 65536"},
};

const std::vector<io::BadFile> kBadMerges = {
    {"unknown_left", of_merges(R"(["x b"])"), R"(merge "x b": "x" is not in the vocabulary)"},
    {"unknown_right", of_merges(R"([["a","y"]])"), R"(merge "a y": "y" is not in the vocabulary)"},
    {"unknown_result", of_merges(R"(["b c"])"), R"(merge "b c": "bc" is not in the vocabulary)"},
    {"one_word", of_merges(R"(["ab"])"), R"(merge "ab": is not two tokens and a space)"},
    {"three_words", of_merges(R"(["a b c"])"), "is not two tokens and a space"},
    {"no_word", of_merges(R"([""])"), "is not two tokens and a space"},
    {"one_of_a_pair", of_merges(R"([["a"]])"), R"(neither a text "a b" nor a pair)"},
    {"numbers", of_merges("[1]"), "neither a text"},
    {"pair_of_numbers", of_merges("[[1,2]]"), "neither a text"},
    {"twice", of_merges(R"(["a b",["a","b"]])"), R"(merge "a b": stands twice, as number 0 and 1)"},
    {"none", of_merges("null"), R"("merges" is not a list)"},
    {"unknown_missing", of_merges("[]", R"("unk_token":"<unk>",)"),
     R"(the unknown token "<unk>" has no id)"},
    {"byte_fallback", of_merges("[]", R"("byte_fallback":true,)"),
     R"("byte_fallback" is not supported with a ByteLevel pre_tokenizer)"},
    {"ignore_merges", of_merges("[]", R"("ignore_merges":1,)"), "is not true or false"},
    {"dropout", of_merges("[]", R"("dropout":0.1,)"), R"("dropout" is not supported)"},
    {"suffix", of_merges("[]", R"("end_of_word_suffix":"</w>",)"),
     R"("end_of_word_suffix" is not supported)"},
    {"prefix_of_wrong_type", of_merges("[]", R"("continuing_subword_prefix":1,)"), "is not a text"},
};

const std::vector<io::BadFile> kBadComponents = {
    {"model_missing", "{}", R"("model" is no object)"},
    {"not_an_object", "[]", "is not an object"},
    {"not_json", "{", "not JSON at byte"},
    {"html", "<!DOCTYPE html>", "not JSON at byte 1"},
    {"deep", std::string(100, '['), "nested deeper than 64"},
    {"model_of_another_type",
     R"({"model":{"type":"Bigram","vocab":{"a":0}},"pre_tokenizer":{"type":"Whitespace"}})",
     R"(model "Bigram": is not supported; read are BPE, Unigram, WordLevel and WordPiece)"},
    {"model_without_type", R"({"model":{"vocab":{"a":0}},"pre_tokenizer":{"type":"Whitespace"}})",
     "read are BPE"},
    {"model_with_a_number_for_type", R"({"model":{"type":3,"vocab":{"a":0}}})",
     R"("type" is not a text)"},
    {"vocab_missing", R"({"model":{"type":"WordLevel"}})", R"("vocab" is missing)"},
    {"normalizer", with(R"("normalizer":{"type":"Magic"})"),
     R"(normalizer "Magic": is not supported; read are NFC, NFD)"},
    {"normalizer_in_a_sequence",
     with(R"("normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Sorcery"}]})"),
     R"(normalizer "Sorcery": is not supported)"},
    {"replace_without_content", with(R"("normalizer":{"type":"Replace","pattern":{"String":"a"}})"),
     R"(normalizer "Replace": "content" is missing)"},
    {"replace_without_pattern", with(R"("normalizer":{"type":"Replace","content":"b"})"),
     R"("pattern" is neither {"String": a text} nor {"Regex": an expression})"},
    {"replace_of_nothing",
     with(R"("normalizer":{"type":"Replace","pattern":{"String":""},"content":"b"})"),
     R"("pattern" is an empty text)"},
    {"sequence_of_nothing", with(R"("normalizer":{"type":"Sequence"})"),
     R"("normalizers" is missing)"},
    {"sequence_of_too_much",
     with(R"("normalizer":{"type":"Sequence","normalizers":[)" + times(65, R"({"type":"NFC"})") +
          "]}"),
     "more than 64 steps"},
    {"normalizer_of_wrong_type", with(R"("normalizer":"NFC")"), "normalizer: is not an object"},
    {"flag_of_wrong_type", with(R"("normalizer":{"type":"BertNormalizer","lowercase":1})"),
     R"("lowercase" is not true or false)"},
    {"prepend_of_a_number", with(R"("normalizer":{"type":"Prepend","prepend":1})"),
     R"("prepend" is not a text)"},
    {"decoder", with(R"("decoder":{"type":"CTC"})"), "read are ByteLevel, Metaspace, WordPiece"},
    {"decoder_after_bytes",
     with(
         R"("decoder":{"type":"Sequence","decoders":[{"type":"ByteLevel"},{"type":"Metaspace"}]})"),
     "nothing is read after ByteLevel"},
    {"decoder_after_fuse",
     with(
         R"("decoder":{"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Replace","pattern":{"String":"a"},"content":""}]})"),
     "after Fuse only Strip is read"},
    {"decoder_of_null", with(R"("decoder":{"type":"Sequence","decoders":[null]})"),
     "one of its steps is null"},
    {"bytes_twice",
     with(
         R"("decoder":{"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"ByteFallback"}]})"),
     "stands twice"},
    {"strip_of_a_word", with(R"("decoder":{"type":"Strip","content":"ab","start":1,"stop":0})"),
     R"("content" is not one character)"},
    {"strip_of_less_than_nothing",
     with(R"("decoder":{"type":"Strip","content":" ","start":-1,"stop":0})"),
     R"("start" or "stop" is not from 0 to 1000)"},
    {"metaspace_of_two", with(R"("decoder":{"type":"Metaspace","replacement":"__"})"),
     R"("replacement" is not one character)"},
    {"post_processor", with(R"("post_processor":{"type":"Magic"})"),
     "read are ByteLevel, BertProcessing"},
    {"post_processor_in_a_sequence",
     with(R"("post_processor":{"type":"Sequence","processors":[{"type":"Magic"}]})"),
     R"(post_processor "Magic": is not supported)"},
    {"frame_past_the_vocabulary",
     with(R"("post_processor":{"type":"BertProcessing","sep":["b",2],"cls":["a",0]})"),
     "not in the vocabulary of 2"},
    {"frame_without_id",
     with(R"("post_processor":{"type":"BertProcessing","sep":["b"],"cls":["a",0]})"),
     "is not a token and its id"},
    {"template_of_nothing", with(R"("post_processor":{"type":"TemplateProcessing"})"),
     R"("single" is missing)"},
    {"template_of_unknown_token",
     with(
         R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"a"}}]})"),
     R"("a" has no "ids")"},
    {"template_of_unknown_part",
     with(R"("post_processor":{"type":"TemplateProcessing","single":[{}]})"),
     "holds something unknown"},
    {"template_without_the_text",
     with(R"("post_processor":{"type":"TemplateProcessing","single":[]})"), "leaves out the text"},
    {"template_of_the_second_text",
     with(R"("post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"B"}}]})"),
     "the second of two texts"},
    {"template_of_the_text_twice",
     with(
         R"("post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A"}},{"Sequence":{"id":"A"}}]})"),
     "the text twice"},
    {"template_of_very_many_ids",
     with(
         R"("post_processor":{"type":"TemplateProcessing","single":[)" +
         times(50, R"({"SpecialToken":{"id":"a"}})") +
         R"(,{"Sequence":{"id":"A"}}],"special_tokens":{"a":{"id":"a","ids":[0,1],"tokens":["a","b"]}}})"),
     R"("single" puts more than 64 ids around a text)"},
    {"pre_tokenizer", split_by(R"({"type":"UnicodeScripts"})"),
     "read are ByteLevel, Metaspace, Digits"},
    {"pre_tokenizer_in_a_sequence",
     split_by(R"({"type":"Sequence","pretokenizers":[{"type":"Magic"}]})"),
     R"(pre_tokenizer "Magic": is not supported)"},
    {"pre_tokenizer_of_null", split_by(R"({"type":"Sequence","pretokenizers":[null]})"),
     "one of its steps is null"},
    {"pre_tokenizers_too_many",
     split_by(R"({"type":"Sequence","pretokenizers":[)" + times(65, R"({"type":"Whitespace"})") +
              "]}"),
     "more than 64 steps"},
    {"split_without_behavior", split_by(R"({"type":"Split","pattern":{"Regex":"a"}})"),
     R"("behavior" is not one of Removed, Isolated)"},
    {"split_without_pattern", split_by(R"({"type":"Split","behavior":"Isolated"})"),
     R"("pattern" is neither)"},
    {"metaspace_by_another_scheme",
     split_by(R"({"type":"Metaspace","replacement":"_","prepend_scheme":"last"})"),
     R"("prepend_scheme" is not one of always, first and never)"},
    {"metaspace_that_disagrees",
     split_by(
         R"({"type":"Metaspace","replacement":"_","prepend_scheme":"first","add_prefix_space":false})"),
     R"("add_prefix_space" and "prepend_scheme" disagree)"},
    {"metaspace_first_beside_strip",
     R"({"normalizer":{"type":"Strip"},"pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"first"},"model":{"type":"WordLevel","vocab":{"a":0}}})",
     R"("prepend_scheme": "first" is not supported beside)"},
    {"byte_level_words", split_by(R"({"type":"ByteLevel"})"), "is read only with a BPE model"},
    {"charsmap_of_other_letters",
     with(R"("normalizer":{"type":"Precompiled","precompiled_charsmap":"?!"})"), "is not base64"},
    {"charsmap_without_length",
     with(R"("normalizer":{"type":"Precompiled","precompiled_charsmap":"AAA="})"), "has no length"},
    {"charsmap_cut_short",
     with(R"("normalizer":{"type":"Precompiled","precompiled_charsmap":"CAAAAAA="})"),
     "is cut short"},
    {"charsmap_of_odd_units",
     with(R"("normalizer":{"type":"Precompiled","precompiled_charsmap":"AQAAAAAA"})"),
     "not made of units of four bytes"},
    {"charsmap_without_an_end",
     with(R"("normalizer":{"type":"Precompiled","precompiled_charsmap":"BAAAAAAAAABh"})"),
     "does not end with a NUL"},
    {"charsmap_not_utf8",
     with(R"("normalizer":{"type":"Precompiled","precompiled_charsmap":"BAAAAAAAAAD/AA=="})"),
     "not UTF-8"},
    {"unigram_without_scores", unigram(R"([["a"]])"), "is not a token and its score"},
    {"unigram_of_an_object", unigram(R"({"a":0})"), R"("vocab" is not a list)"},
    {"unigram_of_a_long_token", unigram("[[\"" + std::string(9'000, 'a') + "\",0]]"),
     "a token has 9000 bytes, at most 8000 are read"},
    {"unigram_of_nothing", unigram("[]"), R"("vocab" is empty)"},
    {"unigram_twice", unigram(R"([["a",0],["a",1]])"), R"("a" has two ids, 0 and 1)"},
    {"unigram_unknown_past_the_end", unigram(R"([["a",0]],"unk_id":1)"),
     R"("unk_id" is 1, the vocabulary has 1 tokens)"},
    {"unigram_unknown_by_name", unigram(R"([["a",0]],"unk_id":"a")"),
     R"("unk_id" is not a whole number)"},
    {"word_piece_without_unknown",
     R"({"pre_tokenizer":{"type":"BertPreTokenizer"},"model":{"type":"WordPiece","vocab":{"a":0}}})",
     R"(the unknown token "[UNK]" has no id)"},
};

const std::vector<io::BadFile> kBadAddedTokens = {
    {"not_a_list", with(R"("added_tokens":{})"), R"("added_tokens" is not a list)"},
    {"not_objects", with(R"("added_tokens":["<s>"])"), "added_tokens: is not an object"},
    {"no_content", with(R"("added_tokens":[{"id":2}])"), R"(has no "content")"},
    {"no_id", with(R"("added_tokens":[{"content":"<s>"}])"), "has the id -1"},
    {"id_taken", with(R"("added_tokens":[{"content":"<s>","id":1}])"),
     "the id 1 belongs to two tokens"},
    {"another_id", with(R"("added_tokens":[{"content":"a","id":2}])"),
     R"(the token "a" has two ids, 0 and 2)"},
    {"gap", with(R"("added_tokens":[{"content":"<s>","id":5}])"), "no token has the id 2"},
    {"single_word", with(R"("added_tokens":[{"content":"<s>","id":2,"single_word":7}])"),
     R"("single_word" is not true or false)"},
};

void expect_all_refused(const std::vector<io::BadFile>& files) {
  for (const io::BadFile& file : files) {
    SCOPED_TRACE(file.name);
    const std::string error = io::error_of([&] { parse_tokenizer(file.bytes, "the file"); });
    EXPECT_NE(error.find(" (the file): "), std::string::npos) << error;
    EXPECT_NE(error.find(file.message), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    EXPECT_LT(error.size(), 400u) << error;
  }
}

TEST(BadTokenizer, with_wrong_ids_is_refused) { expect_all_refused(kBadVocabularies); }
TEST(BadTokenizer, with_wrong_merges_is_refused) { expect_all_refused(kBadMerges); }
TEST(BadTokenizer, with_unknown_components_lists_what_is_read) {
  expect_all_refused(kBadComponents);
}
TEST(BadTokenizer, with_wrong_added_tokens_is_refused) { expect_all_refused(kBadAddedTokens); }

std::string refusal_of_folder(const test::TemporaryFolder& folder) {
  return io::error_of([&] { load_tokenizer(base::real_files(), folder.path()); });
}

TEST(BadTokenizer, folders_without_one_say_what_is_looked_for) {
  const test::TemporaryFolder folder;
  EXPECT_NE(refusal_of_folder(folder).find("tokenizer.json, vocab.json + merges.txt"),
            std::string::npos);
  EXPECT_FALSE(has_tokenizer(base::real_files(), folder.path()));
  // One of a pair is none.
  folder.put("vocab.json", "{}");
  EXPECT_NE(refusal_of_folder(folder).find("the folder holds none"), std::string::npos);
  folder.put("merges.txt", "");
  EXPECT_TRUE(has_tokenizer(base::real_files(), folder.path()));
  EXPECT_NE(refusal_of_folder(folder).find("the vocabulary is empty"), std::string::npos);
}

TEST(BadTokenizer, files_that_are_missing_or_no_files_are_named) {
  const test::TemporaryFolder folder;
  const auto refusal = [&](const std::string& path) {
    return io::error_of([&] { load_tokenizer(base::real_files(), path); });
  };
  EXPECT_EQ(refusal(folder / "nothing"),
            "cannot read (" + (folder / "nothing") + "): No such file or directory");
  EXPECT_NE(refusal(folder / "vocab.txt").find("No such file"), std::string::npos);
  EXPECT_NE(refusal(folder / "merges.txt").find("vocab.json"), std::string::npos);
  EXPECT_NE(refusal("/dev/null").find("it is a device"), std::string::npos);
  EXPECT_NE(refusal("").find("cannot read"), std::string::npos);
}

TEST(BadTokenizer, files_of_300_megabytes_are_refused_unread) {
  const test::TemporaryFolder folder;
  for (const char* name : {"tokenizer.json", "vocab.txt"}) {
    const std::string path = folder.put(name, "");
    std::filesystem::resize_file(path, 300'000'000);  // a hole: it takes no room
    const std::string error = io::error_of([&] { load_tokenizer(base::real_files(), path); });
    EXPECT_NE(error.find("300000000 bytes, at most 100000000 are read"), std::string::npos)
        << error;
  }
}

TEST(BadTokenizer, lines_are_refused_with_a_reason) {
  const auto refusal = [](const std::string& lines) {
    return io::error_of([&] { make_word_pieces(lines); });
  };
  EXPECT_NE(refusal("").find("the vocabulary is empty"), std::string::npos);
  EXPECT_NE(refusal("[UNK]\n[CLS]\n").find(R"("[SEP]" is missing)"), std::string::npos);
  EXPECT_NE(refusal("[CLS]\n[SEP]\na\n").find(R"("[UNK]" has no id)"), std::string::npos);
  EXPECT_NE(refusal(std::string(kWordPieces) + "un\n").find(R"("un" has two ids, 5 and 17)"),
            std::string::npos);
  EXPECT_NE(refusal("[UNK]\n\xff\n").find("not UTF-8 at byte 6"), std::string::npos);
  EXPECT_NE(
      refusal(std::string(kWordPieces) + std::string(1'000'000, 'x')).find("has 1000000 bytes"),
      std::string::npos);
}

TEST(BadTokenizer, pairs_of_files_name_the_one_that_is_wrong) {
  const test::TemporaryFolder folder;
  folder.put("vocab.json", R"({"a":0,"b":1})");
  folder.put("merges.txt", "#version: 0.2\na b\n");
  EXPECT_NE(refusal_of_folder(folder).find(R"(merges.txt): merge "a b": "ab" is not)"),
            std::string::npos)
      << refusal_of_folder(folder);
  folder.put("vocab.json", "[1]");
  EXPECT_NE(refusal_of_folder(folder).find("vocab.json): is not an object"), std::string::npos);
}

}  // namespace
}  // namespace headlight::text
