#!/usr/bin/env python3
"""Response time over caches, connections and threads: the drawing of RESULTS.md.

    drawing.py PLIMSOLL FEEDER [--seconds 2] [--geo FILE] [--out benches/shoal/response.svg]

For 1 and 2 serving threads and 10 to 100,000 caches, `/nearest/5` is asked for clients all over the
address space in a closed loop of 1, 100, 200 and 400 connections (wrk, two threads). With two cores the
generator and the server share them. Prints a table and draws the medians, the 99th percentiles dashed.
"""

import argparse
import math
import random
import re
import subprocess
import sys
import tempfile

from lookups import REQUESTS, Registry, feed

CACHES = (10, 100, 1_000, 10_000, 100_000)
CONNECTIONS = (1, 100, 200, 400)
THREADS = (1, 2)
UNITS_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#7b5aa6")


def ask(address, connections, seconds, script):
    """Requests a second, and the median and the 99th percentile of response times in ms."""
    threads = min(2, connections)
    asked = subprocess.run(
        ["wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds}s", "-s", script, "--latency",
         f"http://{address}"], check=True, capture_output=True, text=True).stdout

    def quantile(percent):
        value, unit = re.search(rf"{percent}%\s+([\d.]+)(us|ms|s)", asked).groups()
        return float(value) * UNITS_MS[unit]

    return float(re.search(r"Requests/sec:\s+([\d.]+)", asked)[1]), quantile(50), quantile(99)


def measure(given, script):
    """(threads, caches, connections) to what `ask` says."""
    found = {}
    print("| threads | caches | connections | look-ups/s | median | p99 |\n"
          "| --- | --- | --- | --- | --- | --- |")
    for threads in THREADS:
        for caches in CACHES:
            port = random.randint(20_000, 30_000)
            registry = Registry(given.plimsoll, given.geo, port, threads)
            try:
                feed(given.feeder, registry.address, caches).communicate()
                for connections in CONNECTIONS:
                    row = ask(registry.address, connections, given.seconds, script)
                    found[threads, caches, connections] = row
                    print(f"| {threads} | {caches:,} | {connections} | {row[0]:,.0f} "
                          f"| {row[1]:.2f} ms | {row[2]:.2f} ms |", flush=True)
            finally:
                registry.stop()
    return found


def draw(found):
    """Both panels as SVG."""
    width, height, left, top, panel, gap = 800, 340, 70, 44, 300, 80
    times = [value for row in found.values() for value in row[1:]]
    low, high = (round_to(math.log10(min(times)), -1), round_to(math.log10(max(times)), 1))
    bottom = height - 66
    x = lambda index, caches: left + index * (panel + gap) + panel * (math.log10(caches) - 1) / 4
    y = lambda ms: bottom - (bottom - top) * (math.log10(ms) - low) / (high - low)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="12" role="img" '
           'aria-label="Response time over caches, by connections and serving threads">',
           f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for index, threads in enumerate(THREADS):
        noun = "thread" if threads == 1 else "threads"
        out.append(text(x(index, 10), top - 20, f"{threads} serving {noun}", "start", "bold"))
        for power in range(low, high + 1):
            at = y(10 ** power)
            out.append(f'<path d="M{x(index, 10)} {at:.1f}h{panel}" stroke="#ddd"/>')
            if index == 0:
                out.append(text(left - 8, at + 4, f"{10 ** power:g} ms", "end"))
        for caches in CACHES:
            out.append(text(x(index, caches), bottom + 18, f"{caches:,}", "middle"))
        for colour, connections in zip(COLOURS, CONNECTIONS):
            for column, dash in ((1, ""), (2, ' stroke-dasharray="3 4"')):
                at = [(x(index, n), y(found[threads, n, connections][column])) for n in CACHES]
                line = " ".join(f"{a:.1f},{b:.1f}" for a, b in at)
                out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" '
                           f'stroke-width="2"{dash}/>')
    out.append(text(width / 2, height - 30, "caches", "middle"))
    for index, (colour, connections) in enumerate(zip(COLOURS, CONNECTIONS)):
        at = left + 80 + index * 150
        noun = "connection" if connections == 1 else "connections"
        out.append(f'<path d="M{at} {height - 14}h22" stroke="{colour}" stroke-width="2"/>')
        out.append(text(at + 28, height - 10, f"{connections} {noun}", "start"))
    return "\n".join(out + ["</svg>\n"])


def text(x, y, words, anchor, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" '
            f'fill="#222">{words}</text>')


def round_to(value, way):
    return math.ceil(value) if way > 0 else math.floor(value)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plimsoll")
    parser.add_argument("feeder")
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--geo")
    parser.add_argument("--out", default="benches/shoal/response.svg")
    given = parser.parse_args()
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(REQUESTS)
        script.flush()
        found = measure(given, script.name)
    with open(given.out, "w") as out:
        out.write(draw(found))


if __name__ == "__main__":
    sys.exit(main())
