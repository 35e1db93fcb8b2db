// What folders of sentence-transformers ask for: followed, or refused by name.
#include <filesystem>

#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

class SentenceFolder : public testing::Test {
 protected:
  SentenceFolder()
      : loaded_{folder_.path(), std::make_unique<models::Bert>(models::small_bert())} {}

  void put(const std::string& name, const std::string& json) {
    std::filesystem::create_directories(std::filesystem::path(folder_ / name).parent_path());
    folder_.put(name, json);
  }
  SentenceSettings settings() { return sentence_settings(base::real_files(), loaded_); }
  void expect_settings_refused(const std::string& part) {
    expect_refused(
        ErrorKind::bad_input, [&] { settings(); }, part);
  }
  // As sentence-transformers saves a model with these modules after the first.
  void put_modules(const std::vector<std::pair<std::string, std::string>>& modules) {
    std::string list = R"([{"idx":0,"name":"0","path":"","type":"a.b.Transformer"})";
    for (const auto& [path, type] : modules) {
      list += R"(,{"idx":1,"name":"1","path":")" + path +
              R"(","type":"sentence_transformers.models.)" + type + "\"}";
    }
    put("modules.json", list + "]");
  }

  TemporaryFolder folder_;
  LoadedModel loaded_;
};

TEST_F(SentenceFolder, without_settings_takes_the_mean_of_all) {
  EXPECT_EQ(settings().pooling, models::Pooling::mean);
  EXPECT_FALSE(settings().longest);
  EXPECT_EQ(settings().prepared("A b"), "A b");
}

TEST_F(SentenceFolder, chooses_between_the_mean_and_the_first_token) {
  const std::string flags = R"("word_embedding_dimension":24,"pooling_mode_max_tokens":false,)";
  put("1_Pooling/config.json",
      "{" + flags + R"("pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false})");
  EXPECT_EQ(settings().pooling, models::Pooling::first);
  put_modules({{"other", "Pooling"}, {"2_Normalize", "Normalize"}});
  EXPECT_EQ(settings().pooling, models::Pooling::mean) << "the list names another folder";
  put("other/config.json", R"({"pooling_mode":"cls"})");
  EXPECT_EQ(settings().pooling, models::Pooling::first);
  put("other/config.json",
      "{" + flags + R"("pooling_mode_cls_token":false,"pooling_mode_mean_tokens":true})");
  EXPECT_EQ(settings().pooling, models::Pooling::mean);
}

TEST_F(SentenceFolder, with_other_pooling_is_refused_by_name) {
  for (const char* mode :
       {"max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"}) {
    put("1_Pooling/config.json", R"({"pooling_mode_)" + std::string(mode) + R"(":true})");
    expect_settings_refused("1_Pooling/config.json (pooling_mode): is " + std::string(mode));
  }
  put("1_Pooling/config.json",
      R"({"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":true})");
  expect_settings_refused("is cls_token and mean_tokens; vectors are made by");
  put("1_Pooling/config.json", R"({"pooling_mode_cls_token":1})");
  expect_settings_refused("(pooling_mode_cls_token): is not true or false");
  put("1_Pooling/config.json", "7");
  expect_settings_refused("1_Pooling/config.json: is neither an object nor a list");
}

TEST_F(SentenceFolder, with_other_modules_is_refused_by_name) {
  put_modules({{"1_Pooling", "Pooling"}, {"2_Dense", "Dense"}});
  expect_settings_refused("a module \"Dense\" (2_Dense), which is not computed here");
  put_modules({{"1_Pooling", "Pooling"}, {"1_Other", "Pooling"}});
  expect_settings_refused("(1_Other): is a second Pooling");
  put("modules.json", R"([{"path":""}])");
  expect_settings_refused("modules.json (type): is missing");
  put("modules.json", "{}");
  expect_settings_refused("modules.json: is not a list");
  std::filesystem::remove(folder_ / "modules.json");
  put("2_Dense/config.json", "{}");
  expect_settings_refused("a module \"Dense\" (2_Dense)");
}

TEST_F(SentenceFolder, cuts_at_its_length_or_else_at_what_can_be_read) {
  put("sentence_bert_config.json", R"({"max_seq_length":7,"do_lower_case":true})");
  EXPECT_EQ(settings().longest, 7);
  EXPECT_EQ(settings().prepared("A É"), "a é");
  put("sentence_bert_config.json", R"({"max_seq_length":null,"do_lower_case":false})");
  EXPECT_EQ(settings().longest, 12);
  put("tokenizer_config.json", R"({"model_max_length":9})");
  EXPECT_EQ(settings().longest, 9);
  put("tokenizer_config.json", R"({"model_max_length":1000000000000000019884624838656})");
  EXPECT_EQ(settings().longest, 12);
  for (const char* wrong : {"0", "-1", "2.5", "\"7\""}) {
    put("sentence_bert_config.json", R"({"max_seq_length":)" + std::string(wrong) + "}");
    expect_settings_refused("sentence_bert_config.json (max_seq_length): is no whole number");
  }
  put("sentence_bert_config.json", R"({"transformer_task":"fill-mask"})");
  expect_settings_refused("(transformer_task): is \"fill-mask\"");
  put("sentence_bert_config.json", R"({"module_output_name":"sentence_embedding"})");
  expect_settings_refused("(module_output_name): is \"sentence_embedding\"");
}

TEST_F(SentenceFolder, puts_its_prompt_before_every_sentence) {
  put("config_sentence_transformers.json",
      R"({"prompts":{"query":"ask: ","document":""},"default_prompt_name":null})");
  EXPECT_EQ(settings().prompt, "");
  put("config_sentence_transformers.json",
      R"({"prompts":{"query":"ask: "},"default_prompt_name":"query"})");
  EXPECT_EQ(settings().prepared("a"), "ask: a");
  put("1_Pooling/config.json", R"({"pooling_mode_mean_tokens":true,"include_prompt":false})");
  expect_settings_refused("(include_prompt): is false");
  put("config_sentence_transformers.json", R"({"default_prompt_name":"other"})");
  expect_settings_refused("(default_prompt_name): is \"other\"");
  put("config_sentence_transformers.json", R"({"truncate_dim":8})");
  expect_settings_refused("(truncate_dim): is set");
}

}  // namespace
}  // namespace headlight::recipes
