// Writes a headlight-seq2seq folder from a Transformer in CTranslate2's layout, whose tensors lie
// in a safetensors file: other names, projections fused in other ways, the same numbers.
//
//   example_convert_ct2 CT2_FOLDER NEW_FOLDER
#include <cstdio>
#include <string>

#include "headlight/models/models.h"

namespace {

using headlight::models::Seq2SeqConfig;
using headlight::nn::StateDict;
using headlight::tensor::Tensor;

// "linear_0/weight" holds several layers one after the other; this is number `part` of `count`.
Tensor part_of(const Tensor& fused, int64_t part, int64_t count) {
  const int64_t rows = fused.size(0) / count;
  return fused.slice(0, part * rows, rows);
}

class Converter {
 public:
  explicit Converter(const StateDict& from) : from_(from) {}

  StateDict convert() {
    for (const std::string side : {"encoder", "decoder"}) {
      to_[side + ".embed_tokens.weight"] = from_.at(side + "/embeddings/weight");
      norm(side + "/layer_norm", side + ".layer_norm");
      for (int64_t layer = 0; layer < layers(side); ++layer) convert_layer(side, layer);
    }
    linear("decoder/projection", "lm_head");
    return to_;
  }

  int64_t layers(const std::string& side) const {
    int64_t count = 0;
    while (from_.contains(old_layer(side, count) + "ffn/linear_0/weight")) ++count;
    return count;
  }

 private:
  static std::string old_layer(const std::string& side, int64_t layer) {
    return side + "/layer_" + std::to_string(layer) + "/";
  }

  void linear(const std::string& old_name, const std::string& name, int64_t part = 0,
              int64_t count = 1) {
    for (const std::string kind : {"weight", "bias"}) {
      to_[name + "." + kind] = part_of(from_.at(old_name + "/" + kind), part, count);
    }
  }

  void norm(const std::string& old_name, const std::string& name) {
    to_[name + ".weight"] = from_.at(old_name + "/gamma");
    to_[name + ".bias"] = from_.at(old_name + "/beta");
  }

  void convert_layer(const std::string& side, int64_t layer) {
    const std::string old_name = old_layer(side, layer);
    const std::string name = side + ".layers." + std::to_string(layer) + ".";
    // Self-attention: query, key and value fused, then the output.
    linear(old_name + "self_attention/linear_0", name + "self_attn.q_proj", 0, 3);
    linear(old_name + "self_attention/linear_0", name + "self_attn.k_proj", 1, 3);
    linear(old_name + "self_attention/linear_0", name + "self_attn.v_proj", 2, 3);
    linear(old_name + "self_attention/linear_1", name + "self_attn.out_proj");
    norm(old_name + "self_attention/layer_norm", name + "self_attn_layer_norm");
    // Cross-attention: the query, key and value fused, the output.
    if (side == "decoder") {
      linear(old_name + "attention/linear_0", name + "encoder_attn.q_proj");
      linear(old_name + "attention/linear_1", name + "encoder_attn.k_proj", 0, 2);
      linear(old_name + "attention/linear_1", name + "encoder_attn.v_proj", 1, 2);
      linear(old_name + "attention/linear_2", name + "encoder_attn.out_proj");
      norm(old_name + "attention/layer_norm", name + "encoder_attn_layer_norm");
    }
    linear(old_name + "ffn/linear_0", name + "fc1");
    linear(old_name + "ffn/linear_1", name + "fc2");
    norm(old_name + "ffn/layer_norm", name + "final_layer_norm");
  }

  const StateDict& from_;
  StateDict to_;
};

// Sizes from the tensors; what tensors do not show, from OpenNMT's Transformer.
Seq2SeqConfig config_of(const StateDict& from, int64_t heads) {
  const Converter converter(from);
  const Tensor& source = from.at("encoder/embeddings/weight");
  return {.vocab_size = source.size(0),
          .decoder_vocab_size = from.at("decoder/embeddings/weight").size(0),
          .d_model = source.size(1),
          .encoder_layers = converter.layers("encoder"),
          .decoder_layers = converter.layers("decoder"),
          .encoder_attention_heads = heads,
          .decoder_attention_heads = heads,
          .encoder_ffn_dim = from.at("encoder/layer_0/ffn/linear_0/weight").size(0),
          .decoder_ffn_dim = from.at("decoder/layer_0/ffn/linear_0/weight").size(0),
          .normalize_before = true,
          .final_layer_norm = true,
          .tied_head = false,
          .shared_embeddings = false,
          .head_bias = true,
          .position_halves = true,
          .position_half_minus_one = true,
          .position_start = 1,
          .special_ids = {.padding = 0, .begin = 1, .end = 2, .decoder_start = 1}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::puts("usage: example_convert_ct2 CT2_FOLDER NEW_FOLDER");
    return 0;
  }
  try {
    headlight::base::FileSystem& files = headlight::base::real_files();
    const std::string path = std::string(argv[1]) + "/model.safetensors";
    const auto file = headlight::io::open_safetensors(files, path);
    const StateDict from = headlight::models::read_state(file);
    headlight::models::Seq2Seq model(config_of(from, std::stoll(file.metadata().at("num_heads"))));
    model.load_state(Converter(from).convert(), path);
    headlight::base::make_directories(files, argv[2]);
    headlight::models::save_model(files, argv[2], model);
    std::printf("%s: %s\n", argv[2], headlight::io::json_text(model.config()).c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "convert_ct2: %s\n", error.what());
    return 1;
  }
}
