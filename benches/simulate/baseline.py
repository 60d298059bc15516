#!/usr/bin/env python3
"""A day simulated by two builds of bench_simulate, which take turns: the other is BASELINE.

    baseline.py BENCH_SIMULATE [--runs 5] [--core 0]

Figures are requests a second of processor time; the rule is that of benches/builds.py.
"""

import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import builds


def seconds(program, core):
    """The processor time of each line, by its name."""
    done = subprocess.run(["taskset", "-c", core, program], capture_output=True, text=True,
                          check=True)
    cells = [[cell.strip() for cell in line.split("|")] for line in done.stdout.splitlines()]
    return {of[1]: float(of[2]) for of in cells if len(of) > 4 and of[2][:1].isdigit()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--core", default="0")
    given = parser.parse_args()
    programs = (builds.before(), given.program)
    if not programs[0]:
        sys.exit("BASELINE names no program")
    # A run has all lines: those of the first turns serve every row, those of the second the wide.
    turns = []

    def measured(name, number):
        while len(turns) <= number:
            turns.append(builds.taking_turns(given.runs, lambda of: seconds(of, given.core),
                                             programs))
        return [[1 / run[name] for run in runs] for runs in turns[number]]

    measured_names = list(seconds(given.program, given.core))
    rows = []
    for name in measured_names:
        numbers = iter((0, 1))
        rows.append((name, lambda name=name, numbers=numbers: measured(name, next(numbers))))
    return builds.table(builds.compare(name, measure) for name, measure in rows) > 0


if __name__ == "__main__":
    sys.exit(main())
