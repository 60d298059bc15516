"""Two builds compared, row by row: the one rule for all benches that take `BASELINE=PROGRAM`.

Both take turns at each row, and a figure is the higher the better. A row is worse where it loses more
than 3%, or more than the runs of the build before lie apart where that is wider. A row whose runs lie
more than 5% apart says little: it is measured once more, and the narrower of both counts.
"""

import os
import statistics
import sys
from dataclasses import dataclass

# The most that a row may lose where the runs of the build before lie closer together than this.
LOSS = 0.03
# Where they lie further apart than this, the row is measured once more.
WIDE = 0.05
HEAD = ["", "now / before", "spread before", ""]


def before():
    """The program that this one is compared with; `None` where none is named."""
    program = os.environ.get("BASELINE")
    if program and not os.access(program, os.X_OK):
        sys.exit(f"BASELINE is no program: `{program}`")
    return program or None


@dataclass
class Row:
    """A row of the comparison: what both builds came to, run by run."""

    name: str
    were: list
    are: list
    again: bool = False

    @property
    def ratio(self):
        return statistics.median(self.are) / statistics.median(self.were)

    @property
    def spread(self):
        return (max(self.were) - min(self.were)) / statistics.median(self.were)

    @property
    def is_worse(self):
        return 1 - self.ratio > max(LOSS, self.spread)

    def cells(self):
        said = ", ".join([*["worse"] * self.is_worse, *["measured twice"] * self.again])
        return [self.name, f"{self.ratio:.3f}", f"{self.spread:.1%}", said]


def compare(name, measure):
    """A row. `measure` has both builds take turns, and gives the figures of the one before, and of
    this one."""
    row = Row(name, *measure())
    if row.spread > WIDE:
        second = Row(name, *measure(), again=True)
        row.again = True
        row = min(row, second, key=lambda of: of.spread)
    return row


def taking_turns(runs, figure, programs):
    """What `figure` gives of each of two programs, run after run."""
    taken = [[figure(program) for program in programs] for _ in range(runs)]
    return [list(of) for of in zip(*taken)]


def table(rows):
    """Prints rows as they come, and how many are worse; returns that."""
    print(f"| {' | '.join(HEAD)} |\n| --- | ---: | ---: | --- |", flush=True)
    worse = count = 0
    for row in rows:
        print(f"| {' | '.join(row.cells())} |", flush=True)
        worse, count = worse + row.is_worse, count + 1
    print(f"worse: {worse} of {count}")
    return worse
