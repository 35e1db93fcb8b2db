// What the registry lists, what models say they can do, models made from a request, and an
// architecture that only this file knows, read by the same code as all others.
#include <algorithm>

#include "tests/models/support.h"
#include "tests/places.h"

namespace headlight::models {
namespace {

int64_t number_count(const Model& model) {
  int64_t count = 0;
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    count += parameter->shape().elements();
  }
  return count;
}

// Guesses the next word from the last one alone.
class Bigram : public Model {
 public:
  Bigram(int64_t vocab_size, int64_t width)
      : words_("words", vocab_size, width),
        output_(std::make_shared<nn::Parameter>("next.weight", Shape{vocab_size, width})) {}

  static constexpr std::string_view kType = "bigram";
  std::string_view type() const override { return kType; }
  Capabilities capabilities() const override { return {}; }
  io::Json config() const override {
    return io::Json::Object{
        {"model_type", kType}, {"vocab_size", vocab_size()}, {"width", hidden_width()}};
  }
  int64_t vocab_size() const override { return words_.weight()->shape()[0]; }
  int64_t hidden_width() const override { return words_.weight()->shape()[1]; }
  int64_t context_length() const override { return 1000; }
  const SpecialIds& special_ids() const override { return special_ids_; }

  nn::Parameters parameters() const override {
    nn::Parameters all = words_.parameters();
    for (const nn::ParameterHandle& parameter : output_.parameters()) all.push_back(parameter);
    return all;
  }
  void draw(uint64_t seed) override { nn::draw_normal(parameters(), seed, 0.02F); }
  std::vector<nn::MultiHeadAttention*> attentions() override { return {}; }
  Parts parts() const override { return {}; }

  using Model::loss;
  Value forward(Context& context, const Batch& batch) const override {
    return words_.forward(context, batch.ids);
  }
  Value logits(Context& context, const Value& output) const override {
    return output_.logits(context, output);
  }
  Value loss(Context& context, const Value& output, const Tensor& targets,
             float label_smoothing) const override {
    return output_.loss(context, output, targets, label_smoothing);
  }

 private:
  bool ignores(const std::string& /*name*/, const nn::StoredTensor& /*tensor*/) const override {
    return false;
  }

  nn::Embedding words_;
  nn::OutputLayer output_;
  SpecialIds special_ids_;
};

ModelPlan read_bigram(const io::Json& config, const std::string& /*path*/,
                      const io::StoredTensors& /*tensors*/) {
  const int64_t ids = *config.find("vocab_size")->integer();
  const int64_t width = *config.find("width")->integer();
  return {.parameters = 2 * ids * width,
          .make = [ids, width] { return std::make_unique<Bigram>(ids, width); }};
}

std::string modern_bigram_name(const std::string& name) {
  return name == "table" ? "words.weight" : name;
}

Registry registry_with_bigram() {
  std::vector<Architecture> architectures = known_architectures().architectures();
  architectures.push_back(
      {.model_type = Bigram::kType, .read = read_bigram, .modern_name = modern_bigram_name});
  return Registry(std::move(architectures));
}

class OwnArchitecture : public ModelTest {
 protected:
  OwnArchitecture() : model_(11, 6) {
    fill(model_, 1);
    save_model(base::real_files(), folder_.path(), model_);
  }

  Tensor logits(const Model& model) {
    Context context = inference_context();
    const Batch batch{.ids = random_ids({2, 5}, model.vocab_size(), 1)};
    return model.logits(context, model.forward(context, batch)).data();
  }

  TemporaryFolder folder_;
  Bigram model_;
};

TEST_F(OwnArchitecture, is_read_once_a_registry_has_it) {
  expect_has(error_of([&] { load_model(base::real_files(), folder_.path()); }),
             R"(is "bigram", supported: gpt2, bert, headlight-seq2seq)");
  const auto loaded = load_model(base::real_files(), folder_.path(), registry_with_bigram());
  EXPECT_EQ(loaded->type(), "bigram");
  EXPECT_TRUE(same_bits(logits(*loaded), logits(model_)));
  save_model(base::real_files(), folder_.path(), *loaded);
  EXPECT_EQ(load_model(base::real_files(), folder_.path(), registry_with_bigram())->config(),
            model_.config());
}

TEST_F(OwnArchitecture, is_among_those_that_an_unknown_type_is_told_of) {
  folder_.put("config.json", R"({"model_type":"trigram"})");
  expect_has(
      error_of([&] { load_model(base::real_files(), folder_.path(), registry_with_bigram()); }),
      ", bigram");
}

TEST_F(OwnArchitecture, has_its_own_earlier_names) {
  nn::StateDict state = model_.state();
  std::vector<io::NamedTensor> tensors;
  for (const auto& [name, tensor] : state) {
    tensors.push_back({name == "words.weight" ? "table" : name, tensor});
  }
  io::write_safetensors(base::real_files(), folder_ / "model.safetensors", tensors);
  const auto loaded = load_model(base::real_files(), folder_.path(), registry_with_bigram());
  EXPECT_TRUE(same_bits(logits(*loaded), logits(model_)));
}

TEST_F(OwnArchitecture, is_refused_when_its_plan_needs_more_memory_than_there_is) {
  folder_.put("config.json",
              R"({"model_type":"bigram","vocab_size":1000000000,"width":1000000000})");
  try {
    load_model(base::real_files(), folder_.path(), registry_with_bigram());
    FAIL() << "loaded";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::out_of_memory);
  }
}

TEST_F(OwnArchitecture, refuses_what_it_cannot_do_and_names_who_can) {
  Context context = inference_context();
  const Value output = model_.forward(context, {.ids = random_ids({1, 3}, 11, 1)});
  expect_has(error_of([&] { model_.start(context); }),
             "bigram (decoding): the model does not write text; that takes gpt2, "
             "headlight-seq2seq, llama");
  expect_has(error_of([&] { model_.sentence_vectors(context, output); }),
             "bigram (sentence vectors): the model gives none; that takes bert");
}

TEST(RegistryTest, lists_its_architectures_in_order) {
  EXPECT_EQ(known_architectures().types(),
            (std::vector<std::string_view>{"gpt2", "bert", "headlight-seq2seq", "llama", "mistral",
                                           "qwen2", "qwen3", "smollm3", "gemma3_text", "gpt_neox",
                                           "gpt_neo", "opt", "roberta", "distilbert", "albert",
                                           "modernbert", "marian", "t5"}));
  EXPECT_EQ(known_architectures().find("llm"), nullptr);
  EXPECT_EQ(known_architectures().find("bert")->model_type, "bert");
}

TEST(RegistryTest, names_the_types_that_can_do_something) {
  const Registry& registry = known_architectures();
  EXPECT_EQ(registry.types_that({&Capabilities::continues_prompt}),
            "gpt2, llama, mistral, qwen2, qwen3, smollm3, gemma3_text, gpt_neox, gpt_neo or opt");
  EXPECT_EQ(registry.types_that({&Capabilities::translates}), "headlight-seq2seq, marian or t5");
  EXPECT_EQ(registry.types_that({&Capabilities::fills_masks}),
            "bert, roberta, distilbert, albert or modernbert");
  EXPECT_EQ(registry.types_that({&Capabilities::embeds}),
            "bert, roberta, distilbert, albert or modernbert");
  EXPECT_EQ(registry.types_that({&Capabilities::translates, &Capabilities::embeds}),
            "bert, headlight-seq2seq, roberta, distilbert, albert, modernbert, marian or t5");
}

void expect_can(const Model& model, const Capabilities& expected) {
  const Capabilities can = model.capabilities();
  EXPECT_EQ(can.continues_prompt, expected.continues_prompt) << model.type();
  EXPECT_EQ(can.translates, expected.translates) << model.type();
  EXPECT_EQ(can.fills_masks, expected.fills_masks) << model.type();
  EXPECT_EQ(can.embeds, expected.embeds) << model.type();
}

TEST(Capability, is_what_a_model_has_the_parts_for) {
  expect_can(Gpt(small_gpt()), {.continues_prompt = true});
  expect_can(Seq2Seq(small_seq2seq()), {.translates = true});
  BertConfig config = small_bert();
  expect_can(Bert(config), {.fills_masks = true, .embeds = true});
  config.masked_words = false;
  expect_can(Bert(config), {.embeds = true});
}

TEST_F(ModelTest, hidden_width_is_that_of_what_forward_gives) {
  Gpt gpt(small_gpt());
  Bert bert(small_bert());
  Seq2SeqConfig config = small_seq2seq();
  config.d_model = 32;
  Seq2Seq seq2seq(config);
  for (Model* model : std::initializer_list<Model*>{&gpt, &bert, &seq2seq}) {
    fill(*model, 1);
    Batch batch{.ids = random_ids({1, 3}, 17, 1)};
    if (model->capabilities().translates) batch.source_ids = random_ids({1, 4}, 17, 2);
    Context context = inference_context();
    EXPECT_EQ(model->forward(context, batch).size(2), model->hidden_width()) << model->type();
  }
}

constexpr ModelRequest kRequest = {.vocab_size = 17,
                                   .n_layer = 2,
                                   .n_head = 4,
                                   .n_embd = 24,
                                   .block_size = 12,
                                   .dropout = 0.25F,
                                   .activation = nn::Activation::relu,
                                   .special_ids = {.padding = 0, .end = 2}};

TEST(FreshModel, of_every_type_is_of_the_size_that_was_told_before_it_was_made) {
  for (const std::string_view type : known_architectures().types()) {
    const ModelPlan plan = known_architectures().plan(type, kRequest);
    const std::unique_ptr<Model> model = plan.make();
    EXPECT_EQ(model->type(), type);
    EXPECT_EQ(number_count(*model), plan.parameters) << type;
    EXPECT_GT(plan.activations, 0) << type;
    EXPECT_EQ(model->vocab_size(), 17);
    EXPECT_EQ(model->hidden_width(), 24);
    EXPECT_EQ(model->context_length(), 12);
    EXPECT_EQ(model->special_ids().end, 2);
  }
}

TEST(FreshModel, has_what_the_request_says) {
  ModelRequest request = kRequest;
  request.bias = false;
  request.tie_embeddings = false;
  request.d_ff = 40;
  const auto gpt = known_architectures().plan("gpt2", request).make();
  EXPECT_EQ(gpt->config(), Gpt({.block_size = 12,
                                .vocab_size = 17,
                                .n_layer = 2,
                                .n_head = 4,
                                .n_embd = 24,
                                .n_inner = 40,
                                .dropout = 0.25F,
                                .bias = false,
                                .activation = nn::Activation::relu,
                                .tied_head = false,
                                .special_ids = request.special_ids})
                               .config());

  request = kRequest;
  request.n_encoder_layer = 3;
  request.pre_norm = true;
  request.learned_positions = false;
  const ModelPlan plan = known_architectures().plan("headlight-seq2seq", request);
  EXPECT_EQ(plan.tables, 2 * 12 * 24);
  EXPECT_EQ(plan.make()->config(), Seq2Seq({.vocab_size = 17,
                                            .d_model = 24,
                                            .encoder_layers = 3,
                                            .decoder_layers = 2,
                                            .encoder_attention_heads = 4,
                                            .decoder_attention_heads = 4,
                                            .encoder_ffn_dim = 96,
                                            .decoder_ffn_dim = 96,
                                            .max_position_embeddings = 12,
                                            .normalize_before = true,
                                            .final_layer_norm = true,
                                            .dropout = 0.25F,
                                            .special_ids = request.special_ids})
                                       .config());
}

TEST(FreshModel, takes_what_its_kind_leaves_open) {
  ModelRequest request = kRequest;
  request.n_kv_head = 2;
  request.rope_theta = 5000;
  request.sliding_window = 7;
  request.activation = nn::Activation::gelu;
  const io::Json config = known_architectures().plan("qwen3", request).make()->config();
  EXPECT_EQ(*config.find("num_key_value_heads"), io::Json(2));
  EXPECT_EQ(*config.find("rope_theta"), io::Json(5000.0));
  EXPECT_EQ(*config.find("sliding_window"), io::Json(7));
  EXPECT_EQ(*config.find("use_sliding_window"), io::Json(true));
  EXPECT_EQ(*config.find("hidden_act"), io::Json("gelu"));
  EXPECT_EQ(*config.find("intermediate_size"), io::Json(64)) << "8/3 of 24";
  EXPECT_EQ(*config.find("tie_word_embeddings"), io::Json(false));
}

TEST(FreshModel, is_refused_what_its_kind_has_no_choice_of) {
  const auto error = [](std::string_view type, const auto& change) {
    ModelRequest request = kRequest;
    change(request);
    return error_of([&] { known_architectures().plan(type, request); });
  };
  EXPECT_EQ(error("llama", [](ModelRequest& request) { request.learned_positions = true; }),
            "llama (positions): a llama model has no such choice");
  EXPECT_EQ(error("mistral", [](ModelRequest& request) { request.bias = true; }),
            "mistral (bias): a mistral model always has false");
  EXPECT_EQ(error("bert", [](ModelRequest& request) { request.pre_norm = true; }),
            "bert (norm): a bert model always has post");
  EXPECT_EQ(error("gpt2", [](ModelRequest& request) { request.rope_theta = 1e4; }),
            "gpt2 (rope_theta): a gpt2 model has no such choice");
  EXPECT_EQ(error("gpt2", [](ModelRequest& request) { request.n_encoder_layer = 1; }),
            "gpt2 (n_encoder_layer): a gpt2 model has one stack: n_layer");
  EXPECT_EQ(error("llama", [](ModelRequest& request) { request.n_kv_head = 3; }),
            "llama (n_kv_head): 4 heads cannot share 3 key and value heads evenly");
  EXPECT_EQ(error("gpt2", [](ModelRequest& request) { request.pre_norm = true; }), "");
}

float deviation_of(const Model& model, const std::string& name) {
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    if (parameter->name() != name) continue;
    double square = 0;
    for (const float number : floats(parameter->value().data())) square += number * number;
    return static_cast<float>(
        std::sqrt(square / static_cast<double>(parameter->shape().elements())));
  }
  ADD_FAILURE() << name << " is not there";
  return 0;
}

TEST(FreshModel, is_drawn_as_its_family_is) {
  ModelRequest request = kRequest;
  request.n_embd = 64;
  request.vocab_size = 400;
  const auto drawn = [&](std::string_view type) {
    std::unique_ptr<Model> model = known_architectures().plan(type, request).make();
    model->draw(1);
    return model;
  };
  const auto t5 = drawn("t5");
  EXPECT_NEAR(deviation_of(*t5, "shared.weight"), 1, 0.02);
  const std::string attention = "encoder.block.0.layer.0.SelfAttention.";
  EXPECT_NEAR(deviation_of(*t5, attention + "q.weight"), 1 / 32.0, 0.002);
  EXPECT_NEAR(deviation_of(*t5, attention + "k.weight"), 1 / 8.0, 0.008);
  EXPECT_NEAR(deviation_of(*t5, attention + "o.weight"), 1 / 8.0, 0.008);
  const std::string dense = "encoder.block.0.layer.1.DenseReluDense.";
  EXPECT_NEAR(deviation_of(*t5, dense + "wo.weight"), 1 / 16.0, 0.004);
  const auto llama = drawn("llama");
  EXPECT_NEAR(deviation_of(*llama, "model.layers.0.self_attn.o_proj.weight"), 0.02, 0.001);
  EXPECT_EQ(deviation_of(*llama, "model.norm.weight"), 1);
  EXPECT_EQ(deviation_of(*drawn("gemma3_text"), "model.norm.weight"), 0) << "it adds 1";
  // Cut off at two deviations, a normal draw has 0.88 of its deviation.
  const auto modern = drawn("modernbert");
  EXPECT_NEAR(deviation_of(*modern, "model.layers.0.attn.Wqkv.weight"), 0.88 * 0.02, 0.001);
  EXPECT_NEAR(deviation_of(*modern, "model.layers.0.attn.Wo.weight"), 0.88 * 0.01, 0.001);
}

TEST_F(ModelTest, a_fresh_bert_fills_masks_and_is_written_as_one) {
  const auto bert = known_architectures().plan("bert", kRequest).make();
  bert->draw(1);
  EXPECT_TRUE(bert->capabilities().fills_masks);
  TemporaryFolder folder;
  save_model(base::real_files(), folder.path(), *bert);
  const auto loaded = load_model(base::real_files(), folder.path());
  EXPECT_EQ(loaded->config(), bert->config());
  EXPECT_EQ(loaded->config().find("architectures")->array()->front(), "BertForMaskedLM");
}

TEST(FreshModel, that_cannot_be_is_refused_by_name_and_with_the_numbers) {
  const auto error = [](std::string_view type, const ModelRequest& request) {
    return error_of([&] { registry_with_bigram().plan(type, request); });
  };
  expect_has(error("llm", kRequest),
             "model (llm): is unknown; trained from scratch: gpt2, bert, headlight-seq2seq, llama");
  expect_has(error("bigram", kRequest),
             "model (bigram): is only read from folders; trained from scratch: gpt2, bert, "
             "headlight-seq2seq, llama");
  ModelRequest request = kRequest;
  request.n_head = 5;
  expect_has(error("gpt2", request), "gpt2 (n_embd): 24 is not a multiple of n_head 5");
  request = kRequest;
  request.n_layer = 0;
  expect_has(error("bert", request), "bert (n_layer): is 0, at least 1 is needed");
  request.n_encoder_layer = request.n_decoder_layer = 1;
  EXPECT_EQ(error("headlight-seq2seq", request), "");
}

// What the docs say is read and written is what is read and written.
TEST(RegistryTest, has_the_types_that_the_docs_list) {
  const std::string docs = base::read_all(
      *base::open_input(base::real_files(), tests::source_folder() + "/docs/how-to/models.md"),
      1 << 20);
  const size_t begin = docs.find("| `model_type` |");
  ASSERT_NE(begin, std::string::npos);
  const std::string table = docs.substr(begin, docs.find("\n\n", begin) - begin);
  for (const std::string_view type : known_architectures().types()) {
    EXPECT_NE(table.find("\n| `" + std::string(type) + "` |"), std::string::npos) << type;
  }
  EXPECT_EQ(std::ranges::count(table, '\n'), std::ssize(known_architectures().types()) + 1);
}

}  // namespace
}  // namespace headlight::models
