// The cases.
#include "tests/nn/block_cases.h"

namespace headlight::nn {
namespace {

using tensor::DType;
using tensor::Tensor;

AttentionNames separate_names(const std::string& prefix) {
  return AttentionNames{.weights = {"q.weight", "k.weight", "v.weight"},
                        .biases = {"q.bias", "k.bias", "v.bias"},
                        .output_weight = "o.weight",
                        .output_bias = "o.bias"}
      .with_prefix(prefix);
}

TransformerBlockOptions with_fused_weights(TransformerBlockOptions options) {
  options.names.self = fused_names();
  return options;
}

TransformerBlockOptions with_output_norms(TransformerBlockOptions options) {
  options.norm_place = NormPlace::both;
  options.names.self_output_norm = "self_output_norm";
  options.names.feed_forward_output_norm = "feed_forward_output_norm";
  if (options.cross_attention) options.names.cross_output_norm = "cross_output_norm";
  return options;
}

TransformerBlockOptions with_cross_attention(TransformerBlockOptions options) {
  options.cross_attention = true;
  options.names.cross = separate_names("cross.");
  options.names.cross_norm = "cross_norm";
  return options;
}

}  // namespace

TransformerBlockOptions plain_decoder() {
  return {.width = 12,
          .heads = 2,
          .hidden = 10,
          .activation = Activation::gelu,
          .norm_place = NormPlace::pre,
          .causal = true,
          .names = {.self = separate_names("self."),
                    .self_norm = "self_norm",
                    .feed_forward_norm = "feed_forward_norm",
                    .first = "up",
                    .second = "down"},
          .place = "decoder.0"};
}

std::vector<BlockCase> block_cases() {
  std::vector<BlockCase> cases;
  const auto add = [&cases](const char* name, TransformerBlockOptions options, const auto& change) {
    change(options);
    cases.push_back({name, std::move(options)});
  };
  const TransformerBlockOptions plain = plain_decoder();
  using Options = TransformerBlockOptions;
  add("pre-norm", plain, [](Options&) {});
  add("fused weights", with_fused_weights(plain), [](Options&) {});
  add("post-norm", plain, [](Options& o) { o.norm_place = NormPlace::post; });
  add("an encoder", plain, [](Options& o) { o.causal = false; });
  add("norms before and after", with_output_norms(plain), [](Options&) {});
  add("norms after the sublayers alone", with_output_norms(plain), [](Options& o) {
    o.names.self_norm.clear();
    o.names.feed_forward_norm.clear();
  });
  add("no first norm", plain, [](Options& o) { o.names.self_norm.clear(); });
  add("parallel, two norms", plain, [](Options& o) { o.order = SublayerOrder::parallel; });
  add("parallel, one norm", plain, [](Options& o) {
    o.order = SublayerOrder::parallel;
    o.names.feed_forward_norm.clear();
  });
  add("parallel, norms before and after", with_output_norms(plain),
      [](Options& o) { o.order = SublayerOrder::parallel; });
  add("cross-attention", with_cross_attention(plain), [](Options&) {});
  add("cross-attention, post-norm", with_cross_attention(plain),
      [](Options& o) { o.norm_place = NormPlace::post; });
  add("cross-attention, norms before and after", with_output_norms(with_cross_attention(plain)),
      [](Options&) {});
  add("grouped heads of free width", plain, [](Options& o) {
    o.heads = 4;
    o.kv_heads = 2;
    o.head_dim = 6;
    o.value_head_dim = 5;
  });
  add("grouped heads, fused", with_fused_weights(plain), [](Options& o) {
    o.heads = 4;
    o.kv_heads = 1;
  });
  add("a window", plain, [](Options& o) { o.window = 2; });
  add("a window on both sides", plain, [](Options& o) {
    o.causal = false;
    o.window = 3;
  });
  add("a soft cap", plain, [](Options& o) { o.softcap = 1.5F; });
  add("no scale", plain, [](Options& o) { o.scale = 1.0F; });
  add("biases of q, k and v alone", plain,
      [](Options& o) { o.out_bias = o.feed_forward_bias = o.norm_bias = false; });
  add("biases of the output alone", plain,
      [](Options& o) { o.qkv_bias = o.feed_forward_bias = o.norm_bias = false; });
  add("biases of the feed-forward layers alone", plain,
      [](Options& o) { o.qkv_bias = o.out_bias = o.norm_bias = false; });
  add("no bias of k", plain, [](Options& o) { o.names.self.biases[1].clear(); });
  add("gated by SiLU", plain, [](Options& o) {
    o.activation = Activation::silu;
    o.names.gate = "gate";
  });
  add("gated by GELU, fused", plain, [](Options& o) { o.names.gate = o.names.first; });
  add("gated by tanh-GELU, fused, without biases", plain, [](Options& o) {
    o.activation = Activation::gelu_tanh;
    o.names.gate = o.names.first;
    o.feed_forward_bias = false;
  });
  add("SiLU without a gate", plain, [](Options& o) { o.activation = Activation::silu; });
  add("many switches", with_output_norms(with_cross_attention(with_fused_weights(plain))),
      [](Options& o) {
        o.heads = 4;
        o.kv_heads = 2;
        o.head_dim = 5;
        o.scale = 0.3F;
        o.softcap = 2;
        o.window = 3;
        o.qkv_bias = false;
      });
  return cases;
}

TransformerBlock drawn_block(const TransformerBlockOptions& options) {
  TransformerBlock block(options);
  for (const ParameterHandle& parameter : block.parameters()) {
    const base::Random random(base::name_key(parameter->name()));
    const Tensor numbers = Tensor::uninitialized(DType::f32, parameter->shape());
    const bool is_norm = parameter->name().ends_with("norm.weight");
    for (int64_t i = 0; i < numbers.elements(); ++i) {
      const float draw = random.normal(static_cast<uint64_t>(i));
      numbers.data<float>()[i] = is_norm ? 1 + 0.2F * draw : 0.4F * draw;
    }
    parameter->assign(numbers);
  }
  return block;
}

}  // namespace headlight::nn
