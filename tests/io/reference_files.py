"""Files as PyTorch and the package gguf write them, each beside a .safetensors file of the numbers that they hold for those two.

reference_files.py torch FOLDER    checkpoints: random state dicts in every form, kind of numbers and stride (needs torch, safetensors)
reference_files.py gguf FOLDER     GGUF files: random blocks of every type (needs gguf, safetensors)
reference_files.py golden FOLDER   the few small ones that are kept in tests/golden/files
"""

import collections
import pathlib
import random
import sys

import numpy


def tensors_of(seed):
    import torch

    torch.manual_seed(seed)
    base = torch.randn(5, 7)
    cube = torch.randn(3, 4, 5)
    wide = torch.randn(40, 64)
    state = collections.OrderedDict(
        plain=base,
        transposed=base.t(),
        row=base[3],
        column=base[:, 2],
        part=base[1:4, 2:6],
        every_second=wide[::2, ::3],
        permuted=cube.permute(2, 0, 1),
        expanded=torch.randn(3, 1).expand(3, 4),
        scalar=torch.tensor(2.5),
        empty=torch.zeros(0, 3),
        half=torch.randn(9).half(),
        half_transposed=torch.randn(3, 5).half().t(),
        brain=torch.randn(4, 3).bfloat16(),
        double=torch.randn(6, dtype=torch.float64),
        parameter=torch.nn.Parameter(torch.randn(2, 2)),
    )
    for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
        name = str(dtype).split(".")[1]
        state[name] = torch.randint(0, 100, (3, 2)).to(dtype) * (1 if dtype == torch.uint8 else -1)
    for dtype in (torch.uint16, torch.uint32, torch.uint64):
        state[str(dtype).split(".")[1]] = torch.randint(0, 60000, (4,)).to(dtype)
    state["flags"] = torch.rand(3, 3) > 0.5
    return state


def write_checkpoints(folder):
    import torch
    import safetensors.torch

    random.seed(1)
    for seed in range(20):
        state = tensors_of(seed)
        names = list(state)
        random.shuffle(names)
        kept = collections.OrderedDict((name, state[name]) for name in names[: random.randint(1, len(names))])
        legacy = seed % 3 == 2
        if legacy:  # knows no such storages
            for name in [name for name in kept if name in ("uint16", "uint32", "uint64")]:
                del kept[name]
            kept["plain"] = state["plain"]
        whole = [kept, {"state_dict": kept, "epoch": 3}, {"model": dict(kept), "config": {"a": [1, 2.5, "x", None, True]}}][seed % 4 % 3]
        if seed == 5:  # a module's own, with what it remembers of versions
            module = torch.nn.TransformerEncoderLayer(8, 2, 16)
            kept = whole = module.state_dict()
        path = folder / f"checkpoint-{seed}.pt"
        torch.save(whole, path, _use_new_zipfile_serialization=not legacy, pickle_protocol=2 + seed % 4)
        expected = {name: tensor.detach().contiguous().clone() for name, tensor in kept.items()}
        safetensors.torch.save_file(expected, folder / f"checkpoint-{seed}.safetensors")


# Bytes of a block, numbers in it, and where its float16 numbers are.
KINDS = {
    "Q4_0": (18, 32, [0]),
    "Q4_1": (20, 32, [0, 2]),
    "Q5_0": (22, 32, [0]),
    "Q5_1": (24, 32, [0, 2]),
    "Q8_0": (34, 32, [0]),
    "Q4_K": (144, 256, [0, 2]),
    "Q5_K": (176, 256, [0, 2]),
    "Q6_K": (210, 256, [208]),
}


def random_blocks(generator, kind, rows, blocks):
    size, _, scales = KINDS[kind]
    data = generator.integers(0, 256, (rows, blocks, size), dtype=numpy.uint8)
    for place in scales:
        numbers = (generator.standard_normal((rows, blocks, 1)) * 2.0 ** generator.integers(-20, 8)).astype(numpy.float16)
        data[:, :, place : place + 2] = numbers.view(numpy.uint8)
    return data.reshape(rows, blocks * size)


def write_gguf(path, seed, rows, blocks):
    import gguf
    import safetensors.numpy

    generator = numpy.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_string("test.text", "söz")
    writer.add_array("test.numbers", [1, 2, 3])
    writer.add_array("test.texts", ["a", "", "c"])
    writer.add_float32("test.float", 0.5)
    writer.add_bool("test.flag", True)
    if seed % 2 == 1:
        writer.add_custom_alignment(64)
    expected = {}
    for kind in KINDS:
        data = random_blocks(generator, kind, rows, blocks)
        kind_number = gguf.GGMLQuantizationType[kind]
        writer.add_tensor(kind, data, raw_dtype=kind_number)
        expected[kind] = gguf.dequantize(data, kind_number)
    plain = generator.standard_normal((rows, 3, 5)).astype(numpy.float32)
    writer.add_tensor("F32", plain)
    expected["F32"] = plain
    half = generator.standard_normal((rows, 7)).astype(numpy.float16)
    writer.add_tensor("F16", half)
    expected["F16"] = half
    brain = gguf.quantize(generator.standard_normal((rows, 8)).astype(numpy.float32), gguf.GGMLQuantizationType.BF16)
    writer.add_tensor("BF16", brain, raw_dtype=gguf.GGMLQuantizationType.BF16)
    expected["BF16"] = gguf.dequantize(brain, gguf.GGMLQuantizationType.BF16)
    integers = generator.integers(-100, 100, (rows,)).astype(numpy.int32)
    writer.add_tensor("I32", integers)
    expected["I32"] = integers
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    safetensors.numpy.save_file({name: numpy.ascontiguousarray(one) for name, one in expected.items()}, path.with_suffix(".safetensors"))


def write_golden(folder):
    import torch
    import safetensors.torch

    torch.manual_seed(7)
    base = torch.randn(4, 6)
    state = collections.OrderedDict(
        weight=base,
        tied=base,
        transposed=base.t(),
        part=base[1:3, 2:5],
        half=torch.randn(5).half(),
        brain=torch.randn(5).bfloat16(),
        ids=torch.arange(6).reshape(2, 3),
        flags=torch.tensor([True, False]),
        scalar=torch.tensor(2.5),
    )
    torch.save(state, folder / "archive.pt")
    torch.save({"model": state, "iter_num": 3}, folder / "nested.pt", pickle_protocol=4)
    torch.save(state, folder / "legacy.pt", _use_new_zipfile_serialization=False)
    safetensors.torch.save_file({name: one.contiguous().clone() for name, one in state.items()}, folder / "checkpoint.safetensors")
    write_gguf(folder / "types.gguf", 1, 1, 1)


def main():
    action, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if action == "torch":
        write_checkpoints(folder)
    elif action == "gguf":
        for seed in range(20):
            write_gguf(folder / f"blocks-{seed}.gguf", seed, 1 + seed % 5, 1 + seed // 3)
    else:
        write_golden(folder)


if __name__ == "__main__":
    main()
