"""recompute.py FILE: computes every tensor of a trace again, in float64, from its operands and attributes alone.

FILE is what `headlight explain --format safetensors` writes. Needs NumPy only. Prints the largest difference of each
operation; fails when one is beyond rounding of float32.
"""
import json
import math
import struct
import sys

import numpy as np

TYPES = {"F32": np.float32, "I64": np.int64}


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    trace = json.loads(header.pop("__metadata__")["trace"])
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        array = np.frombuffer(data[8 + length + begin : 8 + length + end], dtype=TYPES[entry["dtype"]])
        array = array.reshape(entry["shape"])
        arrays[name] = array if entry["dtype"] == "I64" else array.astype(np.float64)
    return trace, arrays


def table(shape, a, table, ids=None):
    rows = np.arange(shape[1])[None] if ids is None else ids
    return table[rows + a.get("start", 0)] * a.get("scale", 1)


def sinusoid(shape, a):
    width = shape[-1]
    half = width // 2
    columns = np.arange(width)
    halves = a["order"] == "halves"
    pair = columns % half if halves else columns // 2
    index = columns if a["index"] == "column" else pair
    divisor = half - 1 if a["divisor"] == "half_minus_one" else half
    angle = (np.arange(shape[1]) + a["start"])[:, None] * a["base"] ** (-index / divisor)
    sine = columns < half if halves else columns % 2 == 0
    return np.where(sine, np.sin(angle), np.cos(angle))[None]


def linear(shape, a, input, weight, bias=None):
    if a["layout"] == "out_in":
        weight = weight.T
    weight = weight[:, a["weight_begin"] : a["weight_begin"] + a["outputs"]]
    if "repeat" in a:
        weight = np.concatenate([weight] * a["repeat"])
        input = input.reshape(input.shape[0], -1)
    result = input @ weight
    return result if bias is None else result + bias[a["bias_begin"] : a["bias_begin"] + a["outputs"]]


def repeat(shape, a, bias=None):
    result = np.zeros(shape)
    return result if bias is None else result + bias[a["bias_begin"] : a["bias_begin"] + shape[-1]]


def split(shape, a, input):
    batch, rows, width = input.shape
    return input.reshape(batch, rows, a["heads"], width // a["heads"]).transpose(0, 2, 1, 3)


def for_each_head(kv, heads):
    return np.repeat(kv, heads // kv.shape[1], axis=1)


def scores(shape, a, query, key):
    return query @ for_each_head(key, query.shape[1]).transpose(0, 1, 3, 2)


def mask(shape, a, input):
    i, j = np.indices(input.shape[-2:])
    return np.where(a["causal"] & (j > i), -np.inf, input)


def weigh(shape, a, weights, value):
    return weights[..., None] * for_each_head(value, weights.shape[1])[:, :, None]


def merge(shape, a, input, gates=None):
    if gates is not None:
        input = input * gates.reshape(-1, input.shape[1], 1, 1)
    return input.transpose(0, 2, 1, 3).reshape(shape)


def deviation(shape, a, input, mean):
    count = input.shape[-1] - (1 if a.get("sample") else 0)
    variance = ((input - mean[..., None]) ** 2).sum(-1) / count
    if a.get("outside"):
        return np.sqrt(variance) + a["epsilon"]
    return np.sqrt(variance + a["epsilon"])


def activation(shape, a, input):
    if a["function"] == "relu":
        return np.maximum(input, 0)
    if a["function"] == "gelu":
        return input / 2 * (1 + np.vectorize(math.erf)(input / math.sqrt(2)))
    return input / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (input + 0.044715 * input**3)))


OPERATIONS = {
    "copy": lambda shape, a, input: input,
    "table": table,
    "sinusoid": sinusoid,
    "add": lambda shape, a, left, right, more=0: left + right + more,
    "linear": linear,
    "repeat": repeat,
    "cut": lambda shape, a, input: input[..., a["begin"] : a["begin"] + a["width"]],
    "split": split,
    "scores": scores,
    "scale": lambda shape, a, input: input * a["factor"],
    "mask": mask,
    "row_max": lambda shape, a, input: input.max(-1),
    "row_sum": lambda shape, a, input, maximum: np.exp(input - maximum[..., None]).sum(-1),
    "softmax": lambda shape, a, input, maximum, sum: np.exp(input - maximum[..., None]) / sum[..., None],
    "weigh": weigh,
    "sum_keys": lambda shape, a, input: input.sum(3),
    "merge": merge,
    "mean": lambda shape, a, input: input.mean(-1),
    "deviation": deviation,
    "normalize": lambda shape, a, input, mean, deviation: (input - mean[..., None]) / deviation[..., None],
    "scale_shift": lambda shape, a, input, weight, bias=0: input * weight + bias,
    "activation": activation,
}


def difference(entry, got, expected):
    """The largest one, measured against the size of what enters: where numbers cancel, rounding stays."""
    hidden = np.isneginf(expected)
    if got.shape != expected.shape or not np.array_equal(np.isneginf(got), hidden):
        return math.inf
    if hidden.all() or expected.size == 0:
        return 0.0
    size = max(1.0, np.abs(expected[~hidden]).max())
    return np.abs(got[~hidden] - expected[~hidden]).max() / size


def main(path):
    trace, arrays = read(path)
    worst = {}
    for entry in trace["tensors"]:
        name, operation = entry["name"], entry["operation"]
        assert list(arrays[name].shape) == entry["shape"], name
        if operation == "given":
            continue
        operands = {operand["role"]: arrays[operand["name"]] for operand in entry["operands"]}
        got = OPERATIONS[operation](entry["shape"], entry["attributes"], **operands)
        got = np.broadcast_to(got, entry["shape"])
        worst[operation] = max(worst.get(operation, (0.0, "")), (difference(entry, got, arrays[name]), name))
    for operation, (most, name) in sorted(worst.items()):
        print(f"{operation:12} {most:.1e} {name}")
    bad = [name for most, name in worst.values() if not most < 2e-6]
    sys.exit(f"differ: {bad}" if bad else 0)


if __name__ == "__main__":
    main(sys.argv[1])
