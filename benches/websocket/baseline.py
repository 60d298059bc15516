#!/usr/bin/env python3
"""What a message costs two builds of the WebSocket driver, which take turns: the other is BASELINE.

    baseline.py [--runs 5] [--seconds 3] [--connections 1000]

Figures are messages a second of the generator's processor time; the server is this build's. The rule is
that of benches/builds.py.
"""

import argparse
import os
import sys
import tempfile

from measure import PROGRAM, broadcast, echoed

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import builds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=1000)
    given = parser.parse_args()
    before = builds.before()
    if not before:
        sys.exit("BASELINE names no program")
    with tempfile.TemporaryDirectory() as place:

        def echoes(program):
            _, counted, cpu, _ = echoed(program, given.seconds, given.connections, place)
            return counted["received"] / cpu

        def broadcasts(program):
            heard, *_, cpu = broadcast(given.connections, 0, place, program)
            return heard["received"] / cpu

        def row(name, figure, runs):
            turns = lambda: builds.taking_turns(runs, figure, (before, PROGRAM))
            return builds.compare(f"{name}, {given.connections:,} connections", turns)

        # A run of broadcasts takes half a minute.
        rows = [("echoes", echoes, given.runs), ("broadcasts", broadcasts, min(given.runs, 3))]
        return builds.table(row(*of) for of in rows) > 0


if __name__ == "__main__":
    sys.exit(main())
