#!/usr/bin/env python3
"""What a look-up costs two builds of the registry, which take turns: the other is BASELINE.

    baseline.py PLIMSOLL FEEDER [--windows 5] [--seconds 8] [--geo FILE]

Registries of 1,000 and of 100,000 caches as in lookups.py, one of each build, in alternating windows.
Figures are look-ups a second of the server's processor time; the rule is that of benches/builds.py.
"""

import argparse
import os
import random
import sys
import tempfile
import time

from lookups import COUNTS, REQUESTS, Registry, feed, window

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import builds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plimsoll")
    parser.add_argument("feeder")
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--geo")
    given = parser.parse_args()
    before = builds.before()
    if not before:
        sys.exit("BASELINE names no program")

    def row(count, script):
        registries = []
        try:
            for program in (before, given.plimsoll):
                registry = Registry(program, given.geo, random.randint(20_000, 30_000))
                registries.append(registry)
                feed(given.feeder, registry.address, count).communicate()
            time.sleep(2)

            def look_ups(registry):
                return 1e6 / window(registry, given.feeder, count, given.seconds, script)[1]

            return builds.compare(
                f"look-ups among {count:,} caches",
                lambda: builds.taking_turns(given.windows, look_ups, registries))
        finally:
            for registry in registries:
                registry.stop()

    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(REQUESTS)
        script.flush()
        return builds.table(row(count, script.name) for count in COUNTS) > 0


if __name__ == "__main__":
    sys.exit(main())
