"""differences.py TRACE GRADIENTS: gradients of the loss by finite differences in float64, against those given.

TRACE is a file that recompute.py reads; GRADIENTS is JSON: {"targets": [ids], "gradients": [{"name", "index", "gradient"}]}.
The whole run is computed again from changed parameters, by recompute.py's own operations.
"""
import json
import sys

import numpy as np
import recompute

STEP = 1e-5


def loss(trace, arrays, parameters, targets):
    values = dict(parameters)
    for entry in trace["tensors"]:
        name = entry["name"]
        if entry["operation"] == "given":
            values[name] = arrays[name]
            continue
        operands = {operand["role"]: values[operand["name"]] for operand in entry["operands"]}
        got = recompute.OPERATIONS[entry["operation"]](entry["shape"], entry["attributes"], **operands)
        values[name] = np.broadcast_to(got, entry["shape"])
    logits = values["logits"][0]
    return np.mean(np.log(np.exp(logits).sum(-1)) - logits[np.arange(len(targets)), targets])


def main(path, given):
    trace, arrays = recompute.read(path)
    with open(given) as file:
        given = json.load(file)
    parameters = {entry["name"]: arrays[entry["name"]] for entry in trace["parameters"]}
    targets = np.array(given["targets"])
    bad = []
    worst = 0.0
    for entry in given["gradients"]:
        name, index, gradient = entry["name"], tuple(entry["index"]), entry["gradient"]
        losses = []
        for step in (STEP, -STEP):
            changed = parameters[name].copy()
            changed[index] += step
            losses.append(loss(trace, arrays, {**parameters, name: changed}, targets))
        slope = (losses[0] - losses[1]) / (2 * STEP)
        difference = abs(slope - gradient) / max(1e-2, abs(slope))
        worst = max(worst, difference)
        if not difference < 1e-4:
            bad.append((name, index, slope, gradient))
    print(f"{len(given['gradients'])} weights, largest difference {worst:.1e}")
    sys.exit(f"differ: {bad}" if bad else 0)


main(*sys.argv[1:])
