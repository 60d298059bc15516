"""How much load a core makes: closed and open loop, HTTP/2, and what recording costs."""

import os
import statistics

import page
import servers
from host import Absent
from tools import Ab, H2load, Oha, Wrk, interleaved, peers

CONNECTIONS = 64
OPEN_RATE = 20_000


def _median(loads, figure):
    return statistics.median(figure(one) for one in loads)


def _ratios(loads, of, to):
    """Rate and CPU a request of one tool as multiples of another's."""
    if not loads.get(of) or not loads.get(to):
        return None, None
    rate = _median(loads[of], lambda one: one.rate) / _median(loads[to], lambda one: one.rate)
    cpu = _median(loads[of], lambda one: one.cpu_us) / _median(loads[to], lambda one: one.cpu_us)
    return rate, cpu


def _versions(bench, tools, absent):
    for tool in [bench.ours, *tools]:
        if tool.name not in bench.versions:
            bench.versions[tool.name] = tool.version()
    for name in absent:
        bench.versions[name] = "not installed"


def _closed(bench, server, url, what):
    """The closed loop of every tool that is there."""
    tools, absent = peers(bench.host, Wrk, H2load, Ab, Oha)
    _versions(bench, tools, absent)
    commands = []
    for tool in [bench.ours, *tools]:
        command = tool.closed(url, CONNECTIONS, bench.seconds)
        bench.command(f"{what}: {tool.name}", command)
        commands.append((tool, command))
    return interleaved(bench.host, server, commands, bench.rounds)


def _cross_checked(loads):
    """Our own account of CPU time beside the kernel's."""
    ours = loads["plimsoll"]
    own = _median(ours, lambda one: one.figures["summary"]["generator"]["cpu_s"])
    kernel = _median(ours, lambda one: one.used.cpu_s)
    pacing = {one.figures["summary"]["generator"]["pacing"] for one in ours}
    valid = all(one.figures["summary"]["run"]["valid"] for one in ours)
    return (
        f"plimsoll paced itself `{'`, `'.join(sorted(pacing))}`; its summary accounts for "
        f"{own:.2f} s of CPU where the kernel counts {kernel:.2f} s (start and end included); runs "
        f"{'valid' if valid else '**not valid**'}.\n"
    )


def trivial(bench):
    """Closed loop against a trivial server of ours."""
    with servers.trivial(bench.host, bench.place) as server:
        bench.command("trivial server", server.command)
        loads = _closed(bench, server, server.url(), "closed loop, trivial server")
    rate, cpu = _ratios(loads, "plimsoll", "wrk")
    busy = _median(loads["plimsoll"], lambda one: one.used.server_share)
    measured = "wrk is not installed"
    if rate:
        measured = f"{rate:.2f} × wrk; CPU {cpu:.2f} ×"
    if busy >= 0.9:
        measured += f" (the server's core was {busy:.0%} busy: the server limited plimsoll)"
    bench.row(
        "closed loop, trivial server: requests/s; CPU per request", "1.25 × wrk; 0.80 ×",
        "1.35 ×; 0.75 ×", measured,
        met=rate and rate >= 1.25 and cpu <= 0.80,
        goal_met=rate and rate >= 1.35 and cpu <= 0.75,
    )
    bench.section(
        "Closed loop, trivial server",
        f"The server answers one byte at once (`{os.path.basename(server.command[0])}"
        f"{' target' if 'target' in server.command else ''}`). For plimsoll its core was "
        f"{busy:.0%} busy.\n\n"
        + page.loads(loads, "wrk") + "\n" + _cross_checked(loads),
    )


def nginx(bench):
    """Closed loop against nginx."""
    places = [
        ("1 byte", "/s"),
        ("1 KiB, nopush on", "/nopush/1k"),
        ("1 KiB, nopush off", "/push/1k"),
        ("100 KiB, nopush on", "/nopush/100k"),
        ("100 KiB, nopush off", "/push/100k"),
    ]
    parts = []
    with servers.nginx(bench.host, bench.place) as server:
        bench.versions["nginx"] = servers.nginx_version()
        for name, path in places:
            loads = _closed(bench, server, server.url(path), f"closed loop, nginx, {name}")
            rate, cpu = _ratios(loads, "plimsoll", "wrk")
            bench.row(
                f"closed loop, nginx, {name}", "0.95 × wrk", "1.05 ×",
                f"{rate:.2f} × wrk; CPU {cpu:.2f} ×" if rate else "wrk is not installed",
                met=bench.met(rate, least=0.95), goal_met=bench.met(rate, least=1.05),
            )
            parts.append(f"### {name}\n\n" + page.loads(loads, "wrk"))
    text = "nginx as one process, `sendfile on`, no access log, connections kept for ever.\n\n"
    bench.section("Closed loop, nginx", text + "\n".join(parts))


class _Ours:
    """Our program with a pacing, as a tool of its own."""

    def __init__(self, ours, pacing):
        self.ours, self.name, self.pacing = ours, f"plimsoll, {pacing}", pacing

    def open(self, url, connections, seconds, rate):
        return self.ours.open(url, connections, seconds, rate, "--pacing", self.pacing)

    def read(self, used):
        return self.ours.read(used)


def open_loop(bench):
    """Open loop, 20,000/s."""
    tools, absent = peers(bench.host, H2load, Oha)
    _versions(bench, tools, absent)
    tools = [_Ours(bench.ours, "precise"), _Ours(bench.ours, "thrifty"), *tools]
    seconds = int(bench.halved(10))
    with servers.trivial(bench.host, bench.place) as server:
        commands = []
        for tool in tools:
            command = tool.open(server.url(), CONNECTIONS, seconds, OPEN_RATE)
            bench.command(f"open loop: {tool.name}", command)
            commands.append((tool, command))
        loads = interleaved(bench.host, server, commands, bench.rounds)
    _precise_row(bench, loads["plimsoll, precise"])
    _thrifty_row(bench, loads)
    rows = []
    for name, many in loads.items():
        rows.append([
            name,
            page.spread([one.rate for one in many], "{:.0f}"),
            page.spread([one.used.cpu_s / seconds * 10 for one in many], "{:.2f}"),
            _latency(many, "p50"), _latency(many, "p99"),
            page.spread([100 * one.used.foreign_share for one in many], "{:.0f}"),
            f"{max(one.used.max_rss_kib for one in many) / 1024:.0f}",
        ])
    head = ["", "achieved/s", "CPU s per 10 s", "p50 µs", "p99 µs", "foreign %", "peak memory MiB"]
    text = (
        "Latencies are counted from the due time by plimsoll and oha; h2load prints none that can "
        "be compared. CPU includes start and end.\n\n"
    )
    bench.section("Open loop, 20,000/s", text + page.table(head, rows))


def _latency(many, name):
    values = []
    for one in many:
        if "summary" in one.figures:
            values.append(one.figures["summary"]["response_us"][name])
        elif f"{name}_us" in one.figures:
            values.append(one.figures[f"{name}_us"])
    return page.spread(values, "{:.0f}") if values else "–"


def _precise_row(bench, loads):
    summaries = [one.figures["summary"] for one in loads]
    late = {
        name: statistics.median(one["generator"]["lateness_us"][name] for one in summaries) / 1000
        for name in ("p50", "p99")
    }
    response = statistics.median(one["response_us"]["p50"] for one in summaries)
    service = statistics.median(one["service_us"]["p50"] for one in summaries)
    off = response / service - 1
    bench.row(
        "open loop 20,000/s, `precise`: lateness p50, p99; response p50 against service p50",
        "0.05 ms, 0.5 ms; within 20%", "0.03 ms, 0.2 ms",
        f"{late['p50']:.4f} ms, {late['p99']:.3f} ms; {response:.1f} µs against {service:.1f} µs, "
        f"{off:+.1%}",
        met=late["p50"] <= 0.05 and late["p99"] <= 0.5 and abs(off) <= 0.2,
        goal_met=late["p50"] <= 0.03 and late["p99"] <= 0.2 and abs(off) <= 0.2,
    )


def _thrifty_row(bench, loads):
    ours = loads["plimsoll, thrifty"]
    late = statistics.median(
        one.figures["summary"]["generator"]["lateness_us"]["p50"] / 1000 for one in ours
    )
    cpu = {name: _median(many, lambda one: one.used.cpu_s) for name, many in loads.items()}
    mine = cpu["plimsoll, thrifty"]
    ratios = {name: mine / cpu[name] for name in ("oha", "h2load") if name in cpu}
    said = ", ".join(f"{ratio:.2f} × {name}" for name, ratio in ratios.items())
    met = late <= 0.6 and ratios["oha"] <= 1.0 if "oha" in ratios else None
    bench.row(
        "open loop 20,000/s, `thrifty`: lateness p50; CPU",
        "0.6 ms; 1.0 × wrk2 or oha, whichever is less", "1.0 × h2load",
        f"{late:.2f} ms; CPU {said or 'without a peer'}",
        met=met, goal_met=met and bench.met(ratios.get("h2load"), most=1.0),
    )


def http2(bench):
    """HTTP/2, 64 streams over 4 connections."""
    h2load, _ = peers(bench.host, H2load)
    if not h2load:
        raise Absent("h2load is not installed")
    _versions(bench, h2load, [])
    parts, ratios, built = [], {}, True
    starts = [
        ("trivial", servers.http2_answer), ("nghttpd", servers.nghttpd), ("nginx", servers.nginx),
    ]
    for name, start in starts:
        try:
            server = start(bench.host, bench.place)
        except Absent as absent:
            parts.append(f"### {name}\n\nNot measured: {absent}.\n")
            continue
        with server:
            port = getattr(server, "port2", server.port)
            url = f"http://127.0.0.1:{port}/s"
            tools = [*h2load, bench.ours] if built else h2load
            loads = {}
            try:
                loads = _http2_loads(bench, server, tools, url, name)
            except Absent:
                built = False
                loads = _http2_loads(bench, server, h2load, url, name)
        ratios[name] = _ratios(loads, "plimsoll", "h2load")
        parts.append(f"### {name}\n\n" + page.loads(loads, "h2load"))
    rates = [ratios[name][0] for name, _ in starts if ratios.get(name, [None])[0]]
    judged = rates[0] if rates else None
    said = "; ".join(
        f"{ratio[0]:.2f} × h2load, CPU {ratio[1]:.2f} × ({name})"
        for name, ratio in ratios.items() if ratio[0]
    )
    bench.row(
        "HTTP/2, 64 streams over 4 connections, trivial server", "0.7 × h2load", "1.0 ×",
        said or "not built",
        met=bench.met(judged, least=0.7), goal_met=bench.met(judged, least=1.0),
    )
    text = (
        "One byte, without TLS, by prior knowledge. The first server decides; where it is the "
        "limit, as nginx is here, the generators can only be alike.\n\n"
    )
    bench.section("HTTP/2", text + "\n".join(parts))


def _http2_loads(bench, server, tools, url, name):
    commands = []
    for tool in tools:
        command = tool.http2(url, 4, 16, bench.seconds)
        bench.command(f"HTTP/2, {name}: {tool.name}", command)
        commands.append((tool, command))
    return interleaved(bench.host, server, commands, bench.rounds)


class _Recording:
    """Our program with or without keeping every request."""

    def __init__(self, ours, name, *options):
        self.ours, self.name, self.options = ours, name, options

    def read(self, used):
        return self.ours.read(used)


def samples(bench):
    """`--samples` in closed loop."""
    kinds = [
        _Recording(bench.ours, "without"), _Recording(bench.ours, "with --samples", "--samples"),
    ]
    with servers.trivial(bench.host, bench.place) as server:
        commands = []
        for kind in kinds:
            command = bench.ours.closed(server.url(), CONNECTIONS, bench.seconds) + [*kind.options]
            bench.command(f"closed loop, {kind.name}", command)
            commands.append((kind, command))
        loads = interleaved(bench.host, server, commands, bench.rounds)
    rate, _ = _ratios(loads, "with --samples", "without")
    bench.row(
        "`--samples` in closed loop: requests/s", "0.80 × without", "",
        f"{rate:.2f} × without", met=bench.met(rate, least=0.8),
    )
    bench.section("Keeping every request", page.loads(loads, "without"))
