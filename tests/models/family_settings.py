# Settings of models of each family: random ones, and those of the tiny golden models.


def rotary(draw, theta=None):
    """Rotary parameters of one of the kinds of scaling."""
    parameters = {"rope_type": draw.choice(["default", "linear", "llama3"]),
                  "rope_theta": theta or draw.choice([10000.0, 500000.0, 137.5])}
    if parameters["rope_type"] != "default":
        parameters["factor"] = draw.choice([2.0, 4.0, 8.0])
    if parameters["rope_type"] == "llama3":
        parameters.update(low_freq_factor=1.0, high_freq_factor=draw.choice([2.0, 4.0]),
                          original_max_position_embeddings=draw.choice([16, 32]))
    return parameters


def decoder_sizes(draw):
    heads = draw.choice([1, 2, 3, 4, 6])
    head_dim = draw.choice([2, 4, 6, 10])
    kv_heads = draw.choice([n for n in range(1, heads + 1) if heads % n == 0])
    return dict(vocab_size=draw.randint(11, 61), hidden_size=heads * head_dim,
                intermediate_size=draw.randint(5, 41), num_hidden_layers=draw.randint(1, 5),
                num_attention_heads=heads, num_key_value_heads=kv_heads,
                max_position_embeddings=draw.randint(80, 130),
                rms_norm_eps=draw.choice([1e-6, 1e-5, 1e-3]),
                tie_word_embeddings=draw.random() < 0.5, rope_parameters=rotary(draw),
                pad_token_id=None, bos_token_id=None, eos_token_id=None)


def free_widths(draw, sizes):
    """Heads whose width is not a share of the model's, which can be odd then."""
    return dict(sizes, head_dim=draw.choice([2, 4, 8, 12]),
                hidden_size=sizes["num_attention_heads"] * draw.choice([3, 5, 7]))


def free_head_dim(draw, sizes):
    return free_widths(draw, sizes) if draw.random() < 0.5 else sizes


def llama(draw):
    return dict(free_head_dim(draw, decoder_sizes(draw)), attention_bias=draw.random() < 0.5,
                mlp_bias=draw.random() < 0.5,
                hidden_act=draw.choice(["silu", "silu", "gelu", "gelu_pytorch_tanh", "relu"]))


def mistral(draw):
    return dict(free_head_dim(draw, decoder_sizes(draw)),
                sliding_window=draw.choice([None, 2, 3, 7, 40]))


def windows(draw, layers):
    if draw.random() < 0.3:
        return dict(use_sliding_window=False)
    settings = dict(use_sliding_window=True, sliding_window=draw.choice([2, 5, 20]))
    if draw.random() < 0.5:
        settings["layer_types"] = [draw.choice(["full_attention", "sliding_attention"])
                                   for _ in range(layers)]
    else:
        settings["max_window_layers"] = draw.randint(0, layers)
    return settings


def qwen2(draw):
    sizes = free_head_dim(draw, decoder_sizes(draw))
    return dict(sizes, **windows(draw, sizes["num_hidden_layers"]))


def qwen3(draw):
    sizes = free_widths(draw, decoder_sizes(draw))
    return dict(sizes, attention_bias=draw.random() < 0.5,
                **windows(draw, sizes["num_hidden_layers"]))


def smollm3(draw):
    sizes = free_head_dim(draw, decoder_sizes(draw))
    layers = sizes["num_hidden_layers"]
    switches = windows(draw, layers)
    switches.pop("max_window_layers", None)
    if draw.random() < 0.5:
        switches["no_rope_layers"] = [draw.randint(0, 1) for _ in range(layers)]
    else:
        switches["no_rope_layer_interval"] = draw.randint(1, 3)
    return dict(sizes, attention_bias=draw.random() < 0.5, mlp_bias=draw.random() < 0.5, **switches)


def gemma3_text(draw):
    sizes = decoder_sizes(draw)
    layers = sizes["num_hidden_layers"]
    local = {"rope_type": "default", "rope_theta": draw.choice([10000.0, 50.0])}
    sizes["rope_parameters"] = {"full_attention": rotary(draw),
                                "sliding_attention": draw.choice([local, rotary(draw)])}
    if draw.random() < 0.5:
        sizes["layer_types"] = [draw.choice(["full_attention", "sliding_attention"])
                                for _ in range(layers)]
    else:
        sizes["sliding_window_pattern"] = draw.randint(2, 6)
    return dict(free_widths(draw, sizes), attention_bias=draw.random() < 0.5,
                sliding_window=draw.choice([2, 5, 20]),
                query_pre_attn_scalar=draw.choice([4, 9, 256]),
                hidden_activation=draw.choice(["gelu_pytorch_tanh", "gelu", "silu"]))


def older_sizes(draw, heads_key="num_attention_heads", layers_key="num_hidden_layers"):
    heads = draw.choice([1, 2, 3, 4])
    return {"vocab_size": draw.randint(11, 61), "hidden_size": heads * draw.choice([3, 4, 7, 8]),
            heads_key: heads, layers_key: draw.randint(1, 4),
            "max_position_embeddings": draw.randint(80, 130),
            "tie_word_embeddings": draw.random() < 0.5, "pad_token_id": None,
            "bos_token_id": None, "eos_token_id": None}


def gpt_neox(draw):
    parameters = rotary(draw)
    sizes = older_sizes(draw)
    # An even number of columns turns.
    shares = {3: [0.7], 4: [0.5, 1.0], 7: [0.3, 0.6, 0.9], 8: [0.25, 0.5, 1.0]}
    parameters["partial_rotary_factor"] = draw.choice(
        shares[sizes["hidden_size"] // sizes["num_attention_heads"]])
    return dict(sizes, intermediate_size=draw.randint(5, 41), rope_parameters=parameters,
                layer_norm_eps=draw.choice([1e-5, 1e-3]), attention_bias=draw.random() < 0.5,
                use_parallel_residual=draw.random() < 0.6,
                hidden_act=draw.choice(["gelu", "gelu_new", "relu", "gelu_fast"]))


def gpt_neo(draw):
    sizes = older_sizes(draw, "num_heads", "num_layers")
    layers = sizes["num_layers"]
    kinds = [draw.choice(["global", "local"]) for _ in range(layers)]
    types = draw.choice([[[kinds, 1]], [[[kinds[0]], layers]]])
    return dict(sizes, intermediate_size=draw.choice([None, 9, 30]), attention_types=types,
                window_size=draw.choice([2, 5, 256]), layer_norm_epsilon=draw.choice([1e-5, 1e-3]),
                activation_function=draw.choice(["gelu_new", "gelu", "relu"]))


def opt(draw):
    sizes = older_sizes(draw)
    return dict(sizes, word_embed_proj_dim=draw.choice([sizes["hidden_size"], 5]), ffn_dim=draw.randint(5, 41),
                do_layer_norm_before=draw.random() < 0.6, enable_bias=draw.random() < 0.6,
                _remove_final_layer_norm=draw.random() < 0.3,
                activation_function=draw.choice(["relu", "gelu"]))


def encoder_sizes(draw, head_widths=(2, 3, 5, 6)):
    heads = draw.choice([1, 2, 3, 4])
    return dict(vocab_size=draw.randint(11, 61), hidden_size=heads * draw.choice(head_widths),
                num_attention_heads=heads, num_hidden_layers=draw.randint(1, 4),
                intermediate_size=draw.randint(5, 41), max_position_embeddings=draw.randint(14, 40),
                tie_word_embeddings=draw.random() < 0.7, pad_token_id=draw.choice([0, 1]),
                bos_token_id=None, eos_token_id=None)


def roberta(draw):
    return dict(encoder_sizes(draw), type_vocab_size=draw.choice([1, 2]),
                layer_norm_eps=draw.choice([1e-12, 1e-5]),
                hidden_act=draw.choice(["gelu", "relu", "gelu_new"]))


def distilbert(draw):
    sizes = encoder_sizes(draw)
    sizes.update(dim=sizes.pop("hidden_size"), n_heads=sizes.pop("num_attention_heads"),
                 n_layers=sizes.pop("num_hidden_layers"), hidden_dim=sizes.pop("intermediate_size"))
    return dict(sizes, activation=draw.choice(["gelu", "relu"]))


def albert(draw):
    sizes = encoder_sizes(draw)
    return dict(sizes, embedding_size=draw.choice([3, 8]), type_vocab_size=draw.choice([1, 2]),
                num_hidden_groups=draw.randint(1, sizes["num_hidden_layers"]),
                inner_group_num=draw.choice([1, 1, 2]), layer_norm_eps=draw.choice([1e-12, 1e-5]),
                hidden_act=draw.choice(["gelu_new", "gelu", "relu"]))


def modernbert(draw):
    sizes = encoder_sizes(draw, (2, 4, 6))  # of which all columns turn
    if draw.random() < 0.5:
        sizes["layer_types"] = [draw.choice(["full_attention", "sliding_attention"])
                                for _ in range(sizes["num_hidden_layers"])]
    else:
        sizes["global_attn_every_n_layers"] = draw.randint(1, 3)
    plain = [{"rope_type": "default", "rope_theta": theta} for theta in (160000.0, 50.0)]
    sizes["rope_parameters"] = {"full_attention": draw.choice([plain[0], rotary(draw)]),
                                "sliding_attention": draw.choice([plain[1], rotary(draw)])}
    switches = {key: draw.random() < 0.5 for key in ("norm_bias", "attention_bias", "mlp_bias",
                                                     "decoder_bias", "classifier_bias")}
    return dict(sizes, **switches, local_attention=draw.choice([2, 4, 7, 128]),
                norm_eps=draw.choice([1e-5, 1e-3]), cls_token_id=None, sep_token_id=None,
                hidden_activation=draw.choice(["gelu", "silu"]),
                classifier_activation=draw.choice(["gelu", "relu"]))


def marian(draw):
    heads = draw.choice([1, 2, 3])
    vocabulary = draw.randint(11, 61)
    settings = dict(vocab_size=vocabulary, d_model=heads * draw.choice([2, 3, 5, 10]),
                    encoder_layers=draw.randint(1, 3), decoder_layers=draw.randint(1, 3),
                    encoder_attention_heads=heads, decoder_attention_heads=draw.choice([1, heads]),
                    encoder_ffn_dim=draw.randint(5, 41), decoder_ffn_dim=draw.randint(5, 41),
                    max_position_embeddings=draw.randint(80, 130),
                    activation_function=draw.choice(["swish", "gelu", "relu"]),
                    scale_embedding=draw.random() < 0.5, pad_token_id=vocabulary - 1,
                    decoder_start_token_id=vocabulary - 1, eos_token_id=None, bos_token_id=None,
                    forced_eos_token_id=None, tie_word_embeddings=draw.random() < 0.7)
    if draw.random() < 0.3:
        settings.update(share_encoder_decoder_embeddings=False,
                        decoder_vocab_size=vocabulary + draw.randint(0, 5))
    return settings


def t5(draw):
    return dict(vocab_size=draw.randint(11, 61), d_model=draw.choice([6, 12, 15]),
                d_kv=draw.choice([3, 4, 8]), d_ff=draw.randint(5, 41), num_heads=draw.choice([1, 2, 3]),
                num_layers=draw.randint(1, 3), num_decoder_layers=draw.choice([None, 1, 2]),
                relative_attention_num_buckets=draw.choice([8, 12, 32]),
                relative_attention_max_distance=draw.choice([20, 128]),
                feed_forward_proj=draw.choice(["relu", "gated-gelu", "gated-silu", "gelu"]),
                layer_norm_epsilon=draw.choice([1e-6, 1e-3]),
                tie_word_embeddings=draw.random() < 0.5, pad_token_id=0, decoder_start_token_id=0,
                eos_token_id=None)


# The family's settings, and the class of its models with the head that predicts words.
FAMILIES = {
    "llama": (llama, "LlamaForCausalLM"),
    "mistral": (mistral, "MistralForCausalLM"),
    "qwen2": (qwen2, "Qwen2ForCausalLM"),
    "qwen3": (qwen3, "Qwen3ForCausalLM"),
    "smollm3": (smollm3, "SmolLM3ForCausalLM"),
    "gemma3_text": (gemma3_text, "Gemma3ForCausalLM"),
    "gpt_neox": (gpt_neox, "GPTNeoXForCausalLM"),
    "gpt_neo": (gpt_neo, "GPTNeoForCausalLM"),
    "opt": (opt, "OPTForCausalLM"),
    "roberta": (roberta, "RobertaForMaskedLM"),
    "distilbert": (distilbert, "DistilBertForMaskedLM"),
    "albert": (albert, "AlbertForMaskedLM"),
    "modernbert": (modernbert, "ModernBertForMaskedLM"),
    "marian": (marian, "MarianMTModel"),
    "t5": (t5, "T5ForConditionalGeneration"),
}
ENCODERS = ("roberta", "distilbert", "albert", "modernbert")
TRANSLATORS = ("marian", "t5")


# Of tiny models, of which each has most of the switches of its family.
GOLDEN = dict(vocab_size=13, hidden_size=8, intermediate_size=10, num_hidden_layers=2,
              num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=24,
              pad_token_id=None, bos_token_id=None, eos_token_id=None)
LLAMA3 = dict(rope_type="llama3", rope_theta=100.0, factor=4.0, low_freq_factor=1.0,
              high_freq_factor=2.0, original_max_position_embeddings=8)
GOLDEN_SWITCHES = {
    "llama": dict(rope_parameters=LLAMA3, mlp_bias=True, tie_word_embeddings=True),
    "mistral": dict(sliding_window=3, head_dim=6),
    "qwen2": dict(use_sliding_window=True, sliding_window=3, max_window_layers=1,
                  rope_parameters=dict(rope_type="linear", factor=2.0, rope_theta=1000.0)),
    "qwen3": dict(head_dim=6, attention_bias=True, tie_word_embeddings=True),
    "smollm3": dict(no_rope_layers=[1, 0], use_sliding_window=True, sliding_window=2),
    "gemma3_text": dict(head_dim=6, sliding_window=3, sliding_window_pattern=2,
                        query_pre_attn_scalar=9),
    "gpt_neox": dict(rope_parameters=dict(rope_type="default", rope_theta=50.0,
                                          partial_rotary_factor=0.5)),
    "gpt_neo": dict(num_layers=2, num_heads=2, attention_types=[[["local", "global"], 1]],
                    window_size=3),
    "opt": dict(ffn_dim=10, word_embed_proj_dim=6, activation_function="gelu"),
    "roberta": dict(pad_token_id=1, type_vocab_size=1),
    "distilbert": dict(dim=8, n_heads=2, n_layers=2, hidden_dim=10, pad_token_id=0),
    "albert": dict(embedding_size=6, num_hidden_layers=3, num_hidden_groups=2, pad_token_id=0),
    "modernbert": dict(num_hidden_layers=3, local_attention=4, norm_bias=True, pad_token_id=0,
                       cls_token_id=None, sep_token_id=None,
                       rope_parameters={kind: dict(rope_type="default", rope_theta=theta) for
                                        kind, theta in (("full_attention", 100.0),
                                                        ("sliding_attention", 10.0))}),
    "marian": dict(d_model=8, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
                   decoder_attention_heads=2, encoder_ffn_dim=10, decoder_ffn_dim=10,
                   activation_function="swish", scale_embedding=True, pad_token_id=12,
                   decoder_start_token_id=12, forced_eos_token_id=None),
    "t5": dict(d_model=8, d_kv=3, d_ff=10, num_heads=2, num_layers=2, feed_forward_proj="gated-gelu",
               relative_attention_num_buckets=8, relative_attention_max_distance=20,
               pad_token_id=0, decoder_start_token_id=0),
}
