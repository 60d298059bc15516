"""This program against another build of it, cell by cell, taking turns.

`BASELINE` names the other program. A cell is worse where it loses more than 3%, or more than the
baseline's own spread where that is wider.
"""

import os
import statistics

import page
import servers
from host import Absent
from rates import CONNECTIONS, OPEN_RATE
from tools import Plimsoll, interleaved

# The most that a cell may lose where the baseline's rounds lie closer together than this.
LOSS = 0.03


def _programs(bench):
    program = os.environ.get("BASELINE", "")
    if not os.access(program, os.X_OK):
        raise Absent(f"BASELINE is no program: `{program}`")
    return Plimsoll(bench.place, program, "plimsoll before"), bench.ours


def _cells(bench):
    """Each cell: its name, its server, its command of a tool, and the figure that is compared."""
    rate, cpu = (lambda one: one.rate), (lambda one: 1 / one.cpu_us)
    seconds = bench.seconds
    closed = lambda path: lambda tool, server: tool.closed(server.url(path), CONNECTIONS, seconds)
    yield "closed loop, trivial server", servers.trivial, closed("/"), rate
    for size in ("/s", "/nopush/1k", "/nopush/100k"):
        yield f"closed loop, nginx {size}", servers.nginx, closed(size), rate
    samples = lambda tool, server: closed("/")(tool, server) + ["--samples"]
    yield "closed loop, --samples", servers.trivial, samples, rate
    for pacing in ("precise", "thrifty"):
        opened = lambda tool, server, pacing=pacing: tool.open(
            server.url(), CONNECTIONS, seconds, OPEN_RATE, "--pacing", pacing,
        )
        yield f"open loop, {pacing}: requests per CPU second", servers.trivial, opened, cpu
    http2 = lambda tool, server: tool.http2(server.url("/s"), 4, 16, seconds)
    yield "HTTP/2, 64 streams", servers.http2_answer, http2, rate


def baseline(bench):
    """This program against BASELINE."""
    before, now = _programs(bench)
    rows, worse = [], []
    for name, start, command, figure in _cells(bench):
        with start(bench.host, bench.place) as server:
            commands = [(tool, command(tool, server)) for tool in (before, now)]
            loads = interleaved(bench.host, server, commands, bench.rounds)
        were = [figure(one) for one in loads[before.name]]
        are = [figure(one) for one in loads[now.name]]
        ratio = statistics.median(are) / statistics.median(were)
        spread = (max(were) - min(were)) / statistics.median(were)
        is_worse = 1 - ratio > max(LOSS, spread)
        if is_worse:
            worse.append(f"{name} {ratio:.3f}")
        rows.append([
            name, f"{ratio:.3f}", f"{spread:.1%}", page.spread(were, "{:.4g}"),
            page.spread(are, "{:.4g}"), "**worse**" if is_worse else "",
        ])
        print(f"  {name}: {ratio:.3f}, spread {spread:.1%}", flush=True)
    said = ", ".join(worse) or f"none of {len(rows)} cells"
    bench.row("worse than before", "none", "", said, met=not worse)
    head = ["", "now / before", "spread before", "before", "now", ""]
    bench.section("Before and now", page.table(head, rows))
