#!/usr/bin/env python3
"""Loads inferred live, on queues whose load is known: `plimsoll target` with exponential service times.

    live.py [--times N] [--side-by-side N] [--only M/M/C:BOUND,…]

Each case is searched with `--calibrate` N times (4), each time on a target of its own with another
seed, on loopback. Then `plimsoll load` puts each share of the true capacity on that target, with
Poisson arrivals, and `plimsoll infer` probes it at 5% of the capacity. Writes LIVE.md beside this
file, and what each question was answered as one line of JSON to standard output.
"""

import contextlib
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "capacity"))
import queues  # noqa: E402
from queues import PLIMSOLL, capacity, target  # noqa: E402

CASES = [(1, 30), (1, 150), (4, 30), (8, 30)]
SHARES = (0.2, 0.4, 0.6, 0.8, 0.95)
PROBES = 0.05  # of the capacity: 1% takes five times as long, and needs as many
LONGEST_S = 1800
LEVELS_S = 2  # until a load is one that has been there for long


def say(arguments, place):
    """What the program says with `--json`; searches and loads of one user take turns otherwise."""
    done = subprocess.run(
        [PLIMSOLL, *arguments, "--json", "--quiet", "--pacing", "precise"],
        capture_output=True, text=True, timeout=LONGEST_S, env={**os.environ, "XDG_RUNTIME_DIR": place},
    )
    if not done.stdout.strip():
        raise RuntimeError(f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


@contextlib.contextmanager
def loaded(url, rate, seed, place):
    """Puts a load on a target meanwhile."""
    load = subprocess.Popen(
        [PLIMSOLL, "load", url, "--rate", f"{rate:.3f}/s", "--for", f"{LONGEST_S}s", "--arrivals",
         "poisson", "--seed", str(seed), "--quiet", "--pacing", "precise", "--connections", "64..512",
         "--out", f"{place}/loads"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "XDG_RUNTIME_DIR": f"{place}/load"},
    )
    try:
        time.sleep(LEVELS_S)
        yield
        if load.poll() is not None:
            raise RuntimeError(f"the load of {rate:.1f}/s ended early: exit {load.returncode}")
    finally:
        load.terminate()
        load.wait()


def questions(workers, bound_ms, seed):
    """One search of one target, and what is inferred of it under each load."""
    true = capacity(workers, bound_ms / 1e3)
    with tempfile.TemporaryDirectory() as place, target(workers, seed + 500) as url:
        os.mkdir(f"{place}/load", 0o700)
        found = say(["capacity", url, "--slo", f"p90<{bound_ms}ms", "--seed", str(seed),
                     "--calibrate", "--out", f"{place}/runs"], place)
        if found["ended"] != "found":
            raise RuntimeError(f"M/M/{workers}, {bound_ms} ms: the search ended {found['ended']}")
        run = glob.glob(f"{place}/runs/2*")[0]
        for n, share in enumerate(SHARES):
            with loaded(url, share * true, seed + 10 + n, place):
                yield share, say(["infer", run, "--probe", url, "--seed", str(seed + 20 + n),
                                  "--rate", f"{PROBES * true:.3f}/s"], place)


def off(answers, true, share):
    """Errors of the loads, points of the capacity."""
    return [100 * (a["load_per_s"] / true - share) for a in answers]


def covers(answer, true, share):
    return answer["ci95"] is not None and answer["ci95"][0] <= share * true <= answer["ci95"][1]


def row(case, share, told):
    true = capacity(case[0], case[1] / 1e3)
    answers = [t for t in told if t["load_per_s"] is not None]
    held = sum(covers(a, true, share) for a in answers)
    halves = [50 * (a["ci95"][1] - a["ci95"][0]) / true for a in answers]
    why = [t["declined"]["reason"] for t in told if t["declined"]]
    reasons = ", ".join(f"{why.count(r)} {r}" for r in sorted(set(why))) or "–"
    errors = ", ".join(f"{e:+.1f}" for e in sorted(off(answers, true, share))) or "–"
    half = f"{statistics.mean(halves):.1f}" if halves else "–"
    return (f"| M/M/{case[0]}, {case[1]} ms | {share:.0%} | {len(answers)} of {len(told)} | "
            f"{f'{held} of {len(answers)}' if answers else '–'} | {half} | {errors} | "
            f"{statistics.mean(t['probes'] for t in told):.0f} | {reasons} | "
            f"{sum(covers(t, true, share) for t in told)} of {len(told)} |")


def report(results, side_by_side):
    given = " ".join(["benches/infer/live.py", *sys.argv[1:]])
    out = ["# Loads inferred live, on queues of known load\n",
           f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, by `{given}`: `plimsoll target`, "
           "exponential service time of 4 ms in the mean; a search with `--calibrate`, then each load "
           "by `plimsoll load` and the question by `plimsoll infer`, probes at "
           f"{PROBES:.0%} of the capacity, 2,000 at most; {side_by_side} side by side. Columns are those "
           "of RESULTS.md; errors of the answers are in points of the true capacity.\n",
           "| case | load | answered | covered | half | errors | probes | declined | all cover |",
           "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    every, answered, held = 0, 0, 0
    for (case, share), told in sorted(results.items()):
        out.append(row(case, share, told))
        true = capacity(case[0], case[1] / 1e3)
        answers = [t for t in told if t["load_per_s"] is not None]
        every, answered = every + len(told), answered + len(answers)
        held += sum(covers(a, true, share) for a in answers)
    out.append(f"\n{every} questions: {answered} answered, of which {held} cover; "
               f"{every - answered} declined.")
    return out


def main():
    options, cases = queues.arguments(__file__, __doc__, 4, CASES)
    results = {}
    lock = threading.Lock()

    def one(case, n):
        for share, told in questions(*case, seed=1000 * n + 100 * case[0] + case[1]):
            with lock:
                results.setdefault((case, share), []).append(told)
                print(json.dumps({"case": case, "share": share,
                                  "true_per_s": share * capacity(case[0], case[1] / 1e3), **told}),
                      flush=True)

    queues.each(one, cases, options)
    out = report(results, options.side_by_side)
    with open(options.output, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")
    print(out[-1].strip())


if __name__ == "__main__":
    main()
