"""What translation.cpp did, in PyTorch: the same first weights, batches and settings.

translation FOLDER STEPS, after translation.cpp has left its inputs there. Needs torch and safetensors.
"""
import math
import sys
import time

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

HEADS = 8
WIDTH = 256


def sinusoids(length):
    rates = 10000.0 ** (-torch.arange(WIDTH // 2, dtype=torch.float64) / (WIDTH // 2))
    angles = torch.arange(length, dtype=torch.float64)[:, None] * rates
    return torch.stack((angles.sin(), angles.cos()), dim=-1).reshape(length, WIDTH).float()


def norm(w, name, x):
    return F.layer_norm(x, (WIDTH,), w[name + ".weight"], w[name + ".bias"])


def linear(w, name, x):
    return F.linear(x, w[name + ".weight"], w[name + ".bias"])


def attend(w, name, x, memory, mask):
    def heads(y):
        return y.view(y.shape[0], y.shape[1], HEADS, WIDTH // HEADS).transpose(1, 2)

    q, k, v = heads(linear(w, name + ".q_proj", x)), heads(linear(w, name + ".k_proj", memory)), heads(linear(w, name + ".v_proj", memory))
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return linear(w, name + ".out_proj", y.transpose(1, 2).reshape(x.shape))


def feed_forward(w, name, x):
    return linear(w, name + ".fc2", F.relu(linear(w, name + ".fc1", x)))


def embed(w, ids, table):
    return F.embedding(ids, w["shared.weight"]) * math.sqrt(WIDTH) + table[: ids.shape[1]]


def logits(w, batch, table):
    source, ids = batch["source_ids"], batch["ids"]
    seen = torch.arange(source.shape[1])[None] < batch["source_lens"][:, None]
    seen = seen[:, None, None]
    causal = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()
    x = embed(w, source, table)
    for layer in range(4):
        p = f"encoder.layers.{layer}."
        y = norm(w, p + "self_attn_layer_norm", x)
        x = x + attend(w, p + "self_attn", y, y, seen)
        x = x + feed_forward(w, p[:-1], norm(w, p + "final_layer_norm", x))
    memory = norm(w, "encoder.layer_norm", x)
    x = embed(w, ids, table)
    for layer in range(4):
        p = f"decoder.layers.{layer}."
        y = norm(w, p + "self_attn_layer_norm", x)
        x = x + attend(w, p + "self_attn", y, y, causal)
        x = x + attend(w, p + "encoder_attn", norm(w, p + "encoder_attn_layer_norm", x), memory, seen)
        x = x + feed_forward(w, p[:-1], norm(w, p + "final_layer_norm", x))
    return F.linear(norm(w, "decoder.layer_norm", x), w["shared.weight"])


def loss(w, batch, table, smoothing):
    scores = logits(w, batch, table).flatten(0, 1)
    return F.cross_entropy(scores, batch["targets"].flatten(), ignore_index=-1, label_smoothing=smoothing)


def main():
    folder, steps = sys.argv[1], int(sys.argv[2])
    w = {name: tensor.clone().requires_grad_() for name, tensor in load_file(folder + "/model.safetensors").items()}
    matrices = [p for p in w.values() if p.dim() > 1]
    others = [p for p in w.values() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}], betas=(0.9, 0.98))
    table = sinusoids(256)
    for step in range(steps):
        start = time.time()
        batch = load_file(f"{folder}/train-{step}.safetensors")
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * min(1.0, (step + 1) / 101)
        value = loss(w, batch, table, 0.1)
        value.backward()
        torch.nn.utils.clip_grad_norm_(w.values(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % 50 == 49:
            print(f"step {step + 1}  train loss {value.item():.4f}  {1000 * (time.time() - start):.0f} ms", flush=True)
    total, count, index = 0.0, 0, 0
    with torch.no_grad():
        while True:
            try:
                batch = load_file(f"{folder}/valid-{index}.safetensors")
            except FileNotFoundError:
                break
            targets = int((batch["targets"] != -1).sum())
            total += loss(w, batch, table, 0.0).item() * targets
            count += targets
            index += 1
    print(f"validation loss {total / count:.4f}")


main()
