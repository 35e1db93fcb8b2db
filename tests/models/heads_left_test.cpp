// Pruned folders: what "headlight_heads" says is what there is, and what cannot be is refused.
#include "tests/models/support.h"

namespace headlight::models {
namespace {

class PrunedFolder : public ModelTest {
 protected:
  template <class Architecture, class Config>
  void expect_back(Config config, const HeadsLeft& left) {
    config.heads_left = left;
    Architecture model(config);
    fill(model, 1);
    save_model(base::real_files(), folder_.path(), model);
    const std::unique_ptr<Model> loaded = load_model(base::real_files(), folder_.path());
    EXPECT_EQ(loaded->config(), model.config());
    EXPECT_EQ(heads_left_of(*loaded), left);
    EXPECT_TRUE(same_bits(logits(*loaded), logits(model)));
    int64_t count = 0;
    for (const nn::ParameterHandle& one : model.parameters()) count += one->shape().elements();
    EXPECT_EQ(parameter_count(config), count);
  }

  Tensor logits(const Model& model) {
    Context context = inference_context();
    Batch batch{.ids = random_ids({2, 5}, model.vocab_size(), 1)};
    if (model.capabilities().translates) {
      batch.source_ids = random_ids({2, 7}, model.source_vocab_size(), 2);
    }
    return model.logits(context, model.forward(context, batch)).data();
  }

  // The folder's error once "headlight_heads" is this.
  std::string refused(const io::Json& config, const std::string& heads) {
    io::Json changed = config;
    std::erase_if(*changed.object(),
                  [](const auto& one) { return one.first == "headlight_heads"; });
    std::string text = io::json_text(changed);
    text.back() = ',';
    folder_.put("config.json", text + "\"headlight_heads\":" + heads + "}");
    const std::string message =
        error_of([this] { load_model(base::real_files(), folder_.path()); });
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message;
  }

  TemporaryFolder folder_;
};

TEST_F(PrunedFolder, of_a_gpt_gives_it_back) {
  for (const bool bias : {true, false}) {
    GptConfig config = small_gpt();
    config.bias = bias;
    expect_back<Gpt>(config, {{"decoder.0.self", {0, 2}}});
    expect_back<Gpt>(config, {{"decoder.0.self", {}}, {"decoder.1.self", {3}}});
  }
}

TEST_F(PrunedFolder, of_a_bert_gives_it_back) {
  for (const bool tied : {true, false}) {
    BertConfig config = small_bert();
    config.tied_head = tied;
    expect_back<Bert>(config, {{"encoder.1.self", {1, 2, 3}}});
    expect_back<Bert>(config, {{"encoder.0.self", {1}}, {"encoder.1.self", {}}});
  }
}

TEST_F(PrunedFolder, of_an_encoder_decoder_gives_it_back) {
  for (const int64_t head_dim : {0, 5}) {
    Seq2SeqConfig config = small_seq2seq();
    config.head_dim = head_dim;
    config.normalize_before = head_dim == 0;
    expect_back<Seq2Seq>(config, {{"decoder.0.cross", {0}}, {"encoder.1.self", {2, 3}}});
    expect_back<Seq2Seq>(config, {{"decoder.0.cross", {}},
                                  {"decoder.1.self", {}},
                                  {"encoder.0.self", {}},
                                  {"encoder.1.self", {1}}});
  }
}

TEST_F(PrunedFolder, names_heads_in_the_order_of_layers_and_only_where_some_are_gone) {
  GptConfig config = small_gpt();
  config.n_layer = 12;
  config.heads_left = {
      {"decoder.10.self", {1}}, {"decoder.2.self", {}}, {"decoder.3.self", {0, 1, 2, 3}}};
  const Gpt model(config);
  EXPECT_EQ(io::json_text(*model.config().find("headlight_heads")),
            R"({"decoder.2.self":[],"decoder.10.self":[1]})");
  EXPECT_EQ(Gpt(small_gpt()).config().find("headlight_heads"), nullptr);
}

TEST_F(PrunedFolder, counts_fewer_numbers_to_keep) {
  const auto activations = [](const HeadsLeft& left) {
    GptConfig config = small_gpt();
    config.heads_left = left;
    Gpt model(config);
    TemporaryFolder folder;
    fill(model, 1);
    save_model(base::real_files(), folder.path(), model);
    const io::Safetensors tensors =
        io::open_safetensors(base::real_files(), folder / "model.safetensors");
    return gpt2_architecture().read(model.config(), "config.json", tensors).activations;
  };
  EXPECT_EQ(activations({}), 2 * (8 * 24 + 2 * 96));
  EXPECT_EQ(activations({{"decoder.1.self", {0}}}), 8 * 24 + 4 * 24 + 4 * 6 + 4 * 96);
}

TEST_F(PrunedFolder, refuses_heads_that_cannot_be) {
  Gpt gpt(small_gpt());
  fill(gpt, 1);
  save_model(base::real_files(), folder_.path(), gpt);
  const io::Json config = gpt.config();
  EXPECT_EQ(refused(config, "null"), "");
  EXPECT_EQ(refused(config, "{}"), "");
  EXPECT_EQ(refused(config, R"({"decoder.0.self":[0,1,2,3]})"), "");
  const std::pair<const char*, const char*> cases[] = {
      {"[0,2]",
       "config.json (headlight_heads): an object is needed, e.g. {\"decoder.0.self\": [0, 2]}"},
      {"3", "(headlight_heads): an object is needed"},
      {R"({"decoder.2.self":[0]})",
       "(headlight_heads.decoder.2.self): the model has no such attention; the nearest is"},
      {R"({"encoder.0.self":[0]})", "the model has no such attention"},
      {R"({"decoder.0.cross":[0]})", "the model has no such attention"},
      {R"({"":[0]})", "the model has no such attention"},
      {R"({"decoder.0.self":2})", "(headlight_heads.decoder.0.self): a list of the heads"},
      {R"({"decoder.0.self":null})", "a list of the heads that are left is needed"},
      {R"({"decoder.0.self":[0,4]})", "there is no head 4 among 4, they count from 0"},
      {R"({"decoder.0.self":[-1]})", "there is no head -1 among 4"},
      {R"({"decoder.0.self":[9223372036854775807]})", "there is no head 9223372036854775807"},
      {R"({"decoder.0.self":[9223372036854775808]})", "whole numbers"},
      {R"({"decoder.0.self":[2,0]})", "in ascending order, each once; 0 stands after 2"},
      {R"({"decoder.0.self":[1,1]})", "1 stands after 1"},
      {R"({"decoder.0.self":[0.5]})", "heads are named by whole numbers"},
      {R"({"decoder.0.self":["0"]})", "heads are named by whole numbers"},
      {R"({"decoder.0.self":[[0]]})", "heads are named by whole numbers"},
      {R"({"decoder.0.self":[0],"decoder.0.self":[1]})", "stands twice"},
      // The tensors have all heads.
      {R"({"decoder.0.self":[0,2]})",
       "transformer.h.0.attn.c_attn.weight is float32 [24, 72] and "
       "should be [24, 36]"},
      {R"({"decoder.1.self":[]})",
       "transformer.h.1.attn.c_attn.weight is float32 [24, 72] and "
       "should be [24, 0]"}};
  for (const auto& [heads, part] : cases) {
    SCOPED_TRACE(heads);
    expect_has(refused(config, heads), part);
  }
}

TEST_F(PrunedFolder, refuses_fewer_tensors_than_heads) {
  GptConfig smaller = small_gpt();
  smaller.heads_left = {{"decoder.0.self", {1}}};
  Gpt gpt(smaller);
  fill(gpt, 1);
  save_model(base::real_files(), folder_.path(), gpt);
  expect_has(refused(gpt.config(), "{}"), "should be [24, 72]");
  expect_has(refused(gpt.config(), R"({"decoder.0.self":[1,2]})"), "should be [24, 36]");
  EXPECT_EQ(refused(gpt.config(), R"({"decoder.0.self":[2]})"), "");
}

TEST_F(PrunedFolder, is_refused_by_constructors_too) {
  GptConfig config = small_gpt();
  config.heads_left = {{"decoder.5.self", {1}}};
  expect_has(error_of([&] { Gpt model(config); }), "gpt2 (decoder.5.self): the model has no such");
  BertConfig bert = small_bert();
  bert.heads_left = {{"encoder.0.self", {7}}};
  expect_has(error_of([&] { Bert model(bert); }), "bert (encoder.0.self): there is no head 7");
  Seq2SeqConfig pairs = small_seq2seq();
  pairs.heads_left = {{"decoder.0.cross", {1, 0}}};
  expect_has(error_of([&] { Seq2Seq model(pairs); }), "0 stands after 1");
}

}  // namespace
}  // namespace headlight::models
