// Model folders as they are found: prefixes, tied heads, buffers, shards, halves, old names; and
// what is written.
#include "tests/models/support.h"

namespace headlight::models {
namespace {

std::vector<io::NamedTensor> listed(const nn::StateDict& state) {
  std::vector<io::NamedTensor> list;
  for (const auto& [name, tensor] : state) list.push_back({name, tensor});
  return list;
}

class Folder : public ModelTest {
 protected:
  void write(const nn::StateDict& state, const io::Json& config) {
    io::write_safetensors(base::real_files(), folder_ / "model.safetensors", listed(state));
    folder_.put("config.json", io::json_text(config));
  }
  std::unique_ptr<Model> load() { return load_model(base::real_files(), folder_.path()); }

  Tensor logits(const Model& model) {
    Context context = inference_context();
    Batch batch{.ids = random_ids({2, 5}, model.vocab_size(), 1)};
    if (model.capabilities().translates) {
      batch.source_ids = random_ids({2, 7}, model.source_vocab_size(), 2);
    }
    return model.logits(context, model.forward(context, batch)).data();
  }

  void expect_back(Model& model) {
    fill(model, 1);
    save_model(base::real_files(), folder_.path(), model);
    const std::unique_ptr<Model> loaded = load();
    EXPECT_EQ(loaded->config(), model.config());
    EXPECT_EQ(loaded->type(), model.type());
    EXPECT_TRUE(same_bits(logits(*loaded), logits(model)));
  }

  TemporaryFolder folder_;
};

template <class Config>
void expect_counted(const Model& model, const Config& config) {
  int64_t count = 0;
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    count += parameter->shape().elements();
  }
  EXPECT_EQ(parameter_count(config), count);
}

TEST_F(Folder, of_any_gpt_gives_it_back) {
  for (const bool bias : {true, false}) {
    for (const bool tied : {true, false}) {
      GptConfig config = small_gpt();
      config.bias = bias;
      config.tied_head = tied;
      config.n_inner = 40;
      config.activation = bias ? nn::Activation::gelu : nn::Activation::relu;
      config.dropout = 0.1F;
      config.layer_norm_epsilon = 1e-6F;
      config.special_ids.end = 3;
      Gpt model(config);
      expect_back(model);
      expect_counted(model, config);
    }
  }
}

TEST_F(Folder, of_any_encoder_decoder_gives_it_back) {
  Seq2SeqConfig config = small_seq2seq();
  config.special_ids = {.padding = 0, .begin = 1, .end = 2, .decoder_start = 1};
  Seq2Seq plain(config);
  expect_back(plain);
  expect_counted(plain, config);

  config.decoder_vocab_size = 13;
  config.shared_embeddings = false;
  config.tied_head = false;
  config.head_bias = true;
  config.normalize_before = true;
  config.final_layer_norm = true;
  config.scale_embedding = false;
  config.activation = nn::Activation::gelu_tanh;
  config.learned_positions = true;
  config.position_start = 2;
  config.decoder_layers = 1;
  config.decoder_attention_heads = 3;
  config.decoder_ffn_dim = 20;
  config.dropout = 0.3F;
  config.attention_dropout = 0.2F;
  config.activation_dropout = 0.1F;
  Seq2Seq other(config);
  expect_back(other);
  expect_counted(other, config);

  config.learned_positions = false;
  config.position_halves = true;
  config.position_half_minus_one = true;
  config.tied_head = true;
  config.head_bias = false;
  Seq2Seq third(config);
  expect_back(third);
  expect_counted(third, config);
}

TEST_F(Folder, with_heads_of_another_width_says_so) {
  Seq2SeqConfig config = small_seq2seq();
  config.encoder_attention_heads = 5;
  config.decoder_attention_heads = 1;
  config.head_dim = 7;
  Seq2Seq model(config);
  expect_back(model);
  expect_counted(model, config);
  EXPECT_EQ(model.config().find("head_dim")->integer(), 7);

  config = small_seq2seq();
  config.head_dim = config.d_model / config.encoder_attention_heads;
  EXPECT_EQ(Seq2Seq(config).config().find("head_dim"), nullptr);
}

TEST_F(Folder, of_any_bert_gives_it_back) {
  BertConfig config = small_bert();
  for (const bool pooler : {true, false}) {
    config.pooler = pooler;
    Bert model(config);
    expect_back(model);
    expect_counted(model, config);
  }
  config.masked_words = false;
  Bert model(config);
  expect_counted(model, config);
  fill(model, 1);
  save_model(base::real_files(), folder_.path(), model);
  const auto loaded = load();
  expect_has(error_of([&] { logits(*loaded); }), "no head that predicts words");
}

TEST_F(Folder, without_prefix_gives_the_same_under_its_own_names) {
  Gpt model(small_gpt());
  fill(model, 1);
  write(under(model.state(), "transformer."), model.config());
  const auto loaded = load();
  EXPECT_EQ(loaded->parameters().front()->name(), "wte.weight");
  EXPECT_TRUE(same_bits(logits(*loaded), logits(model)));

  Bert encoder(small_bert());
  fill(encoder, 1);
  nn::StateDict state = under(encoder.state(), "bert.");
  for (const auto& [name, tensor] : encoder.state()) {
    if (name.starts_with("cls.")) state[name] = tensor;
  }
  write(state, encoder.config());
  EXPECT_TRUE(same_bits(logits(*load()), logits(encoder)));
}

TEST_F(Folder, with_copies_of_tied_weights_and_mask_buffers_is_read) {
  Gpt model(small_gpt());
  fill(model, 1);
  nn::StateDict state = model.state();
  state["lm_head.weight"] = state.at("transformer.wte.weight");
  state["transformer.h.0.attn.bias"] = Tensor::zeros(DType::f32, {1, 1, 12, 12});
  state["transformer.h.0.attn.masked_bias"] = Tensor::zeros(DType::f32, {});
  write(state, model.config());
  EXPECT_TRUE(same_bits(logits(*load()), logits(model)));

  Seq2Seq seq2seq(small_seq2seq());
  fill(seq2seq, 2);
  state = seq2seq.state();
  for (const char* copy :
       {"lm_head.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}) {
    state[copy] = state.at("shared.weight");
  }
  write(state, seq2seq.config());
  EXPECT_TRUE(same_bits(logits(*load()), logits(seq2seq)));
}

TEST_F(Folder, of_bert_with_old_names_and_the_head_for_the_next_sentence_is_read) {
  Bert model(small_bert());
  fill(model, 1);
  nn::StateDict state;
  for (const auto& [name, tensor] : model.state()) {
    std::string old = name;
    if (const size_t at = name.find("LayerNorm."); at != std::string::npos) {
      old = name.substr(0, at + 10) + (name.ends_with("weight") ? "gamma" : "beta");
    }
    state[old] = tensor;
  }
  state["cls.seq_relationship.weight"] = Tensor::zeros(DType::f32, {2, 24});
  state["cls.seq_relationship.bias"] = Tensor::zeros(DType::f32, {2});
  state["bert.embeddings.position_ids"] = Tensor::zeros(DType::i64, {1, 12});
  write(state, model.config());
  EXPECT_TRUE(same_bits(logits(*load()), logits(model)));
}

// A tiny model of a family, under names that its folder's tensors do not have today.
using Renaming = std::string (*)(std::string name);

std::string with_old_norm(std::string name) {
  const size_t at = name.find("LayerNorm.");
  return at == std::string::npos
             ? name
             : name.substr(0, at + 10) + (name.ends_with("weight") ? "gamma" : "beta");
}

std::string with_usual_head(std::string name) {
  return name == "embed_out.weight" ? "lm_head.weight" : name;
}

std::string without_first_part(std::string name) {
  return name.starts_with("model.") ? name.substr(6) : name;
}

TEST_F(Folder, of_a_family_with_names_that_others_store_is_read) {
  const std::pair<const char*, Renaming> cases[] = {{"roberta", with_old_norm},
                                                    {"distilbert", with_old_norm},
                                                    {"albert", with_old_norm},
                                                    {"gpt_neox", with_usual_head},
                                                    {"marian", without_first_part}};
  for (const auto& [family, renamed] : cases) {
    SCOPED_TRACE(family);
    const std::unique_ptr<Model> model = load_model(base::real_files(), golden_folder(family));
    nn::StateDict state;
    bool has_another_name = false;
    for (const auto& [name, tensor] : model->state()) {
      has_another_name = has_another_name || renamed(name) != name;
      state[renamed(name)] = tensor;
    }
    EXPECT_TRUE(has_another_name);
    write(state, model->config());
    const std::unique_ptr<Model> loaded = load();
    EXPECT_TRUE(same_bits(logits(*loaded), logits(*model)));
    save_model(base::real_files(), folder_.path(), *loaded);
    EXPECT_TRUE(same_bits(logits(*load()), logits(*model)));
  }
}

TEST_F(Folder, in_shards_is_one_model) {
  Gpt model(small_gpt());
  fill(model, 1);
  io::Json::Object map;
  std::vector<io::NamedTensor> shards[2];
  for (const io::NamedTensor& named : listed(model.state())) {
    const size_t shard = map.size() % 2;
    shards[shard].push_back(named);
    map.emplace_back(named.name, "model-" + std::to_string(shard) + ".safetensors");
  }
  for (size_t i = 0; i < 2; ++i) {
    io::write_safetensors(base::real_files(),
                          folder_ / ("model-" + std::to_string(i) + ".safetensors"), shards[i]);
  }
  folder_.put("model.safetensors.index.json", io::json_text(io::Json::Object{{"weight_map", map}}));
  folder_.put("config.json", io::json_text(model.config()));
  EXPECT_TRUE(same_bits(logits(*load()), logits(model)));
}

TEST_F(Folder, stored_in_bfloat16_is_the_model_of_the_rounded_numbers) {
  Gpt model(small_gpt());
  fill(model, 1);
  nn::StateDict halves;
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    Tensor numbers = parameter->change();
    Tensor half = Tensor::uninitialized(DType::bf16, numbers.shape());
    for (int64_t i = 0; i < numbers.elements(); ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, numbers.data<float>() + i, sizeof bits);
      half.mutable_data<uint16_t>()[i] = static_cast<uint16_t>(bits >> 16);
      numbers.mutable_data<float>()[i] = tensor::from_bfloat16(half.data<uint16_t>()[i]);
    }
    halves[parameter->name()] = half;
  }
  write(halves, model.config());
  EXPECT_TRUE(same_bits(logits(*load()), logits(model)));
}

TEST_F(Folder, of_a_gpt_without_biases_says_so_and_holds_zeros_for_others) {
  GptConfig config = small_gpt();
  config.bias = false;
  Gpt model(config);
  fill(model, 1);
  const nn::StateDict state = model.state();
  EXPECT_EQ(model.parameters().size(), 15u);
  EXPECT_EQ(state.size(), 28u);
  EXPECT_EQ(state.at("transformer.h.1.attn.c_attn.bias").shape(), (Shape{72}));
  EXPECT_EQ(largest(state.at("transformer.h.1.mlp.c_fc.bias")), 0);
  EXPECT_EQ(model.config().find("headlight_bias")->boolean(), false);
  write(state, model.config());
  EXPECT_EQ(load()->parameters().size(), 15u);
}

}  // namespace
}  // namespace headlight::models
