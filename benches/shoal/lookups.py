#!/usr/bin/env python3
"""Look-ups while caches announce themselves, join and leave: the table of RESULTS.md.

    lookups.py PLIMSOLL FEEDER [--windows 3] [--seconds 8] [--geo FILE]

Two registries, of 1,000 and of 100,000 caches, on core 0 with one serving thread each; the generator
(wrk, 64 connections) and the feeder of heartbeats on core 1. In alternating windows each registry in
turn is asked `/nearest/5` for clients all over the address space (`X-Forwarded-For` of a trusted
proxy), while 3,333 heartbeats a second arrive and 10 caches a second join and as many leave. CPU is
the server's own user and system time over the requests of the window, heartbeats included.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time

COUNTS = (1_000, 100_000)
RATE, CHURN = 3_333, 10
CONNECTIONS = 64
TICKS = os.sysconf("SC_CLK_TCK")

REQUESTS = """
local requests = {}
init = function(args)
  math.randomseed(7)
  for i = 1, 65536 do
    local a = string.format("%d.%d.%d.%d", math.random(1, 222), math.random(0, 255),
                            math.random(0, 255), math.random(0, 255))
    requests[i] = wrk.format("GET", "/nearest/5", {["X-Forwarded-For"] = a})
  end
end
local n = 0
request = function() n = n % 65536 + 1; return requests[n] end
"""


class Registry:
    """A server: with one thread on core 0, with more on as many cores."""

    def __init__(self, plimsoll, geo, port, threads=1):
        command = ["taskset", "-c", f"0-{threads - 1}", plimsoll, "shoal", "server",
                   "--threads", str(threads),
                   "--listen", f"127.0.0.1:{port}", "--trusted-proxy", "127.0.0.1/32",
                   "--trust", "127.0.0.2/32"]
        if geo:
            command += ["--geo", geo]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().split("//")[1].strip()

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def rss_kib(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])

    def stop(self):
        self.process.terminate()
        self.process.wait()


def feed(feeder, address, count, rate=0, churn=0, seconds=0, end_s=0):
    command = ["taskset", "-c", "1", feeder, address, count, rate, churn, seconds, 1, end_s]
    return subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)


def window(registry, feeder, count, seconds, script):
    """One window: requests a second, CPU a request in microseconds."""
    feeding = feed(feeder, registry.address, count, RATE, CHURN, seconds + 2)
    feeding.stdout.readline()
    time.sleep(1)
    before = registry.cpu_s()
    asked = subprocess.run(
        ["taskset", "-c", "1", "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", script,
         "--latency", f"http://{registry.address}"],
        check=True, capture_output=True, text=True).stdout
    cpu_s = registry.cpu_s() - before
    feeding.wait()
    requests = int(re.search(r"(\d+) requests in", asked)[1])
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", asked)[1])
    return rate, 1e6 * cpu_s / requests


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plimsoll")
    parser.add_argument("feeder")
    parser.add_argument("--windows", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--geo")
    given = parser.parse_args()
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(REQUESTS)
        script.flush()
        registries = {}
        try:
            for count in COUNTS:
                registry = Registry(given.plimsoll, given.geo, random.randint(20_000, 30_000))
                registries[count] = registry
                empty = registry.rss_kib()
                print(feed(given.feeder, registry.address, count).communicate()[0].strip())
                time.sleep(2)
                kib = (registry.rss_kib() - empty) / count
                print(f"{count} caches: {1024 * kib:.0f} bytes a cache", flush=True)
            print("| caches | window | look-ups/s | CPU a look-up |\n| --- | --- | --- | --- |")
            cpu = {count: [] for count in COUNTS}
            for number in range(given.windows):
                for count, registry in registries.items():
                    rate, us = window(registry, given.feeder, count, given.seconds, script.name)
                    cpu[count].append(us)
                    print(f"| {count:,} | {number + 1} | {rate:,.0f} | {us:.1f} µs |", flush=True)
            middle = {count: sorted(values)[len(values) // 2] for count, values in cpu.items()}
            print(f"\nmedian: {middle[COUNTS[0]]:.1f} µs, {middle[COUNTS[1]]:.1f} µs, "
                  f"ratio {middle[COUNTS[1]] / middle[COUNTS[0]]:.2f}")
        finally:
            for registry in registries.values():
                registry.stop()


if __name__ == "__main__":
    sys.exit(main())
