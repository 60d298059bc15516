"""This program against another build of it, which `BASELINE` names: see benches/builds.py."""

import os
import sys

import page
import servers
from host import Absent
from rates import CONNECTIONS, OPEN_RATE
from tools import Plimsoll, interleaved

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import builds


def _programs(bench):
    program = builds.before()
    if not program:
        raise Absent("BASELINE names no program")
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
    programs = _programs(bench)
    rows, worse = [], []
    for name, start, command, figure in _cells(bench):
        def measure():
            with start(bench.host, bench.place) as server:
                commands = [(tool, command(tool, server)) for tool in programs]
                loads = interleaved(bench.host, server, commands, bench.rounds)
            return [[figure(one) for one in loads[tool.name]] for tool in programs]

        row = builds.compare(name, measure)
        if row.is_worse:
            worse.append(f"{name} {row.ratio:.3f}")
        figures = [page.spread(of, "{:.4g}") for of in (row.were, row.are)]
        *cells, said = row.cells()
        rows.append([*cells, *figures, said])
        print(f"  {name}: {row.ratio:.3f}, spread {row.spread:.1%}", flush=True)
    said = ", ".join(worse) or f"none of {len(rows)} cells"
    bench.row("worse than before", "none", "", said, met=not worse)
    head = ["", "now / before", "spread before", "before", "now", ""]
    bench.section("Before and now", page.table(head, rows))
