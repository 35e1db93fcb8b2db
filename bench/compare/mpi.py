"""Training on two processes: headlight under mpirun beside PyTorch's DistributedDataParallel over gloo, in turn.

mpi.py HEADLIGHT [--rounds 10] [--only NAME ...] [--json FILE] [--shards 1 2 8]

Needs Python with torch, and mpirun. Every round measures each way once, in an order that turns from round to round, so that
a busy neighbour meets all alike. A turn is three timings after two steps that warm up, each of at least 40 ms; its median
counts. Printed are medians over the rounds; the ratio of a way is its time over that of headlight on two ranks of one thread in the
same round, with the interval that holds the true median with at least 95 %, by the sign test.

All do the same step in float32: the same model, all sequences of the batch together, AdamW (PyTorch's fused one), gradients
clipped to 1. "waiting" is the share of a step that goes to the others: headlight's own count of the seconds in which it waits for bytes;
of PyTorch, which exchanges while it computes, how much shorter the step is without the exchange (`no_sync`). Memory is the peak of a process.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

from versions import interval

SIZES = {"train-nanogpt-12x64": (12, 64), "train-gpt2-4x64": (4, 64)}
TIMINGS, SHORTEST = 3, 0.04


def peak_bytes():
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


def torch_worker(rank, ranks, threads, store, name):
    """One process of PyTorch's; the first prints what it measured."""
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F
    from pytorch import gpt2, nanogpt

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = gpt2() if "gpt2" in name else nanogpt()
    if ranks > 1:
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
        trained = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    else:
        trained = model
    rows, tokens = SIZES[name]
    vocabulary = model.tokens.num_embeddings
    ids, targets = (torch.randint(vocabulary, (rows // ranks, tokens)) for _ in range(2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(trained(ids).view(-1, vocabulary), targets.view(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    def agreed(number):
        if ranks == 1:
            return number
        numbers = torch.tensor([number], dtype=torch.float64)
        dist.all_reduce(numbers, dist.ReduceOp.MAX)
        return numbers.item()

    def timings():
        step()
        begin = time.perf_counter()
        step()
        calls = math.ceil(agreed(SHORTEST / (time.perf_counter() - begin)))
        seconds = []
        for _ in range(TIMINGS):
            begin = time.perf_counter()
            for _ in range(calls):
                step()
            seconds.append(agreed((time.perf_counter() - begin) / calls))
        return statistics.median(seconds)

    result = {"seconds": timings(), "waiting": 0.0}
    memory = agreed(float(peak_bytes()))
    if ranks > 1:
        with trained.no_sync():
            result["waiting"] = max(0.0, 1 - timings() / result["seconds"])
    if rank == 0:
        print(json.dumps({**result, "bytes": memory}), flush=True)
    if ranks > 1:
        dist.barrier()
        os._exit(0)  # gloo's threads, told to end, abort the process at times


class Torch:
    def __init__(self, ranks, threads):
        self.ranks, self.threads = ranks, threads
        self.label = f"PyTorch {'DDP ' if ranks > 1 else ''}{ranks}x{threads}"

    def turn(self, name):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "OMP_NUM_THREADS": str(self.threads)}
            workers = [
                subprocess.Popen(
                    [sys.executable, __file__, "worker", str(rank), str(self.ranks), str(self.threads), folder + "/store", name],
                    stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                    env=environment,
                )
                for rank in range(self.ranks)
            ]
            output = workers[0].communicate()[0]
            if any(worker.wait() != 0 for worker in workers):
                sys.exit("PyTorch has failed")
            return json.loads(output)


class Headlight:
    def __init__(self, program, ranks, threads, shards, launcher_options=()):
        self.program, self.ranks, self.threads, self.shards = program, ranks, threads, shards
        self.launcher_options = launcher_options
        self.label = f"headlight {ranks}x{threads}, {shards} shard{'s' if shards > 1 else ''}"

    def turn(self, name):
        launcher = ["mpirun", "-q", "--oversubscribe", "--bind-to", "none", *self.launcher_options, "-n", str(self.ranks)]
        words = ["bench", "--quick", "--json", "--only", "mpi-" + name]
        words += ["--threads", str(self.threads), "--shards", str(self.shards)]
        run = subprocess.run([*launcher, self.program, *words], stdout=subprocess.PIPE, check=True)
        document = json.loads(run.stdout)
        work = document["work"][0]
        return {
            "seconds": work["median_seconds"],
            "waiting": statistics.mean(work["waiting_shares"]),
            "bytes": max(work["peak_bytes"]),
            "exchange": document["exchange"],
        }


def others_are_at_work():
    """Whether a process of ordinary priority is running that is none of ours."""
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/stat") as stat:
                fields = stat.read().rpartition(")")[2].split()
        except OSError:
            continue  # gone in the meantime
        is_kernel = int(fields[6]) & 0x200000
        if fields[0] == "R" and int(fields[16]) < 10 and int(number) != os.getpid() and not is_kernel:
            return True
    return False


def wait_for_calm(seconds):
    """Until nobody else has been at work for two seconds, or the time is over."""
    end, calm = time.monotonic() + seconds, 0
    while calm < 20 and time.monotonic() < end:
        calm = 0 if others_are_at_work() else calm + 1
        time.sleep(0.1)


def measure(ways, name, rounds, calm):
    """The turns of each way, by label. Ctrl-C ends it after the last full round."""
    turns = {way.label: [] for way in ways}
    try:
        for number in range(rounds):
            shift, this = number % len(ways), {}
            for way in ways[shift:] + ways[:shift]:
                print(f"\r\033[K{name}: round {number + 1} of {rounds}, {way.label}", end="", file=sys.stderr, flush=True)
                wait_for_calm(calm)
                this[way.label] = way.turn(name)
            for label, turn in this.items():
                turns[label].append(turn)
    except (KeyboardInterrupt, subprocess.CalledProcessError):
        if not any(turns.values()):
            raise
    print("\r\033[K", end="", file=sys.stderr)
    return turns


def report(name, turns):
    first = next(iter(turns))
    print(f"{name}, {len(turns[first])} rounds")
    print(f"{'':27} {'median ms':>10} {'best ms':>10} {'waiting':>8} {'MB':>6} {'ratio':>6}  interval")
    for label, found in turns.items():
        seconds = [turn["seconds"] for turn in found]
        ratios = [turn["seconds"] / base["seconds"] for turn, base in zip(found, turns[first])]
        low, high = interval(ratios)
        waiting = statistics.median(turn["waiting"] for turn in found)
        memory = statistics.median(turn["bytes"] for turn in found)
        print(
            f"  {label:25} {1e3 * statistics.median(seconds):10.1f} {1e3 * min(seconds):10.1f} {100 * waiting:7.1f}% "
            f"{memory / 1e6:6.0f} {statistics.median(ratios):6.2f}  {low:.2f} to {high:.2f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("headlight")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=list(SIZES), choices=list(SIZES), metavar="NAME")
    parser.add_argument("--shards", nargs="*", type=int, default=[1, 2, 8], help="of headlight, where there are as many ranks at most")
    parser.add_argument("--calm", type=float, default=0, metavar="SECONDS", help="before a turn wait as long, at most, for others to pause")
    parser.add_argument("--json", help="a file for every turn")
    arguments = parser.parse_args()

    several = sorted((shards for shards in arguments.shards if shards > 1), reverse=True)
    ways = [Headlight(arguments.headlight, 2, 1, shards) for shards in several]
    ways += [Torch(2, 1)]
    ways += [Headlight(arguments.headlight, 1, 2, shards) for shards in arguments.shards]
    ways += [Torch(1, 2)]
    everything = {}
    print(f"ranks x threads; load of the machine {os.getloadavg()[0]:.1f}")
    for name in arguments.only:
        everything[name] = measure(ways, name, arguments.rounds, arguments.calm)
        report(name, everything[name])
        if arguments.json:
            with open(arguments.json, "w") as file:
                json.dump(everything, file)


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        rank, ranks, threads = (int(word) for word in sys.argv[2:5])
        torch_worker(rank, ranks, threads, sys.argv[5], sys.argv[6])
    else:
        main()
