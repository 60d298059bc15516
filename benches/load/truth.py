"""Whether what the engine reports is so: schedule, stalls, and who was the limit.

Every truth here is computed in this file, from the definitions, with whole numbers and fractions;
nothing of the program's own arithmetic is used.
"""

import glob
import json
import math
import os
from bisect import bisect_left
from fractions import Fraction

import page
import rates
import samples
import servers
from host import Absent, Quota

SECOND = 1_000_000_000


def due_times(pieces):
    """Due times in nanoseconds, rounded down, of pieces (rate at start, rate at end, seconds).

    Request n is due where the integral of the rate reaches n. In a piece that starts at `t` with
    the integral at `before`, with rates `a` and `b` over `d` seconds, that is the least x with
    a x + (b - a) / (2 d) x^2 = n - before.
    """
    due, before, at = [], Fraction(0), Fraction(0)
    for first, last, seconds in pieces:
        first, last, seconds = Fraction(first), Fraction(last), Fraction(seconds)
        after = before + (first + last) / 2 * seconds
        n = math.ceil(before)
        while n < after:
            due.append(_floor_ns(at, first, (last - first) / (2 * seconds), n - before))
            n += 1
        before, at = after, at + seconds
    return due


def _floor_ns(at, rate, slope, wanted):
    """⌊10^9 (at + x)⌋ for slope x² + rate x = wanted, exactly."""
    if slope == 0:
        return math.floor(SECOND * (at + wanted / rate))
    # x = (sqrt(rate² + 4 slope wanted) - rate) / (2 slope), by whole square roots: a first guess,
    # then the greatest nanosecond whose integral does not exceed what is wanted.
    root = math.sqrt(rate * rate + 4 * slope * wanted)
    guess = math.floor(SECOND * at + SECOND * Fraction((root - float(rate)) / float(2 * slope)))

    def reached(ns):
        x = Fraction(ns, SECOND) - at
        return slope * x * x + rate * x <= wanted

    while not reached(guess):
        guess -= 1
    while reached(guess + 1):
        guess += 1
    return guess


def _offered(bench, text, pieces, what):
    """Runs a schedule with samples; the samples, their true due times and the summary."""
    with servers.trivial(bench.host, bench.place) as server:
        command = bench.ours.command(
            server.url(), "--schedule", text, "--connections", "64", "--samples",
        )
        bench.command(what, command)
        load = bench.ours.read(bench.host.run(command, server))
    summary = load.figures["summary"]
    return samples.of_run(bench.place, summary), due_times(pieces), summary


def schedule(bench):
    """Schedule kept."""
    length = int(bench.halved(2))
    steps = [(rate, rate, length) for rate in (5_000, 10_000, 15_000, 20_000)]
    text = f"5000/s..20000/s step 5000/s every {length}s, 19997/s for 1s"
    found, due, summary = _offered(
        bench, text, [*steps, (19_997, 19_997, 1)], "schedule kept: steps",
    )
    ramp_text = f"1000/s..20000/s in {2 * length}s"
    ramp, ramp_due, _ = _offered(
        bench, ramp_text, [(1_000, 20_000, 2 * length)], "schedule kept: ramp",
    )
    off, ramp_off = _furthest(found, due), _furthest(ramp, ramp_due)
    bench.row(
        "schedule kept: by due time", "exact", "exact",
        f"{_furthest_text(found, due, off)} (steps); {_furthest_text(ramp, ramp_due, ramp_off)} "
        "(ramp)",
        met=off == 0 and ramp_off is not None and ramp_off <= 1,
        goal_met=off == 0 and ramp_off == 0,
    )
    late_ns = max(sample.sent - sample.due for sample in found if sample.sent is not None)
    rows, worst = _seconds(found, due, late_ns)
    bench.row(
        "– by send time, in every second", "off by ≤ 1 + rate × max lateness", "–",
        f"off by {max(row[3] for row in rows)} at most, where {worst[4]:.1f} were allowed in that "
        f"second (lateness at most {late_ns / 1e6:.3f} ms)",
        met=all(row[3] <= row[4] for row in rows),
    )
    bench.section("Schedule", (
        f"`{text}`, even arrivals; the due times of all {len(found):,} samples against the "
        "schedule's integral, computed with fractions.\n\n"
        + page.table(
            ["second", "due", "sent", "off by", "allowed"],
            [[*row[:4], f"{row[4]:.1f}"] for row in rows],
        )
    ))


def _furthest(found, due):
    if len(found) != len(due):
        return None
    return max(abs(sample.due - true) for sample, true in zip(found, due))


def _furthest_text(found, due, off):
    if off is None:
        return f"{len(found):,} requests instead of {len(due):,}"
    return f"{len(found):,} of {len(found):,} exact" if off == 0 else f"off by {off} ns at most"


def _seconds(found, due, late_ns):
    """A line a second: due, sent, off by, allowed; and the line with the greatest difference."""
    sent = sorted(sample.sent for sample in found if sample.sent is not None)
    rows = []
    for second in range(due[-1] // SECOND + 1):
        ends = [second * SECOND, (second + 1) * SECOND]
        planned = bisect_left(due, ends[1]) - bisect_left(due, ends[0])
        kept = bisect_left(sent, ends[1]) - bisect_left(sent, ends[0])
        # What can fall out of a second or into it is due within the lateness of either end.
        rate = max(
            bisect_left(due, min(end + SECOND, due[-1])) - bisect_left(due, max(0, end - SECOND))
            for end in ends
        ) / 2
        rate = max(rate, planned)
        rows.append([second, planned, kept, abs(planned - kept), 1 + rate * late_ns / SECOND])
    return rows, max(rows, key=lambda row: row[3])


def thawed(at, every, length):
    """When what would depart at `at` departs from a server that is frozen in [k every, k every +
    length), k = 1, 2, …"""
    if at >= every and at % every < length:
        return at - at % every + length
    return at


def _quantile(values, share):
    return values[max(0, math.ceil(share * len(values)) - 1)]


def stall(bench):
    """`--stall` of 1 s in 10 at 1,000/s."""
    scale = 2 if bench.quick else 1
    every, length, seconds, rate = 10 * SECOND // scale, SECOND // scale, 30 // scale, 1_000
    log = os.path.join(bench.place, "stall.csv")
    stalls = ["--stall", f"{every // 1_000_000}ms:{length // 1_000_000}ms"]
    with servers.target(bench.host, bench.place, *stalls, "--log", log) as server:
        bench.command("stall: server", server.command)
        command = bench.ours.open(server.url(), 64, seconds, rate)
        bench.command("stall", command)
        load = bench.ours.read(bench.host.run(command, server))
    # The same server, which only does not stall.
    options = ["--log", os.path.join(bench.place, "quiet.csv")]
    with servers.target(bench.host, bench.place, *options) as server:
        command = bench.ours.open(server.url(), 64, 5, rate)
        quiet = bench.ours.read(bench.host.run(command, server)).figures["summary"]
    summary = load.figures["summary"]
    due = due_times([(rate, rate, seconds)])
    by_log, wrong, zero = _logged(log, due, every, length)
    by_formula = sorted(thawed(max(0, at - zero), every, length) + zero - at for at in due)
    names = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)]
    rows, off = [], {}
    for name, share in names:
        measured = summary["response_us"][name] / 1000
        formula, logged = (_quantile(of, share) / 1e6 for of in (by_formula, by_log))
        off[name] = measured / logged - 1 if logged > 1 else None
        rows.append([
            name, f"{measured:.3f}", f"{formula:.3f}", f"{logged:.3f}",
            f"{off[name]:+.2%}" if off[name] is not None else "–",
        ])
    p50, unloaded = summary["response_us"]["p50"], quiet["response_us"]["p50"]
    formula = summary["response_us"]["p99"] * 1000 / _quantile(by_formula, 0.99) - 1
    bench.row(
        "`--stall` of 1 s in 10 at 1,000/s: p50, p95, p99, max against the computed truth",
        "p99 within 2%, p50 within 2 × of unloaded", "1%",
        f"p99 {off['p99']:+.2%} (by the formula {formula:+.2%}), p95 {off['p95']:+.2%}, max "
        f"{off['max']:+.2%}; p50 {p50 / unloaded:.2f} × unloaded",
        met=abs(off["p99"]) <= 0.02 and abs(formula) <= 0.02 and p50 <= 2 * unloaded and not wrong,
        goal_met=abs(off["p99"]) <= 0.01 and abs(formula) <= 0.01 and p50 <= 2 * unloaded,
    )
    bench.section("Stall", (
        f"`{' '.join(stalls)}` at {rate:,}/s for {seconds} s, in ms. *Formula*: a request due "
        "in a stall is answered at its end, any other at once, as with connections without end. "
        "*Log*: the departures in the server's log less the due times, in order; they were "
        f"computed again from its arrivals, and {wrong or 'none'} differed. The "
        f"p50 without load was {unloaded:.1f} µs.\n\n"
        + page.table(["", "measured", "formula", "log", "off the log by"], rows)
    ))


def _logged(path, due, every, length):
    """Responses by the server's log, ascending; how many of its departures are wrong; its zero.

    The log counts from the first arrival. When that was by the schedule's clock is the least
    offset by which no request arrives before it is due: right to the fastest way to the server,
    some ten microseconds.
    """
    arrivals, departures, wrong = [], [], 0
    with open(path) as log:
        next(log)
        for line in log:
            arrival, service, depart, _ = map(int, line.split(","))
            wrong += service != 0 or depart != thawed(arrival, every, length)
            arrivals.append(arrival)
            departures.append(depart)
    if len(arrivals) != len(due):
        raise Absent(f"the server's log has {len(arrivals)} lines where {len(due)} were sent")
    zero = max(at - arrival for at, arrival in zip(due, arrivals))
    return sorted(depart + zero - at for depart, at in zip(departures, due)), wrong, zero


def generator_limit(bench):
    """The generator is the limit (30% CPU quota)."""
    quota = Quota(0.3)
    if not quota.path:
        raise Absent("no control group with a CPU quota can be made here")
    place = os.path.join(bench.place, "limited")
    command = [
        bench.ours.program, "load", "URL", "--rate", "100000/s", "--for",
        f"{int(bench.halved(6))}s", "--connections", "64", "--out", place,
    ]
    try:
        with servers.trivial(bench.host, bench.place) as server:
            command[2] = server.url()
            bench.command("the generator is the limit (in a group with 30% of a core)", command)
            used = bench.host.run(command, server, cgroup=quota.path)
    finally:
        quota.close()
    summaries = glob.glob(os.path.join(place, "*", "summary.json"))
    if not summaries:
        raise Absent(f"the limited run left no summary: {used.err.strip()[-200:]}")
    with open(summaries[0]) as file:
        summary = json.load(file)
    because = summary["run"]["invalid_because"]
    said = " ".join((used.out + used.err).split())
    printed = bool(because) and all(one in said for one in because)
    idle = 1 - used.server_share
    bench.row(
        "the generator is the limit (30% CPU quota, server ≥ 40% idle, 100,000/s asked)",
        "exit 5, and why", "–",
        f"exit {used.code}; server {idle:.0%} idle; busy "
        f"{summary['generator']['busy_share']:.0%}; "
        + ("“" + "”, “".join(because) + "”" if because else "no reason")
        + ("" if printed or not because else " (not printed)"),
        met=used.code == 5 and printed and idle >= 0.4,
    )


def server_limit(bench):
    """The server is the limit."""
    options = ["--service-time", "const:10ms", "--workers", "1"]
    with servers.target(bench.host, bench.place, *options) as server:
        bench.command("the server is the limit: server", server.command)
        command = bench.ours.open(server.url(), rates.CONNECTIONS, int(bench.halved(6)), 500)
        bench.command("the server is the limit", command)
        used = bench.host.run(command, server)
    summary = bench.ours.read(used).figures["summary"]
    valid = summary["run"]["valid"]
    bench.row(
        "the server is the limit (`const:10ms --workers 1`, 500/s asked)",
        "valid, never 5", "–",
        f"exit {used.code}, {'valid' if valid else 'not valid'}; of {summary['offered']:,} due "
        f"{summary['completed']:,} were answered; blame {summary['blame']}",
        met=valid and used.code != 5,
    )
