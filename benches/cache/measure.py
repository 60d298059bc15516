#!/usr/bin/env python3
"""Replays of the reference trace by Plimsoll and by libcachesim, in alternating runs on one core.

    measure.py [--runs N] [--only PART,…] [--keep FOLDER] [--output FILE]

Parts: replay (four policies, three sizes, one cell a pass, objects counted as one), streaming (the
same from the file as it is, reading included), curve (all sizes of LRU in one pass), memory (100
million requests over 10 million objects), cachegrind (instructions and cache misses a request),
limit (what memory gives: reads that depend on each other, and that do not). Speeds are requests a
second of processor time, user and system. Needs plimsoll (PLIMSOLL) and, for the peer, Python's venv;
libcachesim is installed in the user's cache where it is absent. With BASELINE=PROGRAM this program
and that one take turns at replay, streaming and curve instead; the table is printed.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import builds
ROOT = os.path.dirname(os.path.dirname(HERE))
PLIMSOLL = os.environ.get("PLIMSOLL", os.path.join(ROOT, "target/release/plimsoll"))
PEERS = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")),
                     "plimsoll/peers")
PEER = "0.3.5"
CORE = "1"
SIZES = (962, 9620, 96205)
# The least ratio at every size, and at the largest.
GOALS = {"lru": (8, 8), "sieve": (15, 15), "s3fifo": (15, 15), "gdsf": (3, 6)}


def peer_python():
    python = f"{PEERS}/libcachesim/bin/python"
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", f"{PEERS}/libcachesim"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"libcachesim=={PEER}"],
                       check=True)
    return python


def told(command):
    """What a program prints as JSON, run on the core."""
    done = subprocess.run(["taskset", "-c", CORE, *command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def peer(trace, policy, size):
    command = [peer_python(), f"{HERE}/peer.py", trace, policy, str(size), "unit"]
    result = told(command)
    return result["misses"], result["requests"] / result["cpu_s"]


def ours(trace, policy, size, program=PLIMSOLL):
    """Misses, requests a second of the replay, and with reading the trace."""
    result = told([program, "cache", "simulate", "--trace", trace, "--policy", policy, "--size",
                   f"{size}obj", "--threads", "1", "--json"])
    cell = result["results"][0]
    both = cell["cpu_s"] + result["trace"]["compile_cpu_s"]
    return cell["misses"], cell["requests"] / cell["cpu_s"], cell["requests"] / both


def every_size(trace, program=PLIMSOLL):
    """Requests a second of LRU at all sizes in one pass."""
    result = told([program, "cache", "mrc", "--trace", trace, "--policy", "lru", "--json"])
    return result["trace"]["requests"] / result["cpu_s"]


def millions(speed):
    return f"{speed / 1e6:.1f}"


def alternating(runs, *measures):
    """Medians of measures taken in turn."""
    taken = [[measure() for measure in measures] for _ in range(runs)]
    return [statistics.median(values) for values in zip(*taken)]


def replay(runs, traces, out):
    out.append("## Replay\n")
    out.append(f"Million requests a second of processor time, medians of {runs} alternating runs; "
               "misses are equal. The compiled trace knows sizes as well, so that Plimsoll counts "
               "missed bytes beside the misses; libcachesim is told to ignore sizes.\n")
    out.append("| policy | objects | misses | libcachesim | Plimsoll | ratio | goal |")
    out.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for policy, (each, largest) in GOALS.items():
        for size in SIZES:
            ours_misses = ours(traces["plt"], policy, size)[0]
            peer_misses = peer(traces["oracle"], policy, size)[0]
            # GDSF of 0.3.5 evicts after it has inserted: see the reference counts.
            if ours_misses != peer_misses and policy != "gdsf":
                raise SystemExit(f"{policy} {size}: {ours_misses} and {peer_misses} misses")
            slow, fast = alternating(
                runs,
                lambda: peer(traces["oracle"], policy, size)[1],
                lambda: ours(traces["plt"], policy, size)[1],
            )
            goal = largest if size == SIZES[-1] else each
            out.append(f"| {policy} | {size:,} | {ours_misses:,} | {millions(slow)} | "
                       f"{millions(fast)} | {fast / slow:.1f} | {goal} |")
            print(out[-1], flush=True)
    out.append("")


def streaming(runs, traces, out):
    out.append("## From the file as it is\n")
    out.append("The oracleGeneral file is read and replayed at once: reading, numbering of objects "
               "and replay together, LRU.\n")
    out.append("| objects | libcachesim | Plimsoll | ratio | goal |")
    out.append("| ---: | ---: | ---: | ---: | ---: |")
    for size in SIZES:
        slow, fast = alternating(
            runs,
            lambda: peer(traces["oracle"], "lru", size)[1],
            lambda: ours(traces["oracle"], "lru", size)[2],
        )
        out.append(f"| {size:,} | {millions(slow)} | {millions(fast)} | {fast / slow:.1f} | 3 |")
        print(out[-1], flush=True)
    out.append("")


def curve(runs, traces, out):
    out.append("## All sizes at once\n")
    out.append("The miss-ratio curve of LRU for every size, in one pass, against one run of "
               "libcachesim at 96,205 objects.\n")
    slow, fast = alternating(runs, lambda: peer(traces["oracle"], "lru", SIZES[-1])[1],
                             lambda: every_size(traces["plt"]))
    out.append(f"{millions(fast)} million requests a second against {millions(slow)}: "
               f"{fast / slow:.1f} times (goal 1.2).\n")
    print(out[-1], flush=True)


def baseline(runs, traces, before):
    """This program against another build of it, row by row, taking turns."""
    rows = [(f"{policy}, {size:,} objects",
             lambda program, policy=policy, size=size: ours(traces["plt"], policy, size, program)[1])
            for policy in GOALS for size in SIZES]
    rows += [(f"from the file, {size:,} objects",
              lambda program, size=size: ours(traces["oracle"], "lru", size, program)[2])
             for size in SIZES]
    rows.append(("all sizes of LRU", lambda program: every_size(traces["plt"], program)))
    programs = (before, PLIMSOLL)
    builds.table(
        builds.compare(name, lambda speed=speed: builds.taking_turns(runs, speed, programs))
        for name, speed in rows)


def memory(folder, out):
    out.append("## Memory\n")
    big = f"{folder}/big.oracleGeneral.bin"
    subprocess.run([PLIMSOLL, "cache", "trace", "reference", "--objects", "10M", "--requests",
                    "100M", "-o", big], check=True)
    before = time.monotonic()
    command = [sys.executable, "-c", MOST, PLIMSOLL, "cache", "simulate", "--trace", big,
               "--policy", "lru,sieve,s3fifo,gdsf", "--size", "10%obj", "--threads", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    most_kib = int(done.stderr.strip().splitlines()[-1])
    took, trace = time.monotonic() - before, json.loads(done.stdout)["trace"]
    os.remove(big)
    out.append(f"{trace['requests']:,} requests over {trace['objects']:,} objects from the file, "
               f"four policies at 10% one after the other: at most {most_kib / 2**20:.2f} GiB "
               f"(goal 2), {took:.0f} s in all.\n")
    print(out[-1], flush=True)


# Runs a command and prints the most memory that it had, KiB.
MOST = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""


def cachegrind(traces, out):
    if not shutil.which("valgrind"):
        out.append("Cachegrind: not measured, valgrind is not installed.\n")
        return
    out.append("## Instructions and cache misses\n")
    out.append("Of one request at 9,620 objects, by cachegrind: a comparison with the policy twice "
               "less one with it once. D1 is 32 KiB, LL 32 MiB.\n")
    out.append("| policy | instructions | D1 misses | LL misses |")
    out.append("| --- | ---: | ---: | ---: |")
    for policy in GOALS:
        counts = []
        for listed in (policy, f"{policy},{policy}"):
            command = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--D1=32768,8,64",
                       "--LL=33554432,16,64", "--cachegrind-out-file=/dev/null", PLIMSOLL, "cache",
                       "simulate", "--trace", traces["small"], "--policy", listed, "--size",
                       "9620obj", "--threads", "1", "--json"]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
            number = lambda name: int(re.search(rf"{name}[^:]*:\s+([\d,]+)", said)[1]
                                      .replace(",", ""))
            counts.append([number("I +refs"), number("D1 +misses"), number("LLd +misses")])
        once, twice = counts
        each = [(b - a) / SMALL for a, b in zip(once, twice)]
        out.append(f"| {policy} | {each[0]:.0f} | {each[1]:.2f} | {each[2]:.3f} |")
        print(out[-1], flush=True)
    out.append("")


# Requests of the trace for cachegrind, which is fifty times slower.
SMALL = 1_000_000


def limit(out):
    out.append("## What memory gives\n")
    program = [PLIMSOLL.replace("plimsoll", "examples/memory_limit")]
    if not os.path.exists(program[0]):
        subprocess.run(["cargo", "build", "--profile", "bench", "--package", "plimsoll-cache", "--example",
                        "memory_limit"], check=True, cwd=ROOT)
    done = subprocess.run(["taskset", "-c", CORE, *program], capture_output=True, text=True,
                          check=True)
    out.append(done.stdout)
    print(done.stdout, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="replay,streaming,curve,memory,cachegrind,limit")
    parser.add_argument("--output", default=os.path.join(HERE, "RESULTS.md"))
    arguments = parser.parse_args()
    parts = arguments.only.split(",")
    folder = tempfile.mkdtemp(prefix="plimsoll-cache-")
    traces = {"oracle": f"{folder}/zipf.oracleGeneral.bin", "plt": f"{folder}/zipf.plt",
              "small": f"{folder}/small.plt"}
    for name, requests in (("oracle", "10M"), ("plt", "10M"), ("small", str(SMALL))):
        subprocess.run([PLIMSOLL, "cache", "trace", "reference", "--requests", requests, "-o",
                        traces[name]], check=True)
    out = ["# The cache lab beside libcachesim\n"]
    out.append(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores of a virtual machine, by "
               f"`benches/cache/measure.py {' '.join(sys.argv[1:])}`, libcachesim {PEER} from its "
               "package. The reference trace: 10 million requests, Zipf 0.8 over a million "
               "objects.\n".replace(" `", "`"))
    before = builds.before()
    if before:
        try:
            baseline(arguments.runs, traces, before)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        if "replay" in parts:
            replay(arguments.runs, traces, out)
        if "streaming" in parts:
            streaming(arguments.runs, traces, out)
        if "curve" in parts:
            curve(arguments.runs, traces, out)
        if "memory" in parts:
            memory(folder, out)
        if "cachegrind" in parts:
            cachegrind(traces, out)
        if "limit" in parts:
            limit(out)
    finally:
        # What was measured is kept where a part fails.
        shutil.rmtree(folder, ignore_errors=True)
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write("\n".join(out).rstrip() + "\n")
    print(f"written: {arguments.output}")


if __name__ == "__main__":
    main()
