# Models that classify, compared with Hugging Face transformers: `make DIR COUNT FAMILY...` saves
# random models with what they compute, `check MODELS WRITTEN` opens the folders in WRITTEN, which
# Headlight has written from those in MODELS, `golden DIR FAMILY...` saves one tiny model of each
# family.
import copy
import os
import random
import sys

import families_check as families
import torch
import transformers
from family_settings import encoder_sizes
from families_check import AutoConfig, load_file, mask_of, randomize, save_numbers


def bert(draw):
    return dict(encoder_sizes(draw), type_vocab_size=draw.choice([1, 2, 3]),
                layer_norm_eps=draw.choice([1e-12, 1e-5]),
                hidden_act=draw.choice(["gelu", "relu", "gelu_new"]))


def gpt2(draw):
    heads = draw.choice([1, 2, 3, 4])
    return dict(vocab_size=draw.randint(11, 61), n_embd=heads * draw.choice([2, 4, 6]),
                n_head=heads, n_layer=draw.randint(1, 4), n_inner=draw.choice([None, 9, 30]),
                n_positions=draw.randint(14, 40), layer_norm_epsilon=draw.choice([1e-5, 1e-3]),
                activation_function=draw.choice(["gelu_new", "gelu", "relu"]),
                bos_token_id=None, eos_token_id=None)


SETTINGS = {"bert": bert, "gpt2": gpt2,
            **{name: settings for name, (settings, _) in families.FAMILIES.items()}}
CLASSES = {"bert": "Bert", "roberta": "Roberta", "distilbert": "DistilBert", "albert": "Albert",
           "modernbert": "ModernBert", "gpt2": "GPT2", "llama": "Llama", "mistral": "Mistral",
           "qwen2": "Qwen2", "qwen3": "Qwen3", "smollm3": "SmolLM3", "gemma3_text": "Gemma3Text",
           "gpt_neox": "GPTNeoX", "gpt_neo": "GPTNeo", "opt": "OPT"}
ENCODERS = ("bert",) + families.ENCODERS
WITH_SEGMENTS = ("bert", "roberta", "albert")


def labels(draw):
    """Labels, and what the numbers mean."""
    count = draw.choice([1, 2, 2, 3, 5])
    words = ["good", "not good", "schlecht", "güzel", "좋음", "7", "LABEL_0"]
    settings = dict(num_labels=count)
    if draw.random() < 0.8:
        chosen = draw.sample(words, count)
        settings = dict(id2label=dict(enumerate(chosen)),
                        label2id={word: number for number, word in enumerate(chosen)})
    kinds = ["regression", "multi_label_classification", None]
    if count > 1:
        kinds.append("single_label_classification")
    return dict(settings, problem_type=draw.choice(kinds))


def random_model(family, settings, seed):
    config = AutoConfig.for_model(family, **settings)
    config._attn_implementation = "eager"
    model = getattr(transformers, CLASSES[family] + "ForSequenceClassification")(config)
    for module in model.modules():  # a row of padding has a gradient as any other
        if isinstance(module, torch.nn.Embedding):
            module.padding_idx = None
    return randomize(model, seed)


def random_inputs(model, length, draw):
    config = model.config
    encodes = config.model_type in ENCODERS
    padding = config.pad_token_id
    sequences = 3 if encodes or padding is not None else 1
    numbers = {"ids": torch.randint(2, config.vocab_size - 1, (sequences, length)),
               "lens": torch.tensor([length, length - 3, 1][:sequences])}
    if config.model_type in WITH_SEGMENTS:
        numbers["segments"] = torch.randint(0, config.type_vocab_size, (sequences, length))
    if not encodes and padding is not None:
        # Where its id stands in the text, the row before it is the last one.
        for sequence, count in enumerate(numbers["lens"].tolist()):
            numbers["ids"][sequence, count:] = padding
            if draw.random() < 0.5:
                numbers["ids"][sequence, count - 1] = padding
    return numbers


def logits_of(model, numbers):
    inputs = dict(input_ids=numbers["ids"], attention_mask=mask_of(numbers["ids"], numbers["lens"]))
    if "segments" in numbers:
        inputs["token_type_ids"] = numbers["segments"]
    return model(**inputs).logits


def computed(model, seed, draw, length=11):
    """Inputs and what the model makes of them: logits, gradients of their sum, each times a number
    of d_logits, and where one label is right the loss."""
    torch.manual_seed(seed)
    numbers = random_inputs(model, length, draw)
    model.zero_grad()
    logits = logits_of(model, numbers)
    numbers["d_logits"] = torch.randn_like(logits)
    (logits * numbers["d_logits"]).sum().backward()
    numbers["logits"] = logits.detach()
    count = logits.shape[1]
    if count > 1 and model.config.problem_type in (None, "single_label_classification"):
        numbers["labels"] = torch.randint(0, count, (len(logits),))
        numbers["loss"] = torch.nn.functional.cross_entropy(numbers["logits"], numbers["labels"])
    gradients = {f"grad.{name}": torch.zeros_like(parameter)
                 if parameter.grad is None else parameter.grad
                 for name, parameter in model.named_parameters()}
    return numbers, gradients


def make_folder(folder, family, number):
    draw = random.Random(f"{family} classifies {number}")
    settings = {**SETTINGS[family](draw), **labels(draw)}
    if family not in ENCODERS:
        settings["pad_token_id"] = draw.choice([None, 0, 1, settings["vocab_size"] - 1])
    if family == "modernbert":
        settings["classifier_pooling"] = draw.choice(["cls", "mean"])
    model = random_model(family, settings, number)
    as_bfloat16 = number % 3 == 1
    if as_bfloat16:  # computed in float32, on both sides
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(parameter.bfloat16().float())
    numbers, gradients = computed(model, number, draw)
    stored = copy.deepcopy(model).bfloat16() if as_bfloat16 else model
    stored.save_pretrained(folder, max_shard_size="4KB" if number % 4 == 2 else "5GB")
    if number % 2:
        families.earlier_dialect(folder, number)
    save_numbers({**numbers, **gradients}, os.path.join(folder, "expected.safetensors"))


def make(root, count, chosen):
    for family in chosen:
        for number in range(int(count)):
            make_folder(os.path.join(root, f"{family}-{number}"), family, number)


NAMES = {0: "negative", 1: "neutral", 2: "positive"}
GOLDEN_SWITCHES = {
    **families.GOLDEN_SWITCHES,
    "bert": dict(pad_token_id=0),
    "gpt2": dict(n_embd=8, n_layer=2, n_head=2, n_positions=24, pad_token_id=0),
    "modernbert": dict(families.GOLDEN_SWITCHES["modernbert"], classifier_pooling="mean",
                       problem_type="multi_label_classification"),
    "llama": dict(families.GOLDEN_SWITCHES["llama"], pad_token_id=0),
    "opt": dict(families.GOLDEN_SWITCHES["opt"], pad_token_id=1),
}


def golden(root, chosen):
    for family in chosen:
        folder = os.path.join(root, family)
        known = set(AutoConfig.for_model(family).to_dict())
        sizes = {key: value for key, value in families.GOLDEN.items() if key in known}
        names = dict(id2label=NAMES, label2id={name: number for number, name in NAMES.items()})
        model = random_model(family, {**sizes, **names, **GOLDEN_SWITCHES[family]}, 5)
        numbers, gradients = computed(model, 7, random.Random(3), length=6)
        for name, gradient in gradients.items():
            numbers[name.replace("grad.", "length.", 1)] = gradient.norm()
        model.save_pretrained(folder)
        save_numbers(numbers, os.path.join(folder, "expected.safetensors"))


def check_folder(origin, folder):
    expected = load_file(os.path.join(origin, "expected.safetensors"))
    config = AutoConfig.from_pretrained(folder)
    first = AutoConfig.from_pretrained(origin)
    for key in ("architectures", "id2label", "problem_type"):
        if getattr(config, key) != getattr(first, key):
            sys.exit(f"{folder}: {key} is {getattr(config, key)}, was {getattr(first, key)}")
    model, loading = getattr(transformers, config.architectures[0]).from_pretrained(
        folder, output_loading_info=True)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if loading[kind]:
            sys.exit(f"{folder}: {kind} {loading[kind]}")
    with torch.no_grad():
        logits = logits_of(model.float().eval(), expected)
    distance = (logits - expected["logits"]).abs().max().item()
    if not distance <= 1e-4 * max(1.0, expected["logits"].abs().max().item()):
        sys.exit(f"{folder}: logits are {distance} from those they were written with")


def check(models, written):
    for name in sorted(os.listdir(written)):
        check_folder(os.path.join(models, name), os.path.join(written, name))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], sys.argv[3], sys.argv[4:])
    elif sys.argv[1] == "golden":
        golden(sys.argv[2], sys.argv[3:])
    else:
        check(sys.argv[2], sys.argv[3])
