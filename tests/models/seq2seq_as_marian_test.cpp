// headlight-seq2seq models as Marian ones: the same logits, or the switch that forbids it.
#include "tests/models/support.h"

namespace headlight::models {
namespace {

class AsMarian : public ModelTest {
 protected:
  static Seq2SeqConfig config() {
    Seq2SeqConfig config = small_seq2seq();
    config.d_model = 12;
    config.encoder_attention_heads = config.decoder_attention_heads = 3;
    config.normalize_before = config.final_layer_norm = config.learned_positions = false;
    config.position_halves = true;
    config.position_half_minus_one = false;
    config.position_start = 0;
    config.head_dim = 0;
    config.layer_norm_eps = 1e-5F;
    return config;
  }
  Tensor logits(const Model& model) {
    Context context = inference_context();
    const Batch batch{.ids = random_ids({2, 5}, model.vocab_size(), 1),
                      .source_ids = random_ids({2, 6}, model.source_vocab_size(), 2)};
    return model.logits(context, model.forward(context, batch)).data();
  }
  std::string refusal(const Seq2SeqConfig& config) {
    Seq2Seq model(config);
    fill(model, 1);
    return error_of([&] { as_marian(model, "folder"); });
  }
};

TEST_F(AsMarian, a_model_gives_the_same_logits) {
  for (const bool tied : {true, false}) {
    for (const bool bias : {true, false}) {
      Seq2SeqConfig one = config();
      one.tied_head = tied;
      one.head_bias = bias;
      Seq2Seq model(one);
      fill(model, 3);
      const std::unique_ptr<Model> marian = as_marian(model, "folder");
      EXPECT_EQ(marian->type(), "marian");
      EXPECT_TRUE(same_bits(logits(*marian), logits(model))) << tied << bias;
      const TemporaryFolder folder;
      save_model(base::real_files(), folder.path(), *marian);
      EXPECT_TRUE(same_bits(logits(*load_model(base::real_files(), folder.path())), logits(model)));
    }
  }
}

TEST_F(AsMarian, interleaved_positions_are_put_in_order) {
  Seq2SeqConfig one = config();
  one.position_halves = false;
  one.head_bias = true;
  Seq2Seq model(one);
  fill(model, 5);
  const Tensor right = logits(model);
  EXPECT_LE(distance(logits(*as_marian(model, "folder")), right),
            1e-5F * std::max(1.0F, largest(right)));
}

TEST_F(AsMarian, what_marian_cannot_have_is_named) {
  const auto changed = [this](const auto& change) {
    Seq2SeqConfig one = config();
    change(one);
    return refusal(one);
  };
  EXPECT_EQ(changed([](Seq2SeqConfig& one) { one.normalize_before = true; }),
            "as marian (folder): normalize_before is true, Marian's norms stand behind");
  expect_has(changed([](Seq2SeqConfig& one) { one.final_layer_norm = true; }), "final_layer_norm");
  expect_has(changed([](Seq2SeqConfig& one) { one.learned_positions = true; }), "positions are");
  expect_has(changed([](Seq2SeqConfig& one) { one.position_half_minus_one = true; }),
             "position_divisor is half_minus_one");
  expect_has(changed([](Seq2SeqConfig& one) { one.position_start = 2; }), "position_start is 2");
  expect_has(changed([](Seq2SeqConfig& one) { one.layer_norm_eps = 1e-6F; }),
             "layer_norm_eps is 1e-06");
  expect_has(changed([](Seq2SeqConfig& one) { one.head_dim = 5; }), "head_dim is 5");
}

}  // namespace
}  // namespace headlight::models
