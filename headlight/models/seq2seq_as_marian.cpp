// From one encoder-decoder's configuration and weights to the other's.
#include "headlight/models/seq2seq_as_marian.h"

#include <algorithm>
#include <cmath>

#include "headlight/models/config_reader.h"
#include "headlight/models/marian.h"

namespace headlight::models {
namespace {

void check_switches(const Seq2SeqConfig& config, const std::string& name) {
  constexpr float kMarianEpsilon = 1e-5F;
  const auto require = [&name](bool holds, const char* key, const std::string& why) {
    if (!holds) base::refuse("as marian", name, std::string(key) + " " + why);
  };
  require(!config.normalize_before, "normalize_before", "is true, Marian's norms stand behind");
  require(!config.final_layer_norm, "final_layer_norm", "is true, Marian has none");
  require(!config.learned_positions, "positions", "are learned, Marian's are sinusoidal");
  require(!config.position_half_minus_one, "position_divisor",
          "is half_minus_one, Marian's is half");
  require(config.position_start == 0, "position_start",
          "is " + std::to_string(config.position_start) + ", Marian's is 0");
  require(config.layer_norm_eps == kMarianEpsilon, "layer_norm_eps",
          "is " + io::number_text(short_number(config.layer_norm_eps)) + ", Marian's is 1e-05");
  for (const int64_t heads : {config.encoder_attention_heads, config.decoder_attention_heads}) {
    require(config.head_dim == 0 || config.head_dim * heads == config.d_model, "head_dim",
            "is " + std::to_string(config.head_dim) + ", Marian's heads are d_model / heads wide");
  }
}

EncoderDecoderDesign marian_design(const Seq2SeqConfig& config) {
  return design_of(MarianConfig{.vocab_size = config.vocab_size,
                                .decoder_vocab_size = config.decoder_vocab_size,
                                .d_model = config.d_model,
                                .encoder_layers = config.encoder_layers,
                                .decoder_layers = config.decoder_layers,
                                .encoder_attention_heads = config.encoder_attention_heads,
                                .decoder_attention_heads = config.decoder_attention_heads,
                                .encoder_ffn_dim = config.encoder_ffn_dim,
                                .decoder_ffn_dim = config.decoder_ffn_dim,
                                .max_position_embeddings = config.max_position_embeddings,
                                .activation = config.activation,
                                .scale_embedding = config.scale_embedding,
                                .shared_embeddings = config.shared_embeddings,
                                .tied_head = config.tied_head,
                                .dropout = config.dropout,
                                .attention_dropout = config.attention_dropout,
                                .activation_dropout = config.activation_dropout,
                                .special_ids = config.special_ids,
                                .heads_left = config.heads_left});
}

// Where each column of Marian's residual stream stands in ours: sines first, then cosines.
std::vector<int64_t> column_order(const Seq2SeqConfig& config) {
  std::vector<int64_t> order;
  const int64_t half = config.d_model / 2;
  for (int64_t i = 0; i < config.d_model; ++i) {
    order.push_back(config.position_halves ? i : i < half ? 2 * i : 2 * (i - half) + 1);
  }
  return order;
}

// Rows or columns in another order.
Tensor in_order(const Tensor& numbers, const std::vector<int64_t>& order, bool columns) {
  const int64_t width = numbers.rank() == 1 ? 1 : numbers.size(1);
  const int64_t rows = numbers.size(0);
  Tensor moved = Tensor::uninitialized(tensor::DType::f32, numbers.shape());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < width; ++column) {
      const int64_t from_row = columns ? row : order[static_cast<size_t>(row)];
      const int64_t from_column = columns ? order[static_cast<size_t>(column)] : column;
      moved.mutable_data<float>()[row * width + column] =
          numbers.data<float>()[from_row * width + from_column];
    }
  }
  return moved;
}

// Whether a tensor's rows, or its columns, are those of the residual stream.
bool reads_the_stream(const std::string& name) {
  return name == "lm_head.weight" || name.ends_with("fc1.weight") ||
         name.ends_with("shared.weight") || name.ends_with("embed_tokens.weight") ||
         name.ends_with("q_proj.weight") || name.ends_with("k_proj.weight") ||
         name.ends_with("v_proj.weight");
}
bool writes_the_stream(const std::string& name) {
  return name.ends_with("layer_norm.weight") || name.ends_with("layer_norm.bias") ||
         name.ends_with("out_proj.weight") || name.ends_with("out_proj.bias") ||
         name.ends_with("fc2.weight") || name.ends_with("fc2.bias");
}

std::string marian_name(const std::string& name) {
  if (name == "lm_head.bias") return "final_logits_bias";
  return name == "lm_head.weight" ? name : "model." + name;
}

}  // namespace

std::unique_ptr<Model> as_marian(const Seq2Seq& model, const std::string& name) {
  const Seq2SeqConfig& config = model.seq2seq_config();
  check_switches(config, name);
  const std::vector<int64_t> order = column_order(config);
  nn::StateDict state;
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    Tensor numbers = parameter->value().data();
    const std::string& own = parameter->name();
    if (!config.position_halves && (reads_the_stream(own) || writes_the_stream(own))) {
      numbers = in_order(numbers, order, reads_the_stream(own));
    }
    if (own == "lm_head.bias") numbers = numbers.reshaped({1, numbers.elements()});
    state[marian_name(own)] = numbers;
  }
  auto marian = std::make_unique<EncoderDecoderModel>(marian_design(config));
  if (!config.head_bias) {
    state["final_logits_bias"] = Tensor::zeros(tensor::DType::f32, {1, config.decoder_vocab_size});
  }
  marian->load_state(state, name);
  return marian;
}

}  // namespace headlight::models
