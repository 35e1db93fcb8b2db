// TransformerStack: layers that differ, parameters that are shared, an encoder before a decoder.
#include "tests/nn/block_cases.h"
#include "tests/nn/plain_block.h"
#include "tests/nn/support.h"

namespace headlight::nn {
namespace {

using Stack = tests::Autograd;

TransformerBlockOptions layer_options(int layer) {
  TransformerBlockOptions options = plain_decoder();
  const std::string prefix = std::to_string(layer) + ".";
  TransformerNames& names = options.names;
  names.self = names.self.with_prefix(prefix);
  for (std::string* name :
       {&names.self_norm, &names.feed_forward_norm, &names.first, &names.second}) {
    *name = prefix + *name;
  }
  options.heads = 4;
  options.head_dim = 4;
  options.rotation = rotary_options({.width = 4, .base = 50});
  options.place = "decoder." + std::to_string(layer);
  return options;
}

// A window in every second layer, one without rotation, one with fewer key/value heads, heads
// pruned from all others but one, and from the last all.
TransformerStack unlike_layers() {
  std::vector<TransformerBlock> blocks;
  for (int layer = 0; layer < 5; ++layer) {
    TransformerBlockOptions options = layer_options(layer);
    if (layer % 2 == 1) options.window = 3;
    if (layer == 2) options.rotation = {};
    if (layer == 3) options.kv_heads = 2;
    if (layer == 0) options.self_heads_left = HeadNumbers{0, 2, 3};
    if (layer == 1) options.self_heads_left = HeadNumbers{2};
    if (layer == 3)
      options.self_heads_left = HeadNumbers{0, 2, 3};  // one head and two read the same
    if (layer == 4) options.self_heads_left.emplace();
    blocks.push_back(drawn_block(options));
  }
  return {blocks, Norm("final", {.width = 12, .kind = NormKind::rms_norm}), "decoder"};
}

TEST_F(Stack, of_unlike_layers_decodes_to_the_bits_of_a_whole_run) {
  Context context = inference_context();
  const TransformerStack stack = unlike_layers();
  EXPECT_EQ(stack.blocks()[1].self().heads().count(), 1);
  const Value x = random_leaf({2, 9, 12}, 1, false);
  const Tensor whole = stack.forward(context, x, {}).data();
  std::vector<LayerCache> caches(5);
  int64_t first = 0;
  for (const int64_t count : {4, 1, 1, 3}) {
    const Value rows = Value::leaf(x.data().slice(1, first, count).contiguous());
    EXPECT_TRUE(
        same_bits(stack.forward(context, rows, {}, &caches).data(), whole.slice(1, first, count)))
        << "from row " << first;
    first += count;
  }
}

TEST_F(Stack, remembers_in_the_layers_that_have_cross_attention) {
  Context context = inference_context();
  TransformerBlockOptions with_cross = layer_options(0);
  with_cross.cross_attention = true;
  with_cross.names.cross = fused_names();
  with_cross.names.cross_norm = "cross_norm";
  const TransformerStack stack({drawn_block(with_cross), drawn_block(layer_options(1))},
                               std::nullopt, "decoder");
  const Value memory = random_leaf({1, 4, 12}, 2);
  const Value x = random_leaf({1, 3, 12}, 1);
  std::vector<LayerCache> caches(2);
  stack.remember(context, memory, {}, caches);
  EXPECT_EQ(caches[0].cross.count(), 4);
  EXPECT_TRUE(caches[1].cross.empty());
  EXPECT_TRUE(same_bits(stack.forward(context, x, {}, &caches).data(),
                        stack.forward(context, x, {.memory = memory}).data()));
}

TEST_F(Stack, has_a_shared_table_once_and_all_layers_teach_it) {
  TransformerBlockOptions options = plain_decoder();
  options.position_bias = {.table = std::make_shared<Parameter>("table", Shape{6, 2}),
                           .bidirectional = false,
                           .max_distance = 8};
  std::vector<TransformerBlock> blocks;
  for (const char* name : {"first", "second"}) {
    options.names.self = options.names.self.with_prefix(name);
    blocks.push_back(drawn_block(options));
  }
  const TransformerStack stack(blocks, std::nullopt, "decoder");
  int tables = 0;
  for (const ParameterHandle& parameter : stack.parameters()) {
    if (parameter->name() == "table") ++tables;
  }
  EXPECT_EQ(tables, 1);

  // Its gradient is what each layer alone would give it.
  const ParameterHandle table = options.position_bias.table;
  const Value x = random_leaf({1, 6, 12}, 1);
  const Tensor d_output = random_leaf({1, 6, 12}, 2).data();
  Context context = recording_context();
  const Value between = blocks[0].forward(context, {x}, {}).total(context);
  tape_.backward(context, blocks[1].forward(context, {between}, {}).total(context), d_output);
  const Tensor both = autograd::copy_of(context, table->grad());
  table->clear_grad();
  const Value detached = Value::leaf(between.data(), true);
  tape_.backward(context, blocks[1].forward(context, {detached}, {}).total(context), d_output);
  tape_.backward(context, blocks[0].forward(context, {x}, {}).total(context), detached.grad());
  EXPECT_LE(distance(table->grad(), both), 1e-5F * largest(both));
}

// As T5 has it: one table for all layers of a side, no scale, RMSNorm, gated GELU.
struct EncoderDecoder {
  EncoderDecoder() {
    for (const std::string side : {"encoder", "decoder"}) {
      auto& options = side == "encoder" ? encoder_options : decoder_options;
      const auto table = std::make_shared<Parameter>(side + ".table", Shape{8, 4});
      for (int layer = 0; layer < 2; ++layer) {
        options.push_back(t5_options(side, layer, table));
        blocks.push_back(drawn_block(options.back()));
      }
    }
  }

  static TransformerBlockOptions t5_options(const std::string& side, int layer,
                                            const ParameterHandle& table) {
    TransformerBlockOptions options = layer_options(layer);
    const bool decodes = side == "decoder";
    TransformerNames& names = options.names;
    names.gate = "gate" + std::to_string(layer);
    names.self = names.self.with_prefix(side);
    if (decodes) names.cross = names.self.with_prefix("cross");
    if (decodes) names.cross_norm = "cross_norm" + std::to_string(layer);
    for (std::string* name :
         {&names.self_norm, &names.feed_forward_norm, &names.first, &names.second, &names.gate}) {
      *name = side + "." + *name;
    }
    options.cross_attention = options.causal = decodes;
    options.norm_kind = NormKind::rms_norm;
    options.scale = 1.0F;
    options.rotation = {};
    options.position_bias = {.table = table, .bidirectional = !decodes, .max_distance = 9};
    options.qkv_bias = options.out_bias = options.feed_forward_bias = false;
    return options;
  }

  Parameters parameters() const {
    Parameters all;
    for (const TransformerBlock& block : blocks) append(all, block.parameters());
    return all;
  }

  Matrix plain(const PlainState& state, const Matrix& source, const Matrix& target) const {
    Matrix memory = source;
    for (const TransformerBlockOptions& options : encoder_options) {
      memory = plain_block(options, state, memory);
    }
    Matrix x = target;
    for (const TransformerBlockOptions& options : decoder_options) {
      x = plain_block(options, state, x, memory);
    }
    return x;
  }

  std::vector<TransformerBlockOptions> encoder_options, decoder_options;
  std::vector<TransformerBlock> blocks;  // two of the encoder, two of the decoder
};

Matrix as_matrix(const Tensor& x) {
  Matrix matrix(x.size(1), x.size(2));
  std::copy_n(x.data<float>(), matrix.numbers.size(), matrix.numbers.begin());
  return matrix;
}

TEST_F(Stack, an_encoder_and_a_decoder_learn_shared_tables) {
  const EncoderDecoder model;
  const TransformerStack encoder({model.blocks[0], model.blocks[1]}, std::nullopt, "encoder");
  const TransformerStack decoder({model.blocks[2], model.blocks[3]}, std::nullopt, "decoder");
  const Value source = random_leaf({1, 7, 12}, 1);
  const Value target = random_leaf({1, 5, 12}, 2);
  const Tensor weights = random_leaf({1, 5, 12}, 3).data();
  Context context = recording_context();
  const Value memory = encoder.forward(context, source, {});
  const Value output = decoder.forward(context, target, {.memory = memory});

  PlainState state = plain_state(model.parameters());
  const Matrix expected = model.plain(state, as_matrix(source.data()), as_matrix(target.data()));
  for (int64_t i = 0; i < output.data().elements(); ++i) {
    ASSERT_NEAR(output.data().data<float>()[i], expected.numbers[static_cast<size_t>(i)],
                5e-6 * static_cast<double>(largest(output.data())));
  }
  Context quiet = inference_context();
  std::vector<LayerCache> caches(2);
  decoder.remember(quiet, memory, {}, caches);
  for (int64_t i = 0; i < 5; ++i) {
    const Value row = Value::leaf(target.data().slice(1, i, 1).contiguous());
    EXPECT_TRUE(
        same_bits(decoder.forward(quiet, row, {}, &caches).data(), output.data().slice(1, i, 1)));
  }

  tape_.backward(context, output, weights);
  const auto loss = [&] {
    const Matrix y = model.plain(state, as_matrix(source.data()), as_matrix(target.data()));
    double sum = 0;
    for (size_t i = 0; i < y.numbers.size(); ++i) sum += y.numbers[i] * weights.data<float>()[i];
    return sum;
  };
  constexpr double kStep = 1e-5;
  for (const ParameterHandle& parameter : model.parameters()) {
    std::vector<double>& numbers = state.at(parameter->name());
    const std::vector<float> got = floats(parameter->grad());
    const bool is_table = parameter->name().ends_with("table");
    for (size_t i = 0; i < numbers.size(); i += is_table ? 1 : 1 + numbers.size() / 4) {
      const double before = numbers[i];
      numbers[i] = before + kStep;
      const double above = loss();
      numbers[i] = before - kStep;
      const double below = loss();
      numbers[i] = before;
      const double slope = (above - below) / (2 * kStep);
      EXPECT_NEAR(got[i], slope, 2e-4 * std::max(1.0, std::abs(slope)))
          << parameter->name() << "[" << i << "]";
    }
  }
}

}  // namespace
}  // namespace headlight::nn
