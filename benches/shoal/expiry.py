#!/usr/bin/env python3
"""The longest look-up while 100,000 caches expire in one second, against a control.

    expiry.py PLIMSOLL FEEDER [--runs 5] [--caches 100000] [--geo FILE]

Each run: a registry with one serving thread on core 0 is told of caches that all expire at the same
moment. One connection on core 1 asks `/nearest/5` 1,000 times a second, latencies counted from when a
look-up was due. The control is the second that ends four seconds before the moment, the other the one
that begins at it (and the half second after it, in which the index is built anew).
"""

import argparse
import random
import re
import socket
import sys
import time

from lookups import Registry, feed

END_S = 30
RATE = 1_000
REQUEST = b"GET /nearest/5 HTTP/1.1\r\nHost: bench\r\nX-Forwarded-For: %d.%d.%d.%d\r\n\r\n"


def ask(connection, address):
    connection.sendall(REQUEST % address)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(65536)
    head, _, body = answer.partition(b"\r\n\r\n")
    length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
    while len(body) < length:
        body += connection.recv(65536)
    return body


def longest(connection, start, end, rng):
    """The longest look-up of those due from start to end, and whether the last was of nobody."""
    worst, number, body = 0.0, 0, b""
    while (due := start + number / RATE) < end:
        while time.perf_counter() < due:
            pass
        body = ask(connection, tuple(rng.randrange(1, 223) for _ in range(4)))
        worst = max(worst, time.perf_counter() - due)
        number += 1
    return 1e3 * worst, body == b"null"


def run(given, rng):
    registry = Registry(given.plimsoll, given.geo, random.randint(20_000, 30_000))
    try:
        start = time.perf_counter()
        feed(given.feeder, registry.address, given.caches, end_s=END_S).communicate()
        end = start + END_S
        host, port = registry.address.split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            time.sleep(end - 5 - time.perf_counter())
            control, empty = longest(connection, end - 5, end - 4, rng)
            assert not empty, "they were gone too early"
            time.sleep(end - time.perf_counter())
            expiring, empty = longest(connection, end, end + 1.5, rng)
            assert empty, "they are not gone"
        return control, expiring
    finally:
        registry.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plimsoll")
    parser.add_argument("feeder")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--caches", type=int, default=100_000)
    parser.add_argument("--geo")
    given = parser.parse_args()
    rng = random.Random(7)
    print("| run | longest in the control | longest while they expire |\n| --- | --- | --- |")
    held = 0
    for number in range(given.runs):
        control, expiring = run(given, rng)
        held += expiring <= control + 5
        print(f"| {number + 1} | {control:.2f} ms | {expiring:.2f} ms |", flush=True)
    print(f"\nat most 5 ms above the control: {held} of {given.runs}")
    return held < given.runs


if __name__ == "__main__":
    sys.exit(main())
