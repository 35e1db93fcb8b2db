// Tensors that are stored twice: the same numbers are one tensor, other numbers count as what they
// are, and nothing is left out in silence.
#include "tests/models/support.h"

namespace headlight::models {
namespace {

Tensor other_numbers(const Shape& shape, uint64_t seed) {
  const base::Random random(seed);
  Tensor numbers = Tensor::uninitialized(DType::f32, shape);
  for (int64_t i = 0; i < numbers.elements(); ++i) {
    numbers.mutable_data<float>()[i] = 0.2F * random.normal(static_cast<uint64_t>(i));
  }
  return numbers;
}

class Ties : public ModelTest {
 protected:
  void write(const nn::StateDict& state, io::Json config) {
    std::vector<io::NamedTensor> list;
    for (const auto& [name, tensor] : state) list.push_back({name, tensor});
    io::write_safetensors(base::real_files(), folder_ / "model.safetensors", list);
    folder_.put("config.json", io::json_text(config));
  }
  std::unique_ptr<Model> load() {
    notes_.clear();
    return load_model(base::real_files(), folder_.path(), known_architectures(), &notes_);
  }
  std::string error() {
    return error_of([this] { load(); });
  }
  Tensor logits(const Model& model) {
    Context context = inference_context();
    Batch batch{.ids = random_ids({2, 5}, model.vocab_size(), 1)};
    if (model.capabilities().translates) {
      batch.source_ids = random_ids({2, 7}, model.source_vocab_size(), 2);
    }
    return model.logits(context, model.forward(context, batch)).data();
  }
  // Written, read and written again it is the same.
  void expect_saved(const Model& model) {
    save_model(base::real_files(), folder_.path(), model);
    const auto again = load();
    EXPECT_TRUE(same_bits(logits(*again), logits(model)));
    EXPECT_EQ(again->config(), model.config());
    EXPECT_TRUE(notes_.empty());
  }
  static io::Json without(io::Json config, std::string_view key) {
    std::erase_if(*config.object(), [&](const auto& member) { return member.first == key; });
    return config;
  }

  TemporaryFolder folder_;
  std::vector<std::string> notes_;
};

TEST_F(Ties, an_output_layer_of_a_gpt_with_other_numbers_is_used_as_it_is_stored) {
  GptConfig config = small_gpt();
  Gpt tied(config);
  fill(tied, 1);
  config.tied_head = false;
  Gpt untied(config);
  nn::StateDict state = tied.state();
  state["lm_head.weight"] = other_numbers({17, 24}, 5);
  untied.load_state(state, "test");
  for (const io::Json& written :
       {tied.config(), without(tied.config(), "tie_word_embeddings"), untied.config()}) {
    write(state, written);
    const auto loaded = load();
    EXPECT_TRUE(same_bits(logits(*loaded), logits(untied)));
    EXPECT_EQ(loaded->config().find("tie_word_embeddings")->boolean(), false);
    EXPECT_EQ(notes_.size(), written == untied.config() ? 0u : 1u);
    if (!notes_.empty()) {
      expect_has(notes_[0], "lm_head.weight has other numbers than transformer.wte.weight");
    }
  }
  expect_saved(*load());
}

TEST_F(Ties, a_table_of_both_sides_may_stand_under_a_name_of_either) {
  for (const char* family : {"t5", "marian"}) {
    SCOPED_TRACE(family);
    const auto model = load_model(base::real_files(), golden_folder(family));
    const nn::StateDict whole = model->state();
    const std::string prefix = family == std::string("t5") ? "" : "model.";
    const std::string sides[] = {prefix + "encoder.embed_tokens.weight",
                                 prefix + "decoder.embed_tokens.weight"};
    nn::StateDict state = whole;
    state.erase(prefix + "shared.weight");
    write(state, model->config());
    expect_has(error(), "1 missing: " + prefix + "shared.weight");
    for (const bool first : {true, false}) {
      for (const bool second : {true, false}) {
        if (!first && !second) continue;
        nn::StateDict named = state;
        if (first) named[sides[0]] = whole.at(prefix + "shared.weight");
        if (second) named[sides[1]] = whole.at(prefix + "shared.weight");
        write(named, model->config());
        EXPECT_TRUE(same_bits(logits(*load()), logits(*model)));
      }
    }
    state[sides[0]] = whole.at(prefix + "shared.weight");
    state[sides[1]] = other_numbers(state[sides[0]].shape(), 5);
    write(state, model->config());
    expect_has(error(), sides[1] + " has other numbers than " + prefix + "shared.weight");
  }
}

TEST_F(Ties, a_bias_of_masked_words_may_stand_under_its_other_name_alone) {
  const auto model = load_model(base::real_files(), golden_folder("albert"));
  nn::StateDict state = model->state();
  const Tensor bias = state.at("predictions.bias");
  state.erase("predictions.bias");
  state["predictions.decoder.bias"] = bias;
  write(state, model->config());
  EXPECT_TRUE(same_bits(logits(*load()), logits(*model)));
}

TEST_F(Ties, copies_of_the_same_numbers_are_one_tensor_in_any_type) {
  Gpt model(small_gpt());
  fill(model, 1);
  nn::StateDict state = model.state();
  const Tensor table = state.at("transformer.wte.weight");
  Tensor half = Tensor::zeros(DType::bf16, table.shape());
  for (int64_t i = 0; i < table.elements(); ++i) half.mutable_data<uint16_t>()[i] = 0x3F80;
  Tensor ones = Tensor::zeros(DType::f32, table.shape());
  std::fill_n(ones.mutable_data<float>(), ones.elements(), 1.0F);
  state["transformer.wte.weight"] = half;
  state["lm_head.weight"] = ones;
  write(state, model.config());
  EXPECT_EQ(load()->parameters().size(), model.parameters().size());
  EXPECT_TRUE(notes_.empty());
}

TEST_F(Ties, copies_of_another_shape_or_type_are_refused_by_name) {
  Gpt gpt(small_gpt());
  fill(gpt, 1);
  nn::StateDict state = gpt.state();
  state["lm_head.weight"] = other_numbers({18, 24}, 5);
  write(state, gpt.config());
  expect_has(error(), "lm_head.weight is float32 [18, 24] and should be [17, 24]");
  state["lm_head.weight"] = Tensor::zeros(DType::i64, {17, 24});
  write(state, gpt.config());
  expect_has(error(), "lm_head.weight is int64 [17, 24] and should be");

  Bert bert(small_bert());
  fill(bert, 1);
  state = bert.state();
  state["cls.predictions.decoder.bias"] = other_numbers({18}, 5);
  write(state, bert.config());
  expect_has(error(), "cls.predictions.decoder.bias is float32 [18] and should be [19]");

  Seq2Seq seq2seq(small_seq2seq());
  fill(seq2seq, 1);
  state = seq2seq.state();
  state["encoder.embed_tokens.weight"] = other_numbers({3, 24}, 5);
  write(state, seq2seq.config());
  expect_has(error(), "encoder.embed_tokens.weight is float32 [3, 24] and should be [17, 24]");
}

TEST_F(Ties, berts_head_with_other_numbers_is_used_as_it_is_stored) {
  Bert tied(small_bert());
  fill(tied, 1);
  const nn::StateDict plain = tied.state();
  BertConfig config = small_bert();
  config.tied_head = false;
  config.decoder_bias = true;
  Bert untied(config);
  nn::StateDict state = plain;
  state["cls.predictions.decoder.weight"] = other_numbers({19, 24}, 6);
  state["cls.predictions.decoder.bias"] = other_numbers({19}, 7);
  untied.load_state(state, "test");
  write(state, tied.config());
  const auto loaded = load();
  EXPECT_EQ(notes_.size(), 2u);
  EXPECT_TRUE(same_bits(logits(*loaded), logits(untied)));
  expect_saved(*loaded);

  // One of the two.
  for (const bool is_weight : {true, false}) {
    nn::StateDict half = plain;
    const std::string name =
        std::string("cls.predictions.decoder.") + (is_weight ? "weight" : "bias");
    half[name] = state.at(name);
    write(half, tied.config());
    const auto one = load();
    EXPECT_EQ(notes_.size(), 1u);
    EXPECT_FALSE(same_bits(logits(*one), logits(tied)));
    EXPECT_FALSE(same_bits(logits(*one), logits(untied)));
    expect_saved(*one);
  }
}

TEST_F(Ties, berts_copies_of_the_same_numbers_are_one_tensor) {
  Bert model(small_bert());
  fill(model, 1);
  nn::StateDict state = model.state();
  state["cls.predictions.decoder.weight"] = state.at("bert.embeddings.word_embeddings.weight");
  state["cls.predictions.decoder.bias"] = state.at("cls.predictions.bias");
  write(state, model.config());
  EXPECT_TRUE(same_bits(logits(*load()), logits(model)));
  EXPECT_TRUE(notes_.empty());
  // The bias under its other name alone.
  state.erase("cls.predictions.bias");
  write(state, model.config());
  EXPECT_TRUE(same_bits(logits(*load()), logits(model)));
}

TEST_F(Ties, an_output_layer_of_an_encoder_decoder_with_other_numbers_is_used) {
  Seq2SeqConfig config = small_seq2seq();
  Seq2Seq tied(config);
  fill(tied, 1);
  config.tied_head = false;
  Seq2Seq untied(config);
  nn::StateDict state = tied.state();
  state["lm_head.weight"] = other_numbers({17, 24}, 5);
  untied.load_state(state, "test");
  write(state, tied.config());
  EXPECT_TRUE(same_bits(logits(*load()), logits(untied)));
  EXPECT_EQ(notes_.size(), 1u);
  expect_saved(*load());
}

TEST_F(Ties, tables_of_both_sides_beside_a_shared_one_of_other_numbers_are_refused) {
  Seq2Seq model(small_seq2seq());
  fill(model, 1);
  for (const char* name : {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}) {
    nn::StateDict state = model.state();
    state[name] = other_numbers({17, 24}, 5);
    write(state, model.config());
    expect_has(error(), std::string(name) + " has other numbers than shared.weight");
  }
}

TEST_F(Ties, numbers_that_a_model_cannot_hold_are_refused_where_it_is_made_already) {
  Seq2Seq model(small_seq2seq());
  fill(model, 1);
  nn::StateDict state = model.state();
  state["lm_head.weight"] = state.at("shared.weight");
  model.load_state(state, "test");
  state["lm_head.weight"] = other_numbers({17, 24}, 5);
  expect_has(error_of([&] { model.load_state(state, "test"); }),
             "load (test): lm_head.weight has other numbers than shared.weight");
}

TEST_F(Ties, norms_under_both_of_berts_spellings_are_refused_by_name) {
  Bert model(small_bert());
  fill(model, 1);
  nn::StateDict state = model.state();
  state["bert.embeddings.LayerNorm.gamma"] = state.at("bert.embeddings.LayerNorm.weight");
  write(state, model.config());
  expect_has(error(),
             "bert.embeddings.LayerNorm.gamma and bert.embeddings.LayerNorm.weight are one tensor "
             "under two names");
}

TEST_F(Ties, tensors_that_only_look_like_masks_are_refused_by_name) {
  Gpt model(small_gpt());
  fill(model, 1);
  for (const auto& [name, shape] :
       std::vector<std::pair<std::string, Shape>>{{"transformer.h.0.attn.mask", {4}},
                                                  {"transformer.h.0.attn.masked_bias", {24}},
                                                  {"transformer.h.0.attn.q_norm.weight", {24}}}) {
    nn::StateDict state = model.state();
    state[name] = other_numbers(shape, 5);
    write(state, model.config());
    expect_has(error(), "1 unexpected: " + name);
  }
}

}  // namespace
}  // namespace headlight::models
