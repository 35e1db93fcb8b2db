"""gguf_check.py MODEL.gguf IDS.safetensors OUT.safetensors: what other programs compute for a Llama in a GGUF file.

Writes "logits" (T, V) of transformers, in float32, on the weights as the package gguf dequantises them; and where llama_cpp is there,
"best" (T,), the token that llama.cpp finds best after each position. Exits 77 where a package is missing.
"""
import sys

try:
    import numpy
    import torch
    from gguf import GGUFReader
    from gguf.quants import dequantize
    from safetensors.numpy import load_file, save_file
    from transformers import LlamaConfig, LlamaForCausalLM
except ImportError as error:
    print(error)
    sys.exit(77)


def setting(reader, key, otherwise=None):
    field = reader.get_field(key)
    return otherwise if field is None else field.contents()


def in_halves(weight, heads):
    """llama.cpp keeps pairs that turn together beside each other."""
    rows = weight.shape[0]
    return weight.reshape(heads, rows // heads // 2, 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


NAMES = {"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
         "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
         "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}


def transformers_logits(path, ids):
    reader = GGUFReader(path)
    heads = int(setting(reader, "llama.attention.head_count"))
    kv_heads = int(setting(reader, "llama.attention.head_count_kv", heads))
    state = {}
    for tensor in reader.tensors:
        numbers = dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
        name = tensor.name.split(".")
        if name[0] == "blk":
            if name[2] in ("attn_q", "attn_k"):
                numbers = in_halves(numbers, heads if name[2] == "attn_q" else kv_heads)
            state[f"model.layers.{name[1]}.{NAMES[name[2]]}.weight"] = numbers
        else:
            state[{"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}[name[0]] + ".weight"] = numbers
    tied = "lm_head.weight" not in state
    rows, width = state["model.embed_tokens.weight"].shape
    config = LlamaConfig(vocab_size=rows, hidden_size=width, intermediate_size=int(setting(reader, "llama.feed_forward_length")),
                         num_hidden_layers=int(setting(reader, "llama.block_count")), num_attention_heads=heads,
                         num_key_value_heads=kv_heads, max_position_embeddings=int(setting(reader, "llama.context_length")),
                         rms_norm_eps=float(setting(reader, "llama.attention.layer_norm_rms_epsilon")),
                         rope_theta=float(setting(reader, "llama.rope.freq_base", 10000.0)), tie_word_embeddings=tied)
    model = LlamaForCausalLM(config).eval()
    if tied:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict({name: torch.from_numpy(numpy.ascontiguousarray(numbers)) for name, numbers in state.items()}, strict=True)
    with torch.inference_mode():
        return model(torch.from_numpy(ids)[None]).logits[0].float().numpy()


def llama_cpp_best(path, ids):
    try:
        from llama_cpp import Llama
    except ImportError:
        return None
    model = Llama(model_path=path, n_ctx=len(ids) + 8, n_batch=len(ids) + 8, logits_all=True, verbose=False)
    model.eval([int(one) for one in ids])
    return numpy.argmax(model.scores[:len(ids)], axis=1).astype(numpy.int64)


def main():
    path, ids_path, out = sys.argv[1:]
    ids = load_file(ids_path)["ids"].astype(numpy.int64)
    numbers = {"logits": transformers_logits(path, ids)}
    best = llama_cpp_best(path, ids)
    if best is not None:
        numbers["best"] = best
    save_file(numbers, out)


main()
