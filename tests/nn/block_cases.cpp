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

TransformerBlockOptions with_rms_norms(TransformerBlockOptions options, float weight_offset = 0) {
  options.norm_kind = NormKind::rms_norm;
  options.norm_weight_offset = weight_offset;
  options.epsilon = 1e-3F;
  return options;
}

TransformerBlockOptions with_query_key_norms(TransformerBlockOptions options) {
  options.names.self.query_norm = "query_norm";
  options.names.self.key_norm = "key_norm";
  return options;
}

TransformerBlockOptions with_gate(TransformerBlockOptions options, Activation activation) {
  options.activation = activation;
  options.names.gate = "gate";
  return options;
}

// Rates for `width` columns of each head.
TransformerBlockOptions rotated(TransformerBlockOptions options, int64_t width) {
  options.rotation = rotary_options({.width = width, .base = 100});
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
  add("RMSNorm", with_rms_norms(plain), [](Options&) {});
  add("RMSNorm of 1 + weight, post-norm", with_rms_norms(plain, 1),
      [](Options& o) { o.norm_place = NormPlace::post; });
  add("query and key norms of each head", with_query_key_norms(plain), [](Options&) {});
  add("query and key norms of each head, fused", with_query_key_norms(with_fused_weights(plain)),
      [](Options& o) {
        o.heads = 4;
        o.kv_heads = 2;
      });
  add("query and key norms of whole rows", with_query_key_norms(plain), [](Options& o) {
    o.heads = 4;
    o.kv_heads = 2;
    o.query_key_norm = {.each_head = false, .epsilon = 1e-2F, .weight_offset = 1};
  });
  add("layer norms of queries and keys", with_query_key_norms(plain),
      [](Options& o) { o.query_key_norm.kind = NormKind::layer_norm; });
  add("layer norms of whole rows, without bias, of queries alone", with_query_key_norms(plain),
      [](Options& o) {
        o.query_key_norm = {.each_head = false, .kind = NormKind::layer_norm, .bias = false};
        o.names.self.key_norm.clear();
      });
  add("rotation", rotated(plain, 6), [](Options&) {});
  add("rotation, fused weights", rotated(with_fused_weights(plain), 6), [](Options&) {});
  add("rotation of neighbours", rotated(plain, 6), [](Options& o) {
    o.rotation.interleaved = true;
    o.rotation.magnitude = 1.2F;
  });
  add("partial rotation", rotated(plain, 2), [](Options&) {});
  add("partial rotation of neighbours, an encoder", rotated(plain, 4), [](Options& o) {
    o.rotation.interleaved = true;
    o.causal = false;
  });
  add("ALiBi", plain, [](Options& o) {
    o.heads = 3;
    o.position_bias.slopes = alibi_slopes(3);
  });
  add("ALiBi, an encoder", plain, [](Options& o) {
    o.causal = false;
    o.position_bias.slopes = {0.5F, 0.25F};
  });
  add("T5's buckets", plain, [](Options& o) {
    o.names.self.position_bias = "table";
    o.position_bias = {.buckets = 5, .bidirectional = false, .max_distance = 6};
  });
  add("T5's buckets on both sides", plain, [](Options& o) {
    o.causal = false;
    o.names.self.position_bias = "table";
    o.position_bias = {.buckets = 8, .max_distance = 5};
  });
  add("a table from outside", plain, [](Options& o) {
    o.position_bias = {.table = std::make_shared<Parameter>("shared", tensor::Shape{4, 2}),
                       .bidirectional = false,
                       .max_distance = 4};
  });
  add("gated by SiLU", with_gate(plain, Activation::silu), [](Options&) {});
  add("gated by GELU, fused", plain, [](Options& o) { o.names.gate = o.names.first; });
  add("gated by tanh-GELU, fused, without biases", plain, [](Options& o) {
    o.activation = Activation::gelu_tanh;
    o.names.gate = o.names.first;
    o.feed_forward_bias = false;
  });
  add("SiLU without a gate", plain, [](Options& o) { o.activation = Activation::silu; });
  add("as Llama has it", with_gate(rotated(with_rms_norms(plain), 6), Activation::silu),
      [](Options& o) {
        o.heads = 4;
        o.kv_heads = 2;
        o.head_dim = 6;
        o.qkv_bias = o.out_bias = o.feed_forward_bias = false;
      });
  add("as GPT-NeoX has it", rotated(with_fused_weights(plain), 2),
      [](Options& o) { o.order = SublayerOrder::parallel; });
  add("as Gemma 3 has it",
      with_gate(rotated(with_query_key_norms(with_output_norms(with_rms_norms(plain, 1))), 8),
                Activation::gelu_tanh),
      [](Options& o) {
        o.kv_heads = 1;
        o.head_dim = 8;
        o.scale = 0.2F;
        o.window = 3;
        o.query_key_norm.weight_offset = 1;
        o.qkv_bias = o.out_bias = o.feed_forward_bias = false;
      });
  add("as T5's decoder has it",
      with_gate(with_cross_attention(with_rms_norms(plain)), Activation::gelu_tanh),
      [](Options& o) {
        o.scale = 1.0F;
        o.names.self.position_bias = "table";
        o.position_bias = {.buckets = 6, .bidirectional = false, .max_distance = 7};
        o.qkv_bias = o.out_bias = o.feed_forward_bias = false;
      });
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
    Tensor numbers = Tensor::uninitialized(DType::f32, parameter->shape());
    const bool is_norm = parameter->name().ends_with("norm.weight");
    for (int64_t i = 0; i < numbers.elements(); ++i) {
      const float draw = random.normal(static_cast<uint64_t>(i));
      numbers.mutable_data<float>()[i] = is_norm ? 1 + 0.2F * draw : 0.4F * draw;
    }
    parameter->assign(numbers);
  }
  return block;
}

}  // namespace headlight::nn
