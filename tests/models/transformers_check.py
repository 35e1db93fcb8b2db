# Hugging Face transformers on the other side: `make DIR` saves random models with their outputs,
# `check DIR` opens the folders in DIR, written by Headlight, and compares their logits.
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, BertConfig, BertForMaskedLM, BertForPreTraining, BertModel
from transformers import GPT2Config, GPT2LMHeadModel, GPT2Model


def randomize(model):
    """Random numbers everywhere, so that nothing hides behind a zero or a one."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(0, 0.2)
            if parameter.dim() == 1 and name.endswith("weight"):
                parameter.add_(1)
    return model.eval()


def save(model, folder, tensors, outputs, **options):
    model.save_pretrained(folder, **options)
    save_file({name: tensor.contiguous() for name, tensor in {**tensors, **outputs}.items()},
              os.path.join(folder, "expected.safetensors"))


def hidden_states(states):
    return {f"hidden.{i}": state for i, state in enumerate(states)}


def make_gpt2(root, name, model_class, config, **options):
    model = randomize(model_class(config))
    ids = torch.randint(0, config.vocab_size, (2, 9))
    with torch.no_grad():
        run = model(ids, output_hidden_states=True)
    outputs = hidden_states(run.hidden_states)
    if hasattr(run, "logits"):
        outputs["logits"] = run.logits
    save(model, os.path.join(root, name), {"ids": ids}, outputs, **options)


def make_bert(root, name, model_class):
    config = BertConfig(vocab_size=31, hidden_size=24, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=40, max_position_embeddings=16)
    model = randomize(model_class(config))
    ids = torch.randint(0, config.vocab_size, (2, 9))
    segments = torch.randint(0, 2, (2, 9))
    lens = torch.tensor([9, 6])
    mask = (torch.arange(9)[None] < lens[:, None]).long()
    with torch.no_grad():
        run = model(ids, token_type_ids=segments, attention_mask=mask, output_hidden_states=True)
    outputs = hidden_states(run.hidden_states)
    for output in ("logits", "prediction_logits", "pooler_output"):
        if hasattr(run, output) and getattr(run, output) is not None:
            outputs[output.replace("prediction_", "")] = getattr(run, output)
    save(model, os.path.join(root, name), {"ids": ids, "segments": segments, "lens": lens}, outputs)


def make(root):
    torch.manual_seed(0)
    small = dict(vocab_size=29, n_positions=16, n_embd=24, n_layer=3, n_head=4)
    make_gpt2(root, "gpt2", GPT2LMHeadModel, GPT2Config(**small))
    make_gpt2(root, "gpt2-bare", GPT2Model, GPT2Config(**small))
    make_gpt2(root, "gpt2-relu", GPT2LMHeadModel,
              GPT2Config(**small, activation_function="relu", n_inner=50, layer_norm_epsilon=1e-3))
    make_gpt2(root, "gpt2-untied", GPT2LMHeadModel,
              GPT2Config(**small, activation_function="gelu", tie_word_embeddings=False))
    make_gpt2(root, "gpt2-shards", GPT2LMHeadModel, GPT2Config(**small), max_shard_size="20KB")
    make_bert(root, "bert-masked", BertForMaskedLM)
    make_bert(root, "bert-bare", BertModel)
    make_bert(root, "bert-both", BertForPreTraining)


def check_folder(folder):
    expected = load_file(os.path.join(folder, "logits.safetensors"))
    architecture = AutoConfig.from_pretrained(folder).architectures[0]
    model_class = getattr(transformers, architecture)
    model, loading = model_class.from_pretrained(folder, output_loading_info=True)
    # The head for the next sentence is not Headlight's.
    missing = {key for key in loading["missing_keys"] if not key.startswith("cls.seq_relationship")}
    for keys in (missing, loading["unexpected_keys"], loading["mismatched_keys"]):
        if keys:
            sys.exit(f"{architecture} does not fit: {keys}")
    with torch.no_grad():
        run = model.eval()(expected["ids"])
    logits = run.prediction_logits if "prediction_logits" in run else run.logits
    distance = (logits - expected["logits"]).abs().max().item()
    if not distance <= 1e-4:
        sys.exit(f"{architecture}: logits are {distance} apart")


def check(root):
    for name in sorted(os.listdir(root)):
        check_folder(os.path.join(root, name))


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](sys.argv[2])
