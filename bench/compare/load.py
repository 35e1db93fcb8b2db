"""How long a model takes to open and answer with one token, and how much memory: headlight beside llama.cpp, in turn.

load.py HEADLIGHT MODEL.gguf [--pairs 10] [--threads 2] [--prompt-ids 1,2,3] [--json FILE]

Needs Python with llama_cpp for the comparison; without it, and for a folder as MODEL, headlight alone is measured. headlight's time is
that of the whole command, from its start to its end; llama.cpp's begins when its library is loaded, so that Python's own start does not
count, and ends with the first token. The ratio of a pair is headlight's time over llama.cpp's: below 1 headlight is faster. Printed are
medians, the interval that holds the true median ratio with at least 95 %, by the sign test, and the peak of resident memory as a share
of four bytes for each parameter.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

from versions import interval

WORKER = """
import json, resource, sys, time
from llama_cpp import Llama
path, threads, ids = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
begin = time.perf_counter()
model = Llama(model_path=path, n_ctx=512, n_threads=threads, n_threads_batch=threads, verbose=False)
token = next(iter(model.generate(ids, temp=0.0)))
print(json.dumps({"seconds": time.perf_counter() - begin, "token": int(token)}))
"""


def run_headlight(program, model, threads, ids):
    """Seconds, peak bytes and the text of one token."""
    command = [program, "generate", model, "--prompt-ids", ",".join(map(str, ids)), "--max-new-tokens", "1", "--threads", str(threads)]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"load.py: {' '.join(command)} failed")
    return time.perf_counter() - begin, usage.ru_maxrss * 1024, text


def run_llama(model, threads, ids):
    done = subprocess.run([sys.executable, "-c", WORKER, model, str(threads), json.dumps(ids)], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True)
    return json.loads(done.stdout)["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("headlight")
    parser.add_argument("model")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prompt-ids", default="1,2,3,4")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    ids = [int(one) for one in arguments.prompt_ids.split(",")]
    about = json.loads(subprocess.run([arguments.headlight, "info", arguments.model, "--json"], stdout=subprocess.PIPE, check=True).stdout)
    weights = 4 * about["parameters"]
    try:
        import llama_cpp  # noqa: F401
        has_llama = arguments.model.endswith(".gguf")
    except ImportError:
        has_llama = False
    ours, theirs, peaks = [], [], []
    run_headlight(arguments.headlight, arguments.model, arguments.threads, ids)  # the file is in memory for both
    for pair in range(arguments.pairs):
        for turn in range(2):
            if (turn + pair) % 2 == 0:
                seconds, peak, _ = run_headlight(arguments.headlight, arguments.model, arguments.threads, ids)
                ours.append(seconds)
                peaks.append(peak)
            elif has_llama:
                theirs.append(run_llama(arguments.model, arguments.threads, ids))
    result = {"parameters": about["parameters"], "headlight_seconds": statistics.median(ours), "peak_bytes": max(peaks),
              "peak_share": max(peaks) / weights}
    print(f"headlight: {1000 * result['headlight_seconds']:.0f} ms, peak {max(peaks) / 2**20:.0f} MiB, "
          f"{result['peak_share']:.2f} of 4 bytes for each of {about['parameters']} parameters")
    if has_llama:
        ratios = sorted(one / other for one, other in zip(ours, theirs))
        low, high = interval(ratios)
        result.update(llama_seconds=statistics.median(theirs), ratio=statistics.median(ratios), low=low, high=high)
        print(f"llama.cpp: {1000 * result['llama_seconds']:.0f} ms; ratio {result['ratio']:.2f} ({low:.2f} to {high:.2f})")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
