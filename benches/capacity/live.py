#!/usr/bin/env python3
"""The search live, on queues of known capacity: `plimsoll target` with exponential service times.

    live.py [--times N] [--side-by-side N] [--only M/M/C:BOUND,…]

Each case is searched N times (5), each time on a target of its own with another seed, on loopback.
Searches stand side by side where the machine has room: their rates are far below what a core sends.
Writes LIVE.md beside this file, and what each search said as one line of JSON to standard output.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import queues
from queues import PLIMSOLL, capacity, target

CASES = [(workers, bound) for workers in (1, 2, 4, 8) for bound in (20, 30, 150)]
LONGEST_S = 1800


def search(workers, bound_ms, seed):
    """The result of one search of one target."""
    with tempfile.TemporaryDirectory() as place, target(workers, seed + 500) as url:
        # Searches of one user take turns on a machine; these have room beside each other.
        alone = {**os.environ, "XDG_RUNTIME_DIR": place}
        done = subprocess.run(
            [PLIMSOLL, "capacity", url, "--slo", f"p90<{bound_ms}ms", "--seed", str(seed), "--json",
             "--quiet", "--pacing", "precise", "--out", f"{place}/runs"],
            capture_output=True, text=True, timeout=LONGEST_S, env=alone,
        )
    if not done.stdout.strip():
        raise RuntimeError(f"M/M/{workers}, {bound_ms} ms: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def row(workers, bound_ms, results):
    true = capacity(workers, bound_ms / 1e3)
    found = [r for r in results if r["estimate_per_s"] is not None]
    errors = [r["estimate_per_s"] / true - 1 for r in found]
    covered = sum(r["ci95"] is not None and r["ci95"][0] <= true <= r["ci95"][1] for r in found)
    each = ", ".join(f"{e:+.1%}" for e in sorted(errors))
    load = statistics.mean(r["seconds"] for r in results)
    text = (f"| M/M/{workers}, {bound_ms} ms | {true:.1f}/s | {each} | "
            f"{covered} of {len(results)} | {load:.0f} s |")
    return text, errors, covered


def main():
    options, cases = queues.arguments(__file__, __doc__, 5, CASES)
    results = {case: [] for case in cases}
    lock = threading.Lock()

    def one(case, n):
        told = search(*case, seed=1000 * n + 100 * case[0] + case[1])
        with lock:
            results[case].append(told)
            kept = {key: told[key] for key in ("ended", "estimate_per_s", "ci95", "seconds")}
            print(json.dumps({"case": case, "true_per_s": capacity(case[0], case[1] / 1e3), **kept,
                              "warnings": told["warnings"]}), flush=True)

    queues.each(one, cases, options)
    out = ["# The search live, on queues of known capacity\n",
           f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, by "
           f"`benches/capacity/live.py {' '.join(sys.argv[1:])}".rstrip() + "`: searches of "
           "`plimsoll target`, exponential service time of 4 ms in the mean, `--precision 5%`, "
           f"{options.side_by_side} searches side by side. Errors are those of the estimates.\n",
           "| case | capacity | errors | covered | load, mean |", "| --- | --- | --- | --- | --- |"]
    errors, covered = [], 0
    for (workers, bound), told in results.items():
        text, off, held = row(workers, bound, told)
        out.append(text)
        errors += off
        covered += held
    count = sum(len(told) for told in results.values())
    out.append(f"\nAll: {len(errors)} of {count} found, mean error {statistics.mean(errors):+.2%}, "
               f"worst {max(errors, key=abs):+.1%}, {covered} of {count} intervals cover.")
    with open(options.output, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")
    print(out[-1].strip())


if __name__ == "__main__":
    main()
