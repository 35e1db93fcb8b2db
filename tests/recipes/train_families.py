# Training by PyTorch what train_families_test.cpp trains: `train_families.py DIR` opens the model
# in DIR with Hugging Face transformers, learns the batches of DIR/request.safetensors one after the
# other and writes the losses to DIR/losses.json.
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from safetensors.torch import load_file

torch.set_num_threads(1)  # models are small
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

FIRST, LAST = 20, 50


def model_of(folder):
    with open(os.path.join(folder, "config.json")) as file:
        architecture = json.load(file)["architectures"][0]
    model = getattr(transformers, architecture).from_pretrained(folder, dtype=torch.float32)
    # PyTorch leaves the padding's row out of an embedding's gradient; compared is all of it.
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            module.padding_idx = None
    return model


def mask_of(ids, lens):
    return (torch.arange(ids.shape[1])[None] < lens[:, None]).long()


def inputs_of(batch):
    """What a model of transformers is called with."""
    if "source_ids" in batch:
        return dict(input_ids=batch["source_ids"], decoder_input_ids=batch["ids"],
                    attention_mask=mask_of(batch["source_ids"], batch["source_lens"]))
    inputs = dict(input_ids=batch["ids"])
    if "lens" in batch:
        inputs["attention_mask"] = mask_of(batch["ids"], batch["lens"])
    return inputs


def loss_of(model, batch, reduction):
    logits = model(**inputs_of(batch)).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch["targets"].flatten(),
                                             ignore_index=-1, reduction=reduction)


def batches_of(tensors, kind):
    """A list of batches: the tensors whose names begin with kind and a number."""
    batches = {}
    for name, tensor in tensors.items():
        if name.startswith(kind + "."):
            _, number, part = name.split(".")
            batches.setdefault(int(number), {})[part] = tensor
    return [batches[number] for number in sorted(batches)]


def optimizer_of(model, beta1, beta2, decay):
    trained = [one for one in model.parameters() if one.requires_grad]
    return torch.optim.AdamW([
        {"params": [one for one in trained if one.dim() >= 2], "weight_decay": decay},
        {"params": [one for one in trained if one.dim() < 2], "weight_decay": 0.0},
    ], betas=(beta1, beta2), eps=1e-8)


def main(folder):
    tensors = load_file(os.path.join(folder, "request.safetensors"))
    beta1, beta2, decay, clip = (round(number, 6) for number in tensors["optimizer"].tolist())
    model = model_of(folder).train()
    optimizer = optimizer_of(model, beta1, beta2, decay)
    losses = []
    for batch, rate in zip(batches_of(tensors, "train"), tensors["rates"].tolist()):
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        loss = loss_of(model, batch, "mean")
        loss.backward()
        if clip > 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for batch in batches_of(tensors, "valid"):
            total += loss_of(model, batch, "sum").item()
            count += int((batch["targets"] != -1).sum())
    with open(os.path.join(folder, "losses.json"), "w") as file:
        json.dump({"first": losses[:FIRST], "training": sum(losses[-LAST:]) / LAST,
                   "validation": total / count}, file)


main(sys.argv[1])
