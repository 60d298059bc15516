#!/usr/bin/env python3
"""Measures the load engine against its peers and writes RESULTS.md.

Every line of the table has a function; `--only` names some of them. What cannot be measured here
is said in its line, with the reason. With BASELINE=PROGRAM this program and that one take turns
instead, and nothing else is measured. Standard library only.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field

import baseline
import footprint
import page
import rates
import truth
from host import Absent, Host
from tools import Plimsoll

MEASURES = {
    "trivial": rates.trivial,
    "nginx": rates.nginx,
    "open": rates.open_loop,
    "http2": rates.http2,
    "samples": rates.samples,
    "schedule": truth.schedule,
    "stall": truth.stall,
    "generator-limit": truth.generator_limit,
    "server-limit": truth.server_limit,
    "memory": footprint.memory,
    "connections": footprint.connections,
    "import": footprint.imports,
    "baseline": baseline.baseline,
}


@dataclass
class Row:
    """A line of the contract: what must hold, what we are after, what was measured."""

    name: str
    must: str
    goal: str
    measured: str
    met: bool = None
    goal_met: bool = None


@dataclass
class Bench:
    """What every measure is given, and where it leaves what it found."""

    host: Host
    place: str
    quick: bool
    long: bool
    rounds: int
    rows: list = field(default_factory=list)
    sections: list = field(default_factory=list)
    commands: dict = field(default_factory=dict)
    versions: dict = field(default_factory=dict)

    def __post_init__(self):
        self.ours = Plimsoll(self.place)

    @property
    def seconds(self):
        """How long one closed-loop measurement takes."""
        return 1 if self.quick else 3

    def halved(self, seconds):
        return seconds / 2 if self.quick else seconds

    def row(self, *args, **options):
        row = Row(*args, **options)
        self.rows.append(row)
        print(f"  {page.verdict(row):12} {row.name}: {row.measured}", flush=True)

    def section(self, title, text):
        self.sections.append((title, text))

    def command(self, what, command):
        """Keeps the command of one measurement, with paths and ports made plain."""
        self.commands.setdefault(what, page.plain_command(command, self.place))

    def met(self, value, least=None, most=None):
        """Whether a figure keeps a bound; unknown where there is no figure."""
        if value is None or value != value:
            return None
        return (least is None or value >= least) and (most is None or value <= most)


def arguments():
    parser = argparse.ArgumentParser(prog="benches/load/run.sh", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round, half the time")
    parser.add_argument("--long", action="store_true", help="memory over 10 minutes, not one")
    parser.add_argument(
        "--rounds", type=int, help="interleaved rounds [default: 3, with BASELINE 5, quick 1]",
    )
    parser.add_argument("--only", help="comma-separated: " + ", ".join(MEASURES))
    parser.add_argument(
        "--isolate", choices=["priority", "realtime", "none"], default="priority",
        help="how measured processes are put before others [default: priority]",
    )
    parser.add_argument(
        "--output", help="the page [default: benches/load/RESULTS.md; with --only: none]",
    )
    return parser.parse_args()


def main():
    options = arguments()
    compared = "BASELINE" in os.environ
    if compared and not options.only:
        options.only = "baseline"
    names = options.only.split(",") if options.only else [n for n in MEASURES if n != "baseline"]
    unknown = [name for name in names if name not in MEASURES]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; known: {', '.join(MEASURES)}")
    program = os.environ.get("PLIMSOLL", "")
    if not os.access(program, os.X_OK):
        sys.exit(f"PLIMSOLL is no program: `{program}`; build it with `make build`")
    place = tempfile.mkdtemp(prefix="plimsoll-bench-")
    try:
        began = time.time()
        host = Host(options.isolate)
        rounds = options.rounds or (1 if options.quick else 5 if compared else 3)
        bench = Bench(host, place, options.quick, options.long, rounds)
        for name in names:
            print(f"== {name}", flush=True)
            measure(bench, name)
        text = page.write(bench, began, options)
        output = options.output or (None if options.only else page.DEFAULT)
        if output:
            with open(output, "w") as file:
                file.write(text)
            print(f"written: {output}")
        else:
            print(text)
    except Absent as absent:
        sys.exit(str(absent))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def measure(bench, name):
    """One measure; what it needs and does not find is said in its line."""
    before = len(bench.rows)
    try:
        MEASURES[name](bench)
    except Absent as absent:
        if len(bench.rows) == before:
            what = MEASURES[name].__doc__.splitlines()[0].rstrip(".")
            bench.row(what, "", "", f"not measured: {absent}")
        else:
            print(f"  {absent}")
    except Exception as fault:  # one that breaks off must not take the others with it
        traceback.print_exc()
        what = MEASURES[name].__doc__.splitlines()[0].rstrip(".")
        bench.row(what, "", "", f"broke off: {type(fault).__name__}: {fault}", met=False)


if __name__ == "__main__":
    main()
