# Families of models, compared with Hugging Face transformers: `make DIR COUNT FAMILY...` saves
# random models with what they compute, `check DIR` opens the folders in DIR, written by Headlight,
# and compares their logits, `golden DIR FAMILY...` saves one tiny model of each family, `dropouts
# DIR FAMILY...` models that drop all of what one rate is for, with what is left of their logits.
import copy
import json
import os
import random
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoConfig

from family_settings import ENCODERS, FAMILIES, GOLDEN, GOLDEN_SWITCHES, TRANSLATORS

torch.set_num_threads(1)  # models are small
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


def randomize(model, seed):
    """Random numbers everywhere, so that nothing hides behind a zero or a one."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:  # positions that are computed
                continue
            parameter.normal_(0, 0.2)
            # Norms multiply by about 1: by this weight, or by 1 + it.
            if parameter.dim() == 1 and name.endswith("weight") and "Gemma" not in type(model).__name__:
                parameter.add_(1)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.normal_(0, 0.2)
    return model.eval()


def random_model(family, settings, seed):
    config = AutoConfig.for_model(family, **settings)
    config._attn_implementation = "eager"
    model = getattr(transformers, FAMILIES[family][1])(config)
    # PyTorch leaves the padding's row out of an embedding's gradient, even where Marian begins to
    # write with it; compared is the gradient of the loss, whole.
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            module.padding_idx = None
    return randomize(model, seed)


def mask_of(ids, lens):
    return (torch.arange(ids.shape[1])[None] < lens[:, None]).long()


def inputs_of(numbers):
    """What a model of transformers is called with."""
    if "source_ids" in numbers:
        return dict(input_ids=numbers["source_ids"], decoder_input_ids=numbers["ids"],
                    attention_mask=mask_of(numbers["source_ids"], numbers["source_lens"]))
    inputs = dict(input_ids=numbers["ids"])
    if "lens" in numbers:
        inputs["attention_mask"] = mask_of(numbers["ids"], numbers["lens"])
    if "segments" in numbers:
        inputs["token_type_ids"] = numbers["segments"]
    return inputs


def logits_of(model, numbers):
    """Logits, without those of padding, which are nobody's business."""
    logits = model(**inputs_of(numbers)).logits
    if "lens" in numbers:
        logits = logits * mask_of(numbers["ids"], numbers["lens"])[..., None]
    return logits


def random_inputs(model, length):
    config = model.config
    vocabulary = getattr(config, "decoder_vocab_size", None) or config.vocab_size
    numbers = {"ids": torch.randint(2, vocabulary - 1, (2, length)),
               "targets": torch.randint(0, vocabulary, (2, length))}
    numbers["targets"][0, 2] = numbers["targets"][1, 0] = -1
    if config.model_type == "roberta":  # where it stands in a text, it takes no position
        numbers["ids"][0, length // 2] = numbers["ids"][1, 0] = config.pad_token_id
    if config.model_type in ENCODERS:
        numbers["lens"] = torch.tensor([length, length - 3])
        numbers["targets"][1, length - 3:] = -1
    if config.model_type in ("roberta", "albert"):
        numbers["segments"] = torch.randint(0, config.type_vocab_size, (2, length))
    if config.model_type in TRANSLATORS:
        numbers["ids"][:, 0] = config.decoder_start_token_id
        numbers["source_ids"] = torch.randint(2, config.vocab_size - 1, (2, length - 2))
        numbers["source_lens"] = torch.tensor([length - 2, length - 4])
    return numbers


def greedy(model, numbers, count):
    """The words that follow the first five, and how far the best was from the second."""
    inputs = inputs_of(numbers)
    inputs["decoder_input_ids" if "source_ids" in numbers else "input_ids"] = numbers["ids"][:, :5]
    run = model.generate(**inputs, max_new_tokens=count, do_sample=False, num_beams=1,
                         # Its cache has no room for a decoder of more layers than the encoder.
                         use_cache=model.config.model_type != "t5", output_scores=True,
                         return_dict_in_generate=True)
    best = torch.stack(run.scores, 1).topk(2, -1).values
    return run.sequences[:, 5:].contiguous(), (best[..., 0] - best[..., 1]).contiguous()


def stored_name(model, name):
    """What folders call a parameter."""
    neox = model.config.model_type == "gpt_neox"
    return name.replace("lm_head.", "embed_out.") if neox else name


def computed(model, seed, length=11, generated=64):
    """Inputs and what the model makes of them."""
    torch.manual_seed(seed)
    numbers = random_inputs(model, length)
    model.zero_grad()
    logits = logits_of(model, numbers)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), numbers["targets"].flatten(),
                                             ignore_index=-1)
    loss.backward()
    numbers.update(logits=logits.detach(), loss=loss.detach())
    gradients = {f"grad.{stored_name(model, name)}": torch.zeros_like(parameter)
                 if parameter.grad is None else parameter.grad
                 for name, parameter in model.named_parameters()}
    if generated and model.config.model_type not in ENCODERS:
        numbers["words"], numbers["margins"] = greedy(model, numbers, generated)
    return numbers, gradients


def save_numbers(numbers, path):
    save_file({name: tensor.contiguous() for name, tensor in numbers.items()}, path)


def earlier_dialect(folder, number):
    """Rotary parameters at the top level, as transformers 4 writes them."""
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    parameters = config.pop("rope_parameters", None)
    local = (parameters or {}).get("sliding_attention")
    modern = config["model_type"] == "modernbert"
    if local:
        parameters = parameters["full_attention"]
        if local["rope_type"] != "default" or (modern and parameters["rope_type"] != "default"):
            return
        config["local_rope_theta" if modern else "rope_local_base_freq"] = local["rope_theta"]
    if modern:
        config["global_rope_theta"] = parameters["rope_theta"]
    elif parameters:
        neox = config["model_type"] == "gpt_neox"
        config["rotary_emb_base" if neox else "rope_theta"] = parameters.pop("rope_theta")
        if neox:
            config["rotary_pct"] = parameters.pop("partial_rotary_factor")
            if number % 4 == 1:  # versions that wrote both names
                config.update(partial_rotary_factor=config["rotary_pct"],
                              rope_theta=config["rotary_emb_base"])
        config["rope_scaling"] = None if parameters["rope_type"] == "default" else parameters
    with open(path, "w") as file:
        json.dump(config, file)


def without_shared_table(folder):
    """The table that both sides share under the sides' names alone, as others store it."""
    path = os.path.join(folder, "model.safetensors")
    tensors = load_file(path)
    shared = next((name for name in tensors if name.endswith("shared.weight")), None)
    if shared is None:
        return
    table = tensors.pop(shared)
    for side in ("encoder", "decoder"):
        tensors[shared.replace("shared", f"{side}.embed_tokens")] = table.clone()
    save_file(tensors, path, {"format": "pt"})


def make_folder(folder, family, number):
    draw = random.Random(f"{family}{number}")
    model = random_model(family, FAMILIES[family][0](draw), number)
    if family == "t5" and number % 3 == 0:  # version 1.1 has an output layer of its own
        model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.lm_head.weight) * 0.2)
    as_bfloat16 = number % 3 == 1
    if as_bfloat16:  # computed in float32, on both sides
        with torch.no_grad():
            stored = [one for one in model.parameters() if one.requires_grad]
            for numbers in stored + [getattr(model, "final_logits_bias", torch.zeros(1))]:
                numbers.copy_(numbers.bfloat16().float())
    numbers, gradients = computed(model, number)
    stored = copy.deepcopy(model).bfloat16() if as_bfloat16 else model
    stored.save_pretrained(folder, max_shard_size="4KB" if number % 4 == 2 else "5GB")
    if number % 2:
        earlier_dialect(folder, number)
    if family in TRANSLATORS and number % 4 == 3:
        without_shared_table(folder)
    save_numbers({**numbers, **gradients}, os.path.join(folder, "expected.safetensors"))


def make(root, count, families):
    for family in families:
        for number in range(int(count)):
            make_folder(os.path.join(root, f"{family}-{number}"), family, number)


def golden_settings(family):
    known = set(AutoConfig.for_model(family).to_dict())
    return {**{key: value for key, value in GOLDEN.items() if key in known}, **GOLDEN_SWITCHES[family]}


def dropouts(root, families):
    for family in families:
        usual = AutoConfig.for_model(family).to_dict()
        rates = [key for key, value in usual.items()
                 if "drop" in key and isinstance(value, (int, float)) and "layerdrop" not in key]
        for rate in rates:
            folder = os.path.join(root, f"{family}-{rate}")
            settings = {**golden_settings(family), **dict.fromkeys(rates, 0.0)}
            model = random_model(family, {**settings, rate: 1.0}, 5).train()
            torch.manual_seed(7)
            numbers = random_inputs(model, 6)
            with torch.no_grad():
                numbers["logits"] = logits_of(model, numbers)
            setattr(model.config, rate, 0.9999999)
            model.save_pretrained(folder)
            save_numbers(numbers, os.path.join(folder, "expected.safetensors"))


def golden(root, families):
    for family in families:
        folder = os.path.join(root, family)
        model = random_model(family, golden_settings(family), 5)
        numbers, gradients = computed(model, 7, length=6, generated=12)
        for name, gradient in gradients.items():
            numbers[name.replace("grad.", "length.", 1)] = gradient.norm()
        model.save_pretrained(folder)
        if os.path.exists(os.path.join(folder, "generation_config.json")):
            os.remove(os.path.join(folder, "generation_config.json"))
        save_numbers(numbers, os.path.join(folder, "expected.safetensors"))


def check_folder(folder):
    expected = load_file(os.path.join(folder, "logits.safetensors"))
    architecture = AutoConfig.from_pretrained(folder).architectures[0]
    model, loading = getattr(transformers, architecture).from_pretrained(
        folder, output_loading_info=True)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if loading[kind]:
            sys.exit(f"{folder}: {kind} {loading[kind]}")
    with torch.no_grad():
        logits = logits_of(model.float().eval(), expected)
    distance = (logits - expected["logits"]).abs().max().item()
    if not distance <= 1e-4 * max(1, logits.abs().max().item()):
        sys.exit(f"{folder}: logits are {distance} apart")


def check(root):
    for name in sorted(os.listdir(root)):
        check_folder(os.path.join(root, name))


if __name__ == "__main__":
    action, directory, *rest = sys.argv[1:]
    if action == "make":
        make(directory, rest[0], rest[1:] or FAMILIES)
    elif action == "dropouts":
        dropouts(directory, rest or FAMILIES)
    elif action == "golden":
        golden(directory, rest or FAMILIES)
    else:
        check(directory)
