"""What the engine needs: memory over time, memory of a connection, and the time of an import."""

import gzip
import os
import random
import re
import resource
import statistics
import time

import page
import rates
import samples as samples_file
import servers
from host import memory as memory_of

MIB = 1024


def memory(bench):
    """Resident memory at 20,000/s."""
    seconds = 605 if bench.long else 20 if bench.quick else 60
    with servers.trivial(bench.host, bench.place) as server:
        command = bench.ours.open(server.url(), rates.CONNECTIONS, seconds, rates.OPEN_RATE)
        bench.command("resident memory", command)
        used = bench.host.run(command, server, timeout_s=seconds + 60, watch=memory_of)
    bench.ours.read(used)
    seen = [(second, *found) for second, found in enumerate(used.watched, 1) if found[1]]
    after_ten = next((peak for second, _, peak in seen if second >= 10), None)
    peak = seen[-1][2]
    growth = (peak - after_ten) / MIB
    bench.row(
        "resident memory at 20,000/s", "≤ 16 MB, growth ≤ 1 MB from 10 s to 10 min", "≤ 8 MB",
        f"{peak / MIB:.1f} MiB at most, growth {growth:.2f} MiB from 10 s to {seen[-1][0]} s",
        met=peak * 1024 <= 16e6 and growth * MIB * 1024 <= 1e6,
        goal_met=peak * 1024 <= 8e6 and growth * MIB * 1024 <= 1e6,
    )
    step = max(1, len(seen) // 12)
    lines = seen[::step] + ([seen[-1]] if (len(seen) - 1) % step else [])
    rows = [[second, f"{now / MIB:.2f}", f"{top / MIB:.2f}"] for second, now, top in lines]
    bench.section("Memory", (
        "`VmRSS` and `VmHWM` of the program, which holds its code and its libraries as well.\n\n"
        + page.table(["second", "resident MiB", "peak MiB"], rows)
    ))


def connections(bench):
    """Many keep-alive connections at once."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    many = min(18_000, hard - 1_000)
    found = []
    with servers.trivial(bench.host, bench.place) as server:
        few = _thinking(bench, server, rates.CONNECTIONS)
        for _ in range(2):
            found.append(_thinking(bench, server, many))
        refused = _one_too_many(bench, server, hard)
    rows, met = [], True
    for number, one in enumerate(found, 1):
        each = (one.used.max_rss_kib - few.used.max_rss_kib) * 1024 / (many - rates.CONNECTIONS)
        summary = one.figures["summary"]
        kept = samples_file.of_run(bench.place, summary)
        answered = {sample.connection for sample in kept if sample.done and not sample.error}
        met &= len(answered) == many and summary["connections"]["opened"] == many
        met &= one.used.code in (0, 5) and not summary["errors"]
        rows.append([
            ("first", "at once again")[number - 1], f"{summary['connections']['opened']:,}",
            f"{len(answered):,}", summary["errors"] or "none", f"{each:.0f}",
            "; ".join(summary["run"]["invalid_because"]) or "yes",
        ])
    bench.row(
        f"{many:,} keep-alive connections at once, and the run again at once",
        "every one answers", "–",
        f"{rows[0][2]}, then {rows[1][2]} answered; {rows[0][4]} bytes a connection",
        met=met,
    )
    code, said, sent = refused
    bench.row(
        f"one connection more than {hard:,} descriptors allow", "2 or 4, what is needed and how",
        "–", f"exit {code}: “{said}”", met=code in (2, 4) and "descriptor" in said and not sent,
    )
    head = ["", "opened", "answered", "errors", "bytes each", "valid"]
    bench.section("Connections", (
        "Users who think `uniform:0s..5s`, one connection each. Bytes are the program's resident "
        "memory beyond that of 64 connections; the kernel's own are not in it.\n\n"
        + page.table(head, rows)
    ))


def _thinking(bench, server, users):
    command = bench.ours.command(
        server.url(), "--users", str(users), "--connections", str(users),
        "--think", "uniform:0s..5s", "--for", "12s", "--samples",
    )
    bench.command(f"{users:,} connections", command)
    return bench.ours.read(bench.host.run(command, server))


def _one_too_many(bench, server, hard):
    """Asks for one connection more than the descriptors allow."""
    check = [bench.ours.program, "load", server.url(), "--rate", "10/s", "--for", "1s", "--check"]
    said = bench.host.run([*check, "--connections", "1000"]).out
    needed = re.search(r"descriptors\s+([\d,]+)", said)
    extra = int(needed.group(1).replace(",", "")) - 1000 if needed else 0
    command = bench.ours.open(server.url(), hard - extra + 1, 1, 10)
    bench.command("one connection too many", command)
    used = bench.host.run(command, server)
    message = " ".join((used.err.strip() or used.out.strip()[:200]).split())
    return used.code, message, '"sent"' in used.out


FORMATS = {
    "Common": '{ip} - - [{day}] "GET {url} HTTP/1.1" 200 {size}\n',
    "Combined": (
        '{ip} - - [{day}] "GET {url} HTTP/1.1" 200 {size} "http://h/" "Mozilla/5.0 (X11; Linux)"\n'
    ),
    "Squid": (
        "{at:.3f} {ms:6d} {ip} TCP_MISS/200 {size} GET http://h{url} - DIRECT/10.0.0.1 text/html\n"
    ),
}


def _write_log(path, form, lines):
    """A log of a day that draws from 120,000 URLs; the same bytes every time."""
    draw = random.Random(1)
    urls = [f"/page/{one:x}/{'abcdefgh'[one % 8] * (one % 23)}" for one in range(120_000)]
    start = 1_700_000_000
    with open(path, "w") as file:
        day, last = "", -1
        for number in range(lines):
            at = start + number * 86_400 / lines
            if int(at) != last:
                last = int(at)
                day = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(last))
            file.write(form.format(
                ip=f"10.0.{number % 251}.{number % 241}", day=day, at=at, ms=number % 900,
                url=urls[int(120_000 * draw.random() ** 3)], size=number % 9973,
            ))


def imports(bench):
    """Import of access logs."""
    lines = 200_000 if bench.quick else 1_000_000
    rows, met, slowest, largest = [], True, 0.0, 0
    for name, form in FORMATS.items():
        plain = os.path.join(bench.place, f"{name}.log")
        _write_log(plain, form, lines)
        with open(plain, "rb") as source, gzip.open(plain + ".gz", "wb", 6) as packed:
            packed.write(source.read())
        for path in (plain, plain + ".gz"):
            kind = "gzip" if path.endswith(".gz") else "plain"
            out = os.path.join(bench.place, "trace.csv")
            command = [
                bench.ours.program, "trace", "from-log", path, "-o", out,
                "--urls", os.path.join(bench.place, "urls.csv"), "--json",
            ]
            bench.command(f"import: {name}, {kind}", command)
            ran = [bench.host.run(command) for _ in range(bench.rounds)]
            counted = _counted(out)
            took = statistics.median(one.wall_s for one in ran)
            peak = max(one.max_rss_kib for one in ran)
            met &= all(one.code == 0 for one in ran) and counted == lines
            slowest, largest = max(slowest, took), max(largest, peak)
            rows.append([
                name, kind, f"{os.path.getsize(path) / 1e6:.0f}",
                page.spread([one.wall_s for one in ran], "{:.2f}"), f"{peak / MIB:.0f}",
                f"{counted:,}",
            ])
        os.remove(plain)
        os.remove(plain + ".gz")
    bound = 2.0 * lines / 1_000_000
    bench.row(
        f"import of {lines:,} lines: time on one core, peak memory", f"{bound:g} s, 50 MB", "–",
        f"{slowest:.2f} s, {largest / MIB:.0f} MiB at most",
        met=met and slowest <= bound and largest * 1024 <= 50e6,
    )
    head = ["format", "", "MB", "seconds", "peak MiB", "requests in the trace"]
    bench.section("Import", page.table(head, rows))


def _counted(path):
    """The requests that a trace holds."""
    with open(path) as file:
        next(file)
        return sum(int(float(line.split(",")[1])) for line in file)
