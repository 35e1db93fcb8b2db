// Two texts as one input, as tokenizers' post-processors put them together.
#include <gtest/gtest.h>

#include <algorithm>

#include "headlight/text/text.h"
#include "tests/base/temporary_folder.h"
#include "tests/places.h"
#include "tests/text/support.h"

namespace headlight::text {
namespace {

// A tokenizer of a few words with this post-processor.
class Pairs : public testing::Test {
 protected:
  Tokenizer with(const std::string& post_processor) {
    folder_.put(
        "tokenizer.json",
        R"({"added_tokens":[],"pre_tokenizer":{"type":"Whitespace"},"post_processor":)" +
            post_processor +
            R"(,"model":{"type":"WordLevel","vocab":{"[CLS]":0,"[SEP]":1,"a":2,"b":3,"c":4,)"
            R"("[UNK]":5},"unk_token":"[UNK]"}})");
    return load_tokenizer(base::real_files(), folder_.path());
  }

  test::TemporaryFolder folder_;
};

constexpr const char* kTemplate =
    R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},)"
    R"({"Sequence":{"id":"A","type_id":0}}],"pair":[{"SpecialToken":{"id":"[CLS]","type_id":0}},)"
    R"({"Sequence":{"id":"B","type_id":2}},{"SpecialToken":{"id":"[SEP]","type_id":3}},)"
    R"({"Sequence":{"id":"A","type_id":1}}],"special_tokens":{"[CLS]":{"id":"[CLS]","ids":[0],)"
    R"("tokens":["[CLS]"]},"[SEP]":{"id":"[SEP]","ids":[1],"tokens":["[SEP]"]}}})";

TEST_F(Pairs, of_bert_have_two_segments) {
  const PairIds pair = with(R"({"type":"BertProcessing","sep":["[SEP]",1],"cls":["[CLS]",0]})")
                           .encode_pair("a b", "c");
  EXPECT_EQ(pair.ids, (Ids{0, 2, 3, 1, 4, 1}));
  EXPECT_EQ(pair.segments, (Ids{0, 0, 0, 0, 1, 1}));
}

TEST_F(Pairs, of_roberta_have_two_separators_and_one_segment) {
  const PairIds pair = with(R"({"type":"RobertaProcessing","sep":["[SEP]",1],"cls":["[CLS]",0],)"
                            R"("trim_offsets":true,"add_prefix_space":false})")
                           .encode_pair("a b", "c");
  EXPECT_EQ(pair.ids, (Ids{0, 2, 3, 1, 1, 4, 1}));
  EXPECT_EQ(pair.segments, Ids(7, 0));
}

TEST_F(Pairs, of_a_template_are_as_it_says) {
  const PairIds pair = with(kTemplate).encode_pair("a b", "c");
  EXPECT_EQ(pair.ids, (Ids{0, 4, 1, 2, 3}));
  EXPECT_EQ(pair.segments, (Ids{0, 2, 3, 1, 1}));
}

TEST_F(Pairs, without_a_post_processor_follow_each_other) {
  for (const char* none : {R"(null)", R"({"type":"Sequence","processors":[]})"}) {
    const PairIds pair = with(none).encode_pair("a b", "c");
    EXPECT_EQ(pair.ids, (Ids{2, 3, 4}));
    EXPECT_EQ(pair.segments, (Ids{0, 0, 1}));
  }
}

TEST_F(Pairs, of_a_sequence_are_those_of_the_one_that_says_something) {
  const std::string level =
      R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})";
  const auto sequence = [](const std::string& parts) {
    return R"({"type":"Sequence","processors":[)" + parts + "]}";
  };
  const PairIds pair = with(sequence(level + "," + kTemplate)).encode_pair("a b", "c");
  EXPECT_EQ(pair.ids, (Ids{0, 4, 1, 2, 3}));
  constexpr const char* kBert = R"({"type":"BertProcessing","sep":["[SEP]",1],"cls":["[CLS]",0]})";
  const Tokenizer twice = with(sequence(std::string(kBert) + "," + kTemplate));
  EXPECT_EQ(twice.encode("a", {.framed = true}), (Ids{0, 0, 2, 1}));
  EXPECT_NE(io::error_of([&] { twice.encode_pair("a", "b"); }).find("what two texts become"),
            std::string::npos);
  // Others put these tokens around each part that the template has made.
  for (const std::string& first : {std::string(kTemplate), sequence(kTemplate)}) {
    EXPECT_NE(io::error_of([&] {
                with(sequence(first + "," + kBert));
              }).find("tokens around those of a TemplateProcessing are not supported"),
              std::string::npos);
  }
}

TEST_F(Pairs, that_leave_out_a_text_or_name_a_wrong_segment_are_refused) {
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string text = kTemplate;
    text.replace(text.rfind(from), from.size(), to);
    return text;
  };
  // One text is read all the same.
  const auto refusal = [&](const std::string& template_json) {
    const Tokenizer tokenizer = with(template_json);
    EXPECT_EQ(tokenizer.encode("a", {.framed = true}), (Ids{0, 2}));
    return io::error_of([&] { tokenizer.encode_pair("a", "b"); });
  };
  EXPECT_NE(refusal(changed(R"("id":"A")", R"("id":"B")")).find("each of two texts once"),
            std::string::npos);
  EXPECT_NE(refusal(changed(R"("id":"A")", R"("id":"C")")).find("something unknown"),
            std::string::npos);
  EXPECT_NE(refusal(changed(R"("type_id":1)", R"("type_id":-1)")).find("\"type_id\" that is none"),
            std::string::npos);
  EXPECT_NE(refusal(changed(R"("type_id":1)", R"("type_id":"x")")).find("\"type_id\" that is none"),
            std::string::npos);
}

// What Hugging Face's tokenizers give for these files.
TEST(PublishedPairs, are_those_of_the_tokenizers_library) {
  struct Case {
    const char* folder;
    Ids ids;
    int64_t last_of_segment_0;
  };
  const Case cases[] = {
      {"bert", {2, 77, 32, 53, 60, 130, 3, 25, 44, 54, 55, 55, 3}, 6},
      {"roberta", {0, 265, 224, 75, 82, 88, 86, 72, 2, 2, 224, 68, 224, 87, 85, 283, 2}, 16},
      {"albert", {2, 11, 5, 23, 17, 26, 44, 3, 5, 16, 5, 9, 12, 15, 15}, 14},
      {"llama2", {1, 302, 301, 279, 286, 292, 290, 276, 298, 272, 302, 289, 328}, 12}};
  for (const auto& [folder, ids, last] : cases) {
    const Tokenizer tokenizer = load_tokenizer(
        base::real_files(), tests::source_folder() + "/tests/golden/tokenizers/" + folder);
    const PairIds pair = tokenizer.encode_pair("the house", "a tree");
    EXPECT_EQ(pair.ids, ids) << folder;
    Ids segments(ids.size(), 1);
    std::fill(segments.begin(), segments.begin() + last + 1, 0);
    EXPECT_EQ(pair.segments, segments) << folder;
  }
}

}  // namespace
}  // namespace headlight::text
