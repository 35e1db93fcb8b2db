"""What a training step on P ranks costs, by arithmetic: checked where there are ranks, then used where there are none.

mpi_cost.py HEADLIGHT [--rounds 5] [--shards 8] [--ranks 2 4] [--svg FILE] [--json FILE]
mpi_cost.py --from FILE [--svg FILE]          the same tables of what --json has written

    step(P) = compute + (P - 1)/P · bytes · (1/adding + 1/sharing) + 7 · log2(P) · latency

Compute is the step of one rank with as many shards, as much of it as the rank with the most sequences has. Bytes are four per parameter:
a rank sends all but its own share of the gradients while as much arrives and is added (reduce-scatter), then the others get its share of the new
weights (all-gather). Seven times in a step a small message goes through all log2(P) levels. The rates and the latency are
measured by `headlight bench --only mpi` through the same functions as training uses; only the number of ranks is new.

On machines that have a core for every thread, compute is that of one rank. Where ranks outnumber the cores they take turns, so it is multiplied by
threads / cores. For machines on paper, a rank is a machine with this machine's compute and its own part of the work (weak scaling), a link
has its bits in both directions at once, and what passes through it is not faster than what was measured in memory.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys

from mpi import wait_for_calm

NAMES = {"mpi-train-nanogpt-12x64": "nanoGPT's recipe", "mpi-train-gpt2-4x64": "GPT-2 124M"}
SMALL_MESSAGES = 7  # loss, gradients that are there (2), blocks of the norm (2), and one to begin with each long exchange
MACHINES, GIGABITS = (8, 64, 512), (1, 10, 100)
NETWORK_LATENCY = 50e-6  # seconds; a switch and the kernel's TCP on both sides


def exchange_seconds(ranks, parameters, link):
    sent = (ranks - 1) / ranks * 4 * parameters
    levels = math.log2(ranks)
    return sent / link["adding"] + sent / link["sharing"] + SMALL_MESSAGES * levels * link["latency"]


def largest_part(ranks, sequences, shards):
    """The share of a step's sequences that the busiest rank has."""
    cut = [sequences * (shards * rank // ranks) // shards for rank in range(ranks + 1)]
    return max(end - first for first, end in zip(cut, cut[1:])) / sequences


def bench(program, ranks, threads, shards, name):
    launcher = ["mpirun", "-q", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    words = ["bench", "--quick", "--json", "--only", name, "--threads", str(threads), "--shards", str(shards)]
    document = json.loads(subprocess.run([*launcher, program, *words], stdout=subprocess.PIPE, check=True).stdout)
    found = document["exchange"]
    link = found and {
        "latency": found["latency_seconds"],
        "adding": found["reduce_scatter_bytes_per_second"],
        "sharing": found["all_gather_bytes_per_second"],
    }
    return {**document["work"][0], "link": link}


def measured(arguments):
    """Of each model: one rank with one thread and with all, and the ranks asked for; each in every round."""
    cores = len(os.sched_getaffinity(0))
    ways = [(1, 1), (1, cores)] + [(ranks, 1) for ranks in arguments.ranks]
    runs = {}
    for name in NAMES:
        for number in range(arguments.rounds):
            for ranks, threads in ways:
                print(f"\r\033[K{name}: round {number + 1}, {ranks}x{threads}", end="", file=sys.stderr, flush=True)
                wait_for_calm(arguments.calm)
                # One process with all threads stands for a machine on paper: as it trains alone, in one shard.
                shards = 1 if threads > 1 else arguments.shards
                runs.setdefault(name, {}).setdefault(f"{ranks}x{threads}", []).append(
                    bench(arguments.headlight, ranks, threads, shards, name)
                )
    print("\r\033[K", end="", file=sys.stderr)
    return {"cores": cores, "shards": arguments.shards, "runs": runs}


def median(runs, *keys):
    def of(run):
        for key in keys:
            run = run[key]
        return run

    return statistics.median(of(run) for run in runs)


def link_of(runs):
    return {key: median(runs, "link", key) for key in ("latency", "adding", "sharing")}


def check(data):
    print(f"{'on this machine':20} {'ranks':>5} {'compute':>9} {'exchange':>9} {'predicted':>10} {'measured':>9}  off by")
    for name, ways in data["runs"].items():
        for way, runs in ways.items():
            ranks = int(way.split("x")[0])
            if ranks == 1:
                continue
            one = ways["1x1"]
            part = largest_part(ranks, one[0]["sequences"], data["shards"])
            compute = median(one, "median_seconds") * part * max(1, ranks / data["cores"])
            exchange = exchange_seconds(ranks, one[0]["parameters"], link_of(runs))
            found = median(runs, "median_seconds")
            print(
                f"{NAMES[name]:20} {ranks:5} {1e3 * compute:6.1f} ms {1e3 * exchange:6.1f} ms {1e3 * (compute + exchange):7.1f} ms "
                f"{1e3 * found:6.1f} ms  {100 * ((compute + exchange) / found - 1):+.0f} %"
            )


def on_paper(data):
    """Seconds of compute of a machine, and of the exchange, by model, machines and link."""
    threads = f"1x{data['cores']}"
    cases = {}
    for name, sequences, length in (("mpi-train-gpt2-4x64", 8, 1024), ("mpi-train-nanogpt-12x64", 12, 64)):
        ways = data["runs"][name]
        one = ways[threads]
        layers, width = (12, 768) if "gpt2" in name else (4, 128)
        tokens = sequences * length
        # As many operations in a second as the measured step has; causal attention counts half the square.
        matrices = one[0]["operations"] / (3 * 256 if "gpt2" in name else 3 * 768) - 2 * layers * 64 * width
        work = 3 * tokens * (matrices + 2 * layers * length * width)
        compute = work / (one[0]["operations"] / median(one, "median_seconds"))
        memory = link_of(next(runs for way, runs in ways.items() if way.startswith("2x")))
        for machines in MACHINES:
            for gigabits in GIGABITS:
                wire = gigabits * 1e9 / 8
                link = {
                    "latency": memory["latency"] + NETWORK_LATENCY,
                    "adding": min(wire, memory["adding"]),
                    "sharing": min(wire, memory["sharing"]),
                }
                exchange = exchange_seconds(machines, one[0]["parameters"], link)
                cases[name, machines, gigabits] = (compute, exchange, tokens)
    return cases


def tell(cases):
    print(f"\n{'on paper':20} {'machines':>8} " + " ".join(f"{f'{g} Gbit/s':>24}" for g in GIGABITS))
    for name in dict.fromkeys(key[0] for key in cases):
        for machines in MACHINES:
            cells = []
            for gigabits in GIGABITS:
                compute, exchange, _ = cases[name, machines, gigabits]
                step = compute + exchange
                cells.append(f"{step:9.3f} s {100 * exchange / step:3.0f} % {machines * compute / step:5.1f}x")
            print(f"{NAMES[name]:20} {machines:8} " + " ".join(f"{cell:>24}" for cell in cells))
    print("a step, the share of it that is exchange, and how many times as many tokens in a second as one machine")


def svg(cases):
    """The share of a step that is not exchange, by machines; a line for each link."""
    colours = {1: "#c2571a", 10: "#3d6fb4", 100: "#2c8a57"}
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 330" width="720" height="330" font-family="system-ui, sans-serif" role="img">',
        "<title>The share of a step that is computing, on 8, 64 and 512 machines with links of 1, 10 and 100 Gbit/s</title>",
        '<rect width="720" height="330" rx="10" fill="#ffffff"/>',
    ]

    def text(x, y, words, anchor="middle", size=12, fill="#1c2733", weight="normal"):
        lines.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{fill}" font-weight="{weight}">{words}</text>'
        )

    for panel, name in enumerate(dict.fromkeys(key[0] for key in cases)):
        left, top, wide, high = 60 + 360 * panel, 66, 210, 200

        def place(machines, share, left=left, top=top, wide=wide, high=high):
            return left + wide * math.log2(machines) / 9, top + high * (1 - share)

        text(left - 40, 28, NAMES[name], "start", 14, weight="bold")
        text(left - 40, 46, ("8 sequences of 1,024" if "gpt2" in name else "12 sequences of 64") + " on each machine", "start", 12, "#5a6b7c")
        for share in (0, 0.5, 1):
            y = place(1, share)[1]
            lines.append(f'<path d="M{left} {y:.1f}h{wide}" stroke="#e3e9ef"/>')
            text(left - 8, y + 4, f"{100 * share:.0f} %", "end", fill="#5a6b7c")
        for machines in (1, *MACHINES):
            text(place(machines, 0)[0], top + high + 20, str(machines), fill="#5a6b7c")
        text(left + wide / 2, top + high + 40, "machines", fill="#5a6b7c")
        lowest_label = 0
        for gigabits in sorted(GIGABITS, reverse=True):
            points = [place(1, 1)]
            for machines in MACHINES:
                compute, exchange, _ = cases[name, machines, gigabits]
                points.append(place(machines, compute / (compute + exchange)))
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            lines.append(f'<path d="M{path}" stroke="{colours[gigabits]}" stroke-width="2" fill="none"/>')
            for x, y in points[1:]:
                lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colours[gigabits]}"/>')
            lowest_label = max(lowest_label + 14, points[-1][1] + 4)
            text(points[-1][0] + 8, lowest_label, f"{gigabits} Gbit/s", "start", 11, colours[gigabits])
    return "\n".join(lines) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("headlight", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--ranks", nargs="*", type=int, default=[2, 4])
    parser.add_argument("--calm", type=float, default=0, metavar="SECONDS", help="before a turn wait as long, at most, for others to pause")
    parser.add_argument("--json", metavar="FILE", help="for what was measured")
    parser.add_argument("--from", dest="source", metavar="FILE", help="what --json has written, instead of measuring")
    parser.add_argument("--svg", metavar="FILE")
    arguments = parser.parse_args()
    if (arguments.headlight is None) == (arguments.source is None):
        parser.error("either HEADLIGHT or --from")
    if arguments.source:
        with open(arguments.source) as file:
            data = json.load(file)
    else:
        data = measured(arguments)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(data, file)
    check(data)
    cases = on_paper(data)
    tell(cases)
    if arguments.svg:
        with open(arguments.svg, "w") as file:
            file.write(svg(cases))


if __name__ == "__main__":
    main()
