# transformer-lens on the other side: opens a model folder of the GPT-2 family, reads scores.json in
# it, which `head_scores_json` wrote, runs the sequences that are named there and compares the
# previous-token, duplicate-token, induction and prefix-matching scores of its cached patterns.
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformer_lens.model_bridge import TransformerBridge


def patterns(bridge, ids):
    """(layer, sequence, head, query, key)"""
    with torch.no_grad():
        _, cache = bridge.run_with_cache(torch.tensor(ids))
    return torch.stack([cache[f"blocks.{layer}.attn.hook_pattern"]
                        for layer in range(bridge.cfg.n_layers)])


def stripe(pattern, offset, first, count):
    """The mean weight of keys `offset` before rows [first, first + count), (layer, head)."""
    rows = torch.arange(first, first + count)
    return pattern[:, :, :, rows, rows - offset].double().mean(dim=(1, 3))


def expected_scores(bridge, sequences):
    two, several = sequences
    n, first = two["period"], two["first"]
    pattern = patterns(bridge, two["ids"])
    scores = {"previous": stripe(pattern, 1, first + 1, 2 * n - 1),
              "duplicate": stripe(pattern, n, first + n, n),
              "induction": stripe(pattern, n - 1, first + n, n)}
    n, first, copies = several["period"], several["first"], several["copies"]
    pattern = patterns(bridge, several["ids"])
    followers = sum(stripe(pattern, back * n - 1, first + copy * n, n)
                    for copy in range(1, copies) for back in range(1, copy + 1))
    scores["prefix_matching"] = followers / (copies - 1)
    return scores


def check(folder):
    with open(os.path.join(folder, "scores.json")) as file:
        given = json.load(file)
    bridge = TransformerBridge.boot_transformers(folder)
    expected = expected_scores(bridge, given["sequences"])
    worst = 0
    for head in given["heads"]:
        _, layer, _, number = head["head"].split(".")
        for name, scores in expected.items():
            worst = max(worst, abs(head[name] - scores[int(layer), int(number)].item()))
    print("largest difference", worst)
    return worst <= 1e-4


if __name__ == "__main__":
    sys.exit(0 if check(sys.argv[1]) else 1)
