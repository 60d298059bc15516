"""Queues of known capacity, live: `plimsoll target` with exponential service times, and Erlang's
formulas (C. Palm, A. K. Erlang; see crates/capacity's `simulated`), computed here by the recursion
for B and bisection, independently of the program.
"""

import argparse
import concurrent.futures
import contextlib
import math
import os
import socket
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLIMSOLL = os.environ.get("PLIMSOLL", os.path.join(ROOT, "target/release/plimsoll"))
SERVICE_S, SHARE = 0.004, 0.9


def waits(workers, offered):
    """Erlang's C: the probability that a request waits."""
    blocked = 1.0
    for n in range(1, workers + 1):
        blocked = offered * blocked / (n + offered * blocked)
    return blocked / (1.0 - (offered / workers) * (1.0 - blocked))


def beyond(workers, rate, bound_s):
    """The share of requests whose response time in M/M/c exceeds the bound."""
    mu = 1.0 / SERVICE_S
    free = workers * mu - rate
    wait = waits(workers, rate / mu)
    if math.isclose(free, mu):
        return math.exp(-mu * bound_s) * (1.0 + wait * mu * bound_s)
    # The sum of a service time and, where it waits, of an exponential time of rate `free`.
    both = (free * math.exp(-mu * bound_s) - mu * math.exp(-free * bound_s)) / (free - mu)
    return (1.0 - wait) * math.exp(-mu * bound_s) + wait * both


def capacity(workers, bound_s):
    """The rate at which [`SHARE`] of the response times are just below the bound."""
    low, high = 0.0, workers / SERVICE_S * (1.0 - 1e-9)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(workers, middle, bound_s) < 1 - SHARE else (low, middle)
    return low


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def target(workers, seed):
    """The URL of such a queue, while it runs."""
    port = free_port()
    server = subprocess.Popen(
        [PLIMSOLL, "target", "--listen", f"127.0.0.1:{port}", "--service-time",
         f"exp:{1e3 * SERVICE_S:g}ms", "--workers", str(workers), "--seed", str(seed)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait()


def arguments(script, doc, times, cases):
    """What a script is told, and which of its cases it measures."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--times", type=int, default=times)
    parser.add_argument("--side-by-side", type=int, default=4)
    parser.add_argument("--only", default="")
    beside = os.path.join(os.path.dirname(os.path.abspath(script)), "LIVE.md")
    parser.add_argument("--output", default=beside)
    options = parser.parse_args()
    wanted = [c for c in options.only.split(",") if c]
    return options, [c for c in cases if not wanted or f"M/M/{c[0]}:{c[1]}" in wanted]


def each(one, cases, options):
    """Measures each case so often, so many at once, in order: the longest should come first."""
    tasks = [(case, n) for case in cases for n in range(options.times)]
    with concurrent.futures.ThreadPoolExecutor(options.side_by_side) as pool:
        list(pool.map(lambda task: one(*task), tasks))
