"""100 changes of a pool in three minutes, 50 in and 50 out, some two at once, at 80% of what the
fewest instances can take: keep-alive and a connection for each request, answers of 1 kB and of 1 MB,
all four at once. Goal: no failed request with any balancer, p99.9 at most 100 ms over a control
whose pool does not change."""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

KINDS = ["built-in", "nginx", "haproxy"]
LEAST, MOST = 2, 4
WORKERS, SERVICE_S = 2, 0.040
RATES = {"1kB": 0.8 * LEAST * WORKERS / SERVICE_S, "1MB": 0.8 * LEAST * 1 / SERVICE_S}
# Over and over, each for as long as the others: ten changes, five in and five out.
STEPS = [4, 3, 2, 4, 2, 3, 2]
RECIPE = """about = 'answers of a size'
port = 8080
start = ['{{plimsoll}}', 'target', '--listen', '{{address}}:{{port}}', '--workers',
    '{{vars.workers}}', '--service-time', 'const:40ms', '--body', '{{vars.body}}']
check = {}
[vars]
workers = 1
body = '1kB'
"""


def times(minutes, changes):
    """A timetable with so many changes in so many minutes of the policy, and their number."""
    # In one round the pool changes by this much.
    of_round = sum(abs(a - b) for a, b in zip([LEAST] + STEPS, STEPS))
    rounds = round(changes / of_round)
    steps = STEPS * rounds
    gap = minutes / (len(steps) + 1)
    at = [int((n + 1) * gap) for n in range(len(steps))]
    entries = [f"{7 + m // 60:02}:{m % 60:02}={count}" for m, count in zip(at, steps)]
    return ",".join(["07:00=2"] + entries), of_round * rounds


def plan(kind, size, connection, minutes, changes):
    timetable, count = times(minutes, changes)
    policy = f"kind = 'schedule'\ntimes = '{timetable}'" if changes else "kind = 'fixed'\ninstances = 2"
    workers = WORKERS if size == "1kB" else 1
    text = f"""name = 'changes, {kind}, {size}, {connection}'
seed = 7
speed = 60
[testbed]
provider = 'process'
[role.web]
recipe = 'answers'
vars = {{ body = '{size}', workers = {workers} }}
[pool]
role = 'web'
max = {MOST}
start = {LEAST}
decide_every = '12s'
starts_at = '07:00'
[instance]
service = 'const:40ms'
cores = {workers}
[balancer]
kind = '{kind}'
choose = 'least-connections'
[load]
schedule = '{RATES[size]:.0f}/s for {minutes}m'
connection = '{connection}'
[policy.changes]
{policy}
"""
    return text, count if changes else 0


def run(kind, minutes, changes):
    """Four pools at once. Returns the figures of each."""
    going = []
    for size in ["1kB", "1MB"]:
        for connection in ["keep-alive", "per-request"]:
            folder = Path(tempfile.mkdtemp(prefix="plimsoll-changes-"))
            (folder / "recipes").mkdir()
            (folder / "recipes/answers.toml").write_text(RECIPE)
            text, count = plan(kind, size, connection, minutes, changes)
            (folder / "plan.toml").write_text(text)
            command = [os.environ["PLIMSOLL"], "run", "plan.toml", "--json"]
            process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            going.append((size, connection, count, folder, process))
    done = []
    for size, connection, count, folder, process in going:
        out, err = process.communicate()
        try:
            figures = json.loads(out)["cells"][0]["figures"]
        except (ValueError, KeyError, IndexError):
            figures = None
            print(f"{kind}, {size}, {connection}: no figures: {err.strip().splitlines()[-3:]}")
        done.append((size, connection, count, figures))
        shutil.rmtree(folder, ignore_errors=True)
    return done


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="20 changes in 36 seconds")
    options.add_argument("--only", default=",".join(KINDS), help="balancers: built-in, nginx, haproxy")
    asked = options.parse_args()
    minutes, changes = (36, 20) if asked.quick else (180, 100)
    kinds = [kind for kind in asked.only.split(",") if kind == "built-in" or shutil.which(kind)]
    control = {}
    print("| balancer | answers | connection | changes | offered | failed | p99.9, ms | over control, ms |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    good = True
    for kind in ["control"] + kinds:
        is_control = kind == "control"
        of = "built-in" if is_control else kind
        for size, connection, count, figures in run(of, minutes, 0 if is_control else changes):
            if figures is None:
                good = False
                continue
            made = int(figures["scale_out"] + figures["scale_in"])
            # Of few answers only the longest is told, which is no less.
            p999 = figures.get("response_us.p99.9", figures["response_us.max"]) / 1e3
            if is_control:
                control[size, connection] = p999
            over = p999 - control.get((size, connection), p999)
            lost = int(figures["lost"])
            good &= lost == 0 and made >= count and over <= 100
            print(f"| {kind} | {size} | {connection} | {made} | {int(figures['offered'])} | {lost} "
                  f"| {p999:.1f} | {over:.1f} |", flush=True)
    print("holds" if good else "does not hold")
    raise SystemExit(0 if good else 3)


main()
