#!/usr/bin/env python3
"""Look-ups at a rate that does not depend on the answers: response times, and what a look-up costs
where both registries have the same load.

    steady.py PLIMSOLL FEEDER [--windows 3] [--seconds 8] [--rate 25000] [--geo FILE]

Registries of 1,000 and of 100,000 caches as in lookups.py, in alternating windows, while as many
heartbeats arrive and caches join and leave. `plimsoll load` asks `/v1/nearest?n=5` for 10,000
clients all over the address space, by Poisson arrivals on 64 connections; response times count from
when a look-up was due. In turn with them a control, which looks nothing up: `plimsoll target` on the
server's core with answers as long, without heartbeats; where its times are long too, the machine is at
fault. Servers have real-time priority, so that what else runs on their core does not take turns of
some milliseconds with them; where they may not, it is said. The generator must not have it: it spins
until a request is due, and so would keep the kernel's own threads from its core, and be stopped by the
kernel for 50 ms of each second (`sched_rt_runtime_us`, sched(7)).
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

from lookups import CHURN, CONNECTIONS, COUNTS, RATE, Registry, feed

CLIENTS = 10_000
PRIORITY = 10
# Bytes of an answer.
ANSWER = 1_550


def urls(place):
    draw = random.Random(7)
    path = os.path.join(place, "urls")
    with open(path, "w", encoding="ascii") as file:
        for _ in range(CLIENTS):
            address = ".".join(str(draw.randint(1 if part == 0 else 0, 222 if part == 0 else 255))
                               for part in range(4))
            file.write(f"/v1/nearest?n=5&ip={address}\n")
    return path


def in_real_time(pid):
    """Gives all threads of a process real-time priority, where that is allowed."""
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(PRIORITY))
    except PermissionError:
        print("without real-time priority, which is not allowed here", file=sys.stderr)


def load(given, address, place):
    """The summary of a load."""
    done = subprocess.run(
        ["taskset", "-c", "1", given.plimsoll, "load",
         f"http://{address}/", "--urls", urls(place), "--rate", f"{given.rate}/s",
         "--arrivals", "poisson", "--connections", str(CONNECTIONS), "--for",
         f"{given.seconds}s", "--json", "--quiet", "--out", os.path.join(place, "runs")],
        capture_output=True, text=True)
    return json.loads(done.stdout)


def window(given, registry, count, place):
    """One window: the summary of its load, and CPU a request in microseconds."""
    feeding = feed(given.feeder, registry.address, count, RATE, CHURN, given.seconds + 3)
    feeding.stdout.readline()
    time.sleep(1)
    before = registry.cpu_s()
    told = load(given, registry.address, place)
    cpu_s = registry.cpu_s() - before
    feeding.wait()
    return told, 1e6 * cpu_s / told["completed"]


def start_control(given):
    """A server that looks nothing up, and its address."""
    address = f"127.0.0.1:{random.randint(30_000, 31_000)}"
    target = subprocess.Popen(["taskset", "-c", "0", given.plimsoll, "target", "--listen", address,
                               "--body", str(ANSWER)], stdout=subprocess.DEVNULL)
    time.sleep(1)
    in_real_time(target.pid)
    return target, address


def row(who, number, told, us):
    times = " | ".join(f"{told['response_us'][p] / 1e3:.2f} ms"
                       for p in ("p50", "p90", "p99", "p999"))
    share = told["succeeded"] / told["offered"]
    print(f"| {who} | {number + 1} | {share:.2%} | {times} | {us} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plimsoll")
    parser.add_argument("feeder")
    parser.add_argument("--windows", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--rate", type=int, default=25_000)
    parser.add_argument("--geo")
    given = parser.parse_args()
    registries = {}
    target, control = start_control(given)
    with tempfile.TemporaryDirectory() as place:
        try:
            for count in COUNTS:
                registry = Registry(given.plimsoll, given.geo, random.randint(20_000, 30_000))
                registries[count] = registry
                feed(given.feeder, registry.address, count).communicate()
                in_real_time(registry.process.pid)
            print("| caches | window | answered | p50 | p90 | p99 | p99.9 | CPU a look-up |")
            print("| --- | --- | --- | --- | --- | --- | --- | --- |")
            cpu = {count: [] for count in COUNTS}
            for number in range(given.windows):
                for count, registry in registries.items():
                    told, us = window(given, registry, count, place)
                    cpu[count].append(us)
                    row(f"{count:,}", number, told, f"{us:.1f} µs")
                row("control", number, load(given, control, place), "–")
            few, many = (sorted(cpu[count])[len(cpu[count]) // 2] for count in COUNTS)
            print(f"\nmedian: {few:.1f} µs, {many:.1f} µs, ratio {many / few:.2f}")
        finally:
            target.terminate()
            target.wait()
            for registry in registries.values():
                registry.stop()


if __name__ == "__main__":
    sys.exit(main())
