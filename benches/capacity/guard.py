#!/usr/bin/env python3
"""The guard against an unsteady network, live: does a search find the same line through it?

    guard.py [--times N] [--precision 5%] [--first-seed 10] [--output FILE]

Each time two searches of a `plimsoll target` of two workers, exponential service of 4 ms in the mean,
`p90<150ms`, in a namespace behind a TUN device: one over a steady network; in the other a round trip
takes 30 ms longer until three windows have been discarded, and then as long as before. One more
search in which it stays longer for good must end `unstable_network`. Needs root. Writes GUARD.md
beside this file. Several at once are in each other's way, but for those in networks of their own:
`unshare -n sh -c 'ip link set lo up; guard.py …'`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PLIMSOLL = os.environ.get("PLIMSOLL", os.path.join(ROOT, "target/release/plimsoll"))
NETWORK = os.path.join(ROOT, "tests/python/delayed_network.py")
ADDRESS, RISE_MS, DISCARDED = "10.77.0.2:8080", 30, 3
LONGEST_S = 600


class Network:
    """A namespace with a target, and the file that says how much longer a round trip takes."""

    def __init__(self, place, seed):
        name = f"guard{os.getpid()}"
        self.control = os.path.join(place, "delay")
        self.carrier = subprocess.Popen([sys.executable, NETWORK, name, self.control],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.carrier.stdout.readline().strip() != "ready":
            raise SystemExit("no namespace with a TUN device can be made here")
        self.target = subprocess.Popen(
            ["ip", "netns", "exec", name, PLIMSOLL, "target", "--listen", ADDRESS,
             "--service-time", "exp:4ms", "--workers", "2", "--seed", str(seed + 500)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.target.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.target.terminate()
        self.target.wait()
        self.carrier.stdin.close()
        self.carrier.wait()

    def delay(self, ms):
        with open(self.control + ".new", "w", encoding="ascii") as file:
            file.write(str(ms))
        os.rename(self.control + ".new", self.control)


def windows(place):
    """What the search has kept of its windows so far."""
    runs = os.path.join(place, "runs")
    lines = []
    for run in os.listdir(runs) if os.path.isdir(runs) else []:
        try:
            with open(os.path.join(runs, run, "artifacts/windows.jsonl"), encoding="utf-8") as file:
                # The last line may be on its way.
                lines += [json.loads(line) for line in file if line.endswith("\n")]
        except OSError:
            pass
    return lines


def search(seed, precision, rises, until):
    """The result of a search; from its fourth window on the network is slower, until `until`."""
    with (tempfile.TemporaryDirectory() as place, Network(place, seed) as network,
          open(os.path.join(place, "said.json"), "w+", encoding="utf-8") as said):
        going = subprocess.Popen(
            [PLIMSOLL, "capacity", f"http://{ADDRESS}/", "--slo", "p90<150ms", "--start", "20/s",
             "--seed", str(seed), "--precision", precision, "--json", "--quiet",
             "--out", f"{place}/runs"],
            stdout=said, env={**os.environ, "XDG_RUNTIME_DIR": place})
        ends = time.monotonic() + LONGEST_S
        while going.poll() is None and time.monotonic() < ends:
            seen = windows(place)
            discarded = sum(w["verdict"] == "discarded" for w in seen)
            if rises:
                network.delay(RISE_MS if len(seen) >= 4 and discarded < until else 0)
            time.sleep(0.05)
        going.kill()
        going.wait()
        said.seek(0)
        return {**json.load(said), "exit": going.returncode}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--precision", default="5%", help="of each search")
    parser.add_argument("--first-seed", type=int, default=10)
    parser.add_argument("--output", default=os.path.join(HERE, "GUARD.md"))
    arguments = parser.parse_args()
    out = ["# The guard against an unsteady network, live\n",
           f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, by `benches/capacity/guard.py "
           f"--times {arguments.times} --precision {arguments.precision}`: M/M/2 behind a TUN "
           f"device, a round trip {RISE_MS} ms longer "
           f"from the fourth window until {DISCARDED} windows were discarded.\n",
           "| | steady | discarded | disturbed | difference |", "| --- | --- | --- | --- | --- |"]
    pairs = []
    for n in range(arguments.times):
        seed = arguments.first_seed + n
        steady = search(seed, arguments.precision, rises=False, until=0)
        disturbed = search(seed, arguments.precision, rises=True, until=DISCARDED)
        discarded = sum(w["verdict"] == "discarded" for w in disturbed["windows"])
        pair = steady["estimate_per_s"], disturbed["estimate_per_s"]
        pairs.append(pair)
        out.append(f"| {n + 1} | {pair[0]:.1f}/s | {discarded} | {pair[1]:.1f}/s | "
                   f"{pair[1] / pair[0] - 1:+.2%} |")
        print(out[-1], flush=True)
    steady, disturbed = (statistics.mean(p[k] for p in pairs) for k in (0, 1))
    out.append(f"| mean | {steady:.1f}/s | | {disturbed:.1f}/s | {disturbed / steady - 1:+.2%} |")
    lasting = search(99, arguments.precision, rises=True, until=10_000)
    out.append(f"\nLonger for good: `{lasting['ended']}`, exit {lasting['exit']}, estimate "
               f"{lasting['estimate_per_s']}.")
    print("\n".join(out[-2:]))
    with open(arguments.output, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
