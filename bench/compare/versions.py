"""Whether one build of headlight is slower than another: `headlight bench` of both, in turn, many times.

versions.py OLD NEW [--pairs 20] [--only NAME] [--threads N] [--long]

Each pair runs both programs, every second pair the new one first, so that a busy neighbour or a warm machine meets
both alike. For each kind of work the ratio of a pair is the new one's best time over the old one's: above 1 the new
one is slower. Printed are the median of the ratios and the interval that holds the true median with at least 95 %,
by the sign test, which assumes nothing of how the noise is distributed. An interval that reaches 1 shows no difference.
Needs nothing but Python. Ends with 1 where an interval lies above 1.
"""
import argparse
import json
import math
import statistics
import subprocess
import sys


def times(program, options):
    """Seconds of each kind of work, by name."""
    run = subprocess.run([program, "bench", "--json", *options], stdout=subprocess.PIPE, check=True)
    return {work["name"]: work["best_seconds"] for work in json.loads(run.stdout)["work"]}


def interval(ratios):
    """The narrowest order statistics that hold the median with 95 %; all of the range where there are too few."""
    count, ordered, outside, left_out = len(ratios), sorted(ratios), 0.0, 0
    while True:
        outside += 2 * math.comb(count, left_out) / 2**count
        if outside > 0.05 or 2 * (left_out + 1) >= count:
            break
        left_out += 1
    first = max(left_out - 1, 0)
    return ordered[first], ordered[count - 1 - first]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--only", help="as bench's: matmul, attention, train, decode, or a full name")
    parser.add_argument("--threads")
    parser.add_argument("--long", action="store_true", help="all repeats, not those of --quick")
    arguments = parser.parse_args()
    options = [] if arguments.long else ["--quick"]
    for name in ("only", "threads"):
        if getattr(arguments, name):
            options += [f"--{name}", getattr(arguments, name)]

    ratios = {}
    for pair in range(arguments.pairs):
        order = [arguments.old, arguments.new]
        if pair % 2:
            order.reverse()
        seconds = {program: times(program, options) for program in order}
        for name in seconds[arguments.old].keys() & seconds[arguments.new].keys():
            ratios.setdefault(name, []).append(seconds[arguments.new][name] / seconds[arguments.old][name])
        print(f"\rpair {pair + 1} of {arguments.pairs}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)

    slower = False
    print(f"{'work':40} {'new/old':>8}  interval")
    for name, found in sorted(ratios.items()):
        low, high = interval(found)
        slower = slower or low > 1
        print(f"{name:40} {statistics.median(found):8.3f}  {low:.3f} to {high:.3f}{'  slower' if low > 1 else ''}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
