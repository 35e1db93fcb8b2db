"""How fast headlight is beside PyTorch: the work of `headlight bench`, done by both in turn.

pytorch.py HEADLIGHT [--pairs 20] [--only NAME ...] [--threads 2]

Needs Python with torch. Each pair measures both, every second pair PyTorch first, so that a busy neighbour or a warm
machine meets both alike. The ratio of a pair is PyTorch's best time over headlight's best time in the same seconds: above
1 headlight is faster. Printed are the medians and the interval that holds the true median ratio with at least 95 %, by the
sign test. Both use float32 and the same number of threads. PyTorch does what it offers for the work: its fused attention, its
fused AdamW, a key/value cache that is allocated once.
"""
import argparse
import json
import math
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

from versions import interval

CASES = [
    "attention-causal-4x1024x768x12",
    "attention-full-4x1024x768x12",
    "attention-forward-backward-causal-4x1024x768x12",
    "train-gpt2-4x64",
    "train-nanogpt-12x64",
    "decode-gpt2",
]


def attention_work(sizes, causal, backward):
    """From projected queries, keys and values to merged heads, as headlight's case; and the way back."""
    batch, tokens, width, heads = sizes
    inputs = [torch.randn(batch, tokens, width, requires_grad=backward) for _ in range(3)]
    upstream = torch.randn(batch, tokens, width)

    def run():
        split = [x.view(batch, tokens, heads, width // heads).transpose(1, 2) for x in inputs]
        output = F.scaled_dot_product_attention(*split, is_causal=causal)
        merged = output.transpose(1, 2).reshape(batch, tokens, width)
        if backward:
            for x in inputs:
                x.grad = None
            merged.backward(upstream)

    return run


class Block(torch.nn.Module):
    def __init__(self, width, heads, bias, tanh):
        super().__init__()
        self.heads = heads
        self.norm_1 = torch.nn.LayerNorm(width, bias=bias)
        self.norm_2 = torch.nn.LayerNorm(width, bias=bias)
        self.qkv = torch.nn.Linear(width, 3 * width, bias=bias)
        self.out = torch.nn.Linear(width, width, bias=bias)
        self.up = torch.nn.Linear(width, 4 * width, bias=bias)
        self.down = torch.nn.Linear(4 * width, width, bias=bias)
        self.tanh = "tanh" if tanh else "none"

    def forward(self, x, cache=None, past=0):
        batch, tokens, width = x.shape
        parts = self.qkv(self.norm_1(x)).split(width, dim=2)
        query, key, value = (p.view(batch, tokens, self.heads, -1).transpose(1, 2) for p in parts)
        if cache is not None:
            cache[0][:, :, past : past + tokens] = key
            cache[1][:, :, past : past + tokens] = value
            key, value = (kept[:, :, : past + tokens] for kept in cache)
        y = F.scaled_dot_product_attention(query, key, value, is_causal=tokens > 1)
        x = x + self.out(y.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.norm_2(x)), approximate=self.tanh))


class Gpt(torch.nn.Module):
    def __init__(self, vocabulary, context, layers, heads, width, bias, tanh):
        super().__init__()
        self.context, self.heads, self.width = context, heads, width
        self.tokens = torch.nn.Embedding(vocabulary, width)
        self.positions = torch.nn.Embedding(context, width)
        self.blocks = torch.nn.ModuleList(Block(width, heads, bias, tanh) for _ in range(layers))
        self.norm = torch.nn.LayerNorm(width, bias=bias)

    def forward(self, ids, caches=None, past=0):
        x = self.tokens(ids) + self.positions(torch.arange(past, past + ids.shape[1]))
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i], past)
        x = self.norm(x)
        if caches is not None:
            x = x[:, -1:]
        return F.linear(x, self.tokens.weight)


def gpt2():
    return Gpt(50257, 1024, 12, 12, 768, bias=True, tanh=True)


def nanogpt():
    return Gpt(65, 64, 4, 4, 128, bias=False, tanh=False)


def training_work(model, rows, tokens):
    vocabulary = model.tokens.num_embeddings
    ids, targets = (torch.randint(vocabulary, (rows, tokens)) for _ in range(2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def run():
        loss = F.cross_entropy(model(ids).view(-1, vocabulary), targets.view(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return run


def decoding_work(model):
    """A token after a short prompt; when the context is full it begins again."""
    shape = (1, model.heads, model.context, model.width // model.heads)
    caches = [(torch.zeros(shape), torch.zeros(shape)) for _ in model.blocks]
    state = {"past": model.context}

    @torch.inference_mode()
    def run():
        if state["past"] >= model.context:
            model(torch.randint(50257, (1, 16)), caches, 0)
            state["past"] = 16
        model(torch.randint(50257, (1, 1)), caches, state["past"])
        state["past"] += 1

    return run


def work_of(name):
    parts = name.split("-")
    if parts[0] == "attention":
        sizes = [int(size) for size in parts[-1].split("x")]
        return attention_work(sizes, "causal" in parts, "backward" in parts)
    if parts[0] == "train":
        model = gpt2() if parts[1] == "gpt2" else nanogpt()
        return training_work(model, *(int(size) for size in parts[-1].split("x")))
    return decoding_work(gpt2())


def torch_seconds(run, repeats):
    """The best of several timings; work shorter than 40 ms is repeated within one, as headlight does."""
    run()
    begin = time.perf_counter()
    run()
    inner = max(1, math.ceil(0.04 / max(time.perf_counter() - begin, 1e-6)))
    best = math.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        for _ in range(inner):
            run()
        best = min(best, (time.perf_counter() - begin) / inner)
    return best


def headlight_seconds(program, name, threads):
    command = [program, "bench", "--json", "--quick", "--only", name, "--threads", str(threads)]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return next(work["best_seconds"] for work in json.loads(run.stdout)["work"] if work["name"] == name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("headlight")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=CASES, metavar="NAME", help="names of headlight bench")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5, help="timings of PyTorch in a pair")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)

    print(f"torch {torch.__version__}, {arguments.threads} threads, {arguments.pairs} pairs")
    print(f"{'work':50} {'headlight':>10} {'PyTorch':>10} {'ratio':>6}  interval")
    for name in arguments.only:
        run, ours, theirs = work_of(name), [], []
        for pair in range(arguments.pairs):
            turns = [
                lambda: ours.append(headlight_seconds(arguments.headlight, name, arguments.threads)),
                lambda: theirs.append(torch_seconds(run, arguments.repeats)),
            ]
            for turn in turns if pair % 2 == 0 else reversed(turns):
                turn()
            print(f"\r{name} {pair + 1}", end="", file=sys.stderr, flush=True)
        print("\r\033[K", end="", file=sys.stderr)
        ratios = [b / a for a, b in zip(ours, theirs)]
        low, high = interval(ratios)
        times = [f"{1000 * statistics.median(seconds):7.2f} ms" for seconds in (ours, theirs)]
        print(f"{name:50} {times[0]} {times[1]} {statistics.median(ratios):6.2f}  {low:.2f} to {high:.2f}", flush=True)


if __name__ == "__main__":
    main()
