#!/usr/bin/env python3
"""An experiment that is killed five times, beside the same one that is not.

    killed.py PLIMSOLL PLAN [--seed 1] [--out FOLDER]

The plan runs to its end once. Then it runs again and is killed (SIGKILL) and begun anew, five times:
twice at a random moment of a load, twice while a step of the test-bed is taken, and once after a
process was written into the ledger and before it was told to become the server. What is left behind is
taken down by `testbed down --all`. Told is whether every cell is there once, in the same order and with
the same levels, whether a figure differs between the two (Welch's test for each combination and figure,
corrected by Holm, at 5%), and what the host has afterwards that it had not before.
"""

import argparse
import json
import math
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

LEDGERS = pathlib.Path("/run/plimsoll")
FIGURES = ("rate_mean", "response_us.mean", "response_us.p50", "response_us.p99", "availability.ratio")


def analysed(plimsoll, folder):
    said = subprocess.run([plimsoll, "analyse", folder, "--json"], capture_output=True, text=True)
    return json.loads(said.stdout)


def host():
    """What a test-bed may leave behind."""
    lines = lambda *command: subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    ours = [line for line in lines("ps", "-eo", "pid,args") if "target --listen" in line or "testbed wait" in line or "nginx" in line]
    # A process that has ended and that the first process has not taken notice of yet is none.
    ours = [line for line in ours if "<defunct>" not in line]
    links = [line.split(":")[1].strip() for line in lines("ip", "-o", "link") if ": pl" in line]
    groups = [str(path) for path in pathlib.Path("/sys/fs/cgroup").glob("**/plimsoll*")]
    folders = [str(path) for path in pathlib.Path(tempfile.gettempdir()).glob("plimsoll-*-*-*")]
    names = [line.split()[0] for line in lines("ip", "netns") if line.startswith("pl-")]
    ledgers = [str(path) for path in LEDGERS.glob("*/ledger.jsonl")]
    return set(ours + links + groups + folders + names + ledgers)


def ledgers():
    return {path: path.read_text() for path in LEDGERS.glob("*/ledger.jsonl")}


def begun(plimsoll, plan, out):
    return subprocess.Popen([plimsoll, "run", plan, "--out", out, "--quiet"], stdout=subprocess.DEVNULL, start_new_session=True)


def waiting(text):
    """The processes of a ledger that wait to become a server."""
    found = []
    for line in text.splitlines():
        made = json.loads(line).get("made") if line.endswith("}") else None
        if made and made["what"] == "process":
            try:
                if b"testbed\0wait" in pathlib.Path(f"/proc/{made['pid']}/cmdline").read_bytes():
                    found.append(made["pid"])
            except OSError:
                pass
    return found


def kill(process, kind, rng):
    """Kills at a moment of that kind. Returns whether it did, before all was through."""
    if kind == "load":
        time.sleep(rng.uniform(5, 25))
    elif kind == "step":
        time.sleep(rng.uniform(3, 10))
        known = set(ledgers())
        while process.poll() is None and set(ledgers()) <= known:
            pass
        time.sleep(rng.uniform(0, 0.02))
    else:
        while process.poll() is None:
            if not any(waiting(text) for text in ledgers().values()):
                continue
            process.send_signal(signal.SIGSTOP)
            if any(waiting(text) for text in ledgers().values()):
                break
            process.send_signal(signal.SIGCONT)
    if process.poll() is not None:
        return False
    process.kill()
    process.wait()
    return True


def beta(a, b, x):
    """The regularised incomplete beta function, by its continued fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    whole = d
    for m in range(1, 300):
        for term in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 / (1 + term * d)
            c = 1 + term / c
            whole *= c * d
    return front * whole


def welch(first, second):
    """The p-value of two means being equal; none where neither varies."""
    n, m = len(first), len(second)
    mean = lambda values: sum(values) / len(values)
    variance = lambda values: sum((v - mean(values)) ** 2 for v in values) / (len(values) - 1)
    a, b = variance(first) / n, variance(second) / m
    if a + b == 0:
        return 1.0 if mean(first) == mean(second) else 0.0
    t = (mean(first) - mean(second)) / math.sqrt(a + b)
    free = (a + b) ** 2 / (a * a / (n - 1) + b * b / (m - 1))
    return beta(free / 2, 0.5, free / (free + t * t))


def values(document):
    found = {}
    for cell in document["cells"]:
        levels = tuple(sorted(cell["factors"].items()))
        for figure in FIGURES:
            value = (cell["figures"] or {}).get(figure)
            if value is not None:
                found.setdefault((levels, figure), []).append(value)
    return found


def differing(whole, killed):
    first, second = values(whole), values(killed)
    tested = sorted((welch(first[key], second[key]), key) for key in first
                    if len(first[key]) > 1 and len(second.get(key, ())) > 1)
    found = []
    for rank, (p, key) in enumerate(tested):
        if p * (len(tested) - rank) >= 0.05:
            break
        found.append((p, key, first[key], second[key]))
    return len(tested), found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plimsoll")
    parser.add_argument("plan")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out")
    parser.add_argument("--kinds", default="load,step,between,step,load")
    given = parser.parse_args()
    out = pathlib.Path(given.out or tempfile.mkdtemp(prefix="killed-"))
    rng, before = random.Random(given.seed), host()

    start = time.monotonic()
    begun(given.plimsoll, given.plan, out / "whole").wait()
    took = time.monotonic() - start
    kills = []
    for kind in given.kinds.split(","):
        process = begun(given.plimsoll, given.plan, out / "killed")
        if kill(process, kind, rng):
            left = host() - before
            kills.append(f"{kind} ({len(left)} things left)")
            subprocess.run([given.plimsoll, "testbed", "down", "--all"], stdout=subprocess.DEVNULL)
            if host() - before:
                print("left after testbed down:", *sorted(host() - before), sep="\n  ")
                return 1
    begun(given.plimsoll, given.plan, out / "killed").wait()

    [whole], [killed] = ([path for path in (out / name).iterdir() if path.is_dir()] for name in ("whole", "killed"))
    whole, killed = analysed(given.plimsoll, whole), analysed(given.plimsoll, killed)
    order = lambda of: [(cell["id"], cell["factors"], cell["replication"], cell["block"]) for cell in of["cells"]]
    states = {cell["state"] for of in (whole, killed) for cell in of["cells"]}
    tested, found = differing(whole, killed)
    print(f"cells           {len(whole['cells'])} and {len(killed['cells'])}, states {sorted(states)}")
    print(f"in {took:.0f} s, killed: {', '.join(kills)}")
    print(f"order, seed     {'the same' if order(whole) == order(killed) and whole['experiment']['seed'] == killed['experiment']['seed'] else 'DIFFER'}")
    print(f"figures         {tested} compared, {len(found)} differ by Holm at 5%")
    for p, (levels, figure), first, second in found:
        print(f"  {figure} {dict(levels)}: {first} against {second}, p {p:.2g}")
    left = host() - before
    print(f"left behind     {len(left)}", *sorted(left))
    return 0 if len(kills) == len(given.kinds.split(",")) and not found and not left and states == {"done"} else 1


if __name__ == "__main__":
    sys.exit(main())
