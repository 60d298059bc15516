"""The generators: how each is called for the same load, and what its output says.

All are asked for the same: one thread, keep-alive, so many connections, so long, at a rate or as
fast as answers come. `completed` is what the tool itself counts as answered; CPU time is not asked
of the tools but of the kernel.
"""

import json
import os
import re
import subprocess
from dataclasses import dataclass, field

from host import Absent


@dataclass
class Load:
    """A measured load: the tool's own figures and the kernel's."""

    tool: str
    used: object
    completed: int
    failed: int
    rate: float
    figures: dict = field(default_factory=dict)

    @property
    def cpu_us(self):
        """CPU microseconds a request."""
        return self.used.cpu_s * 1e6 / self.completed if self.completed else float("nan")


def _find(pattern, text, kind=float):
    found = re.search(pattern, text)
    return kind(found.group(1)) if found else None


def _loaded(tool, used, completed, failed, rate, **figures):
    if not completed or rate is None:
        said = (used.err.strip() or used.out.strip())[-300:]
        raise Absent(f"{tool} ended with {used.code} and no figures: {said}")
    return Load(tool, used, completed, failed, rate, figures)


class Plimsoll:
    """This program, or another build of it."""

    def __init__(self, place, program=None, name="plimsoll"):
        self.program = program or os.environ["PLIMSOLL"]
        self.name = name
        self.place = place

    def command(self, url, *options):
        out = os.path.join(self.place, "runs")
        return [self.program, "load", url, *options, "--json", "--quiet", "--out", out]

    def closed(self, url, connections, seconds):
        return self.command(url, "--users", str(connections), "--for", f"{seconds}s")

    def open(self, url, connections, seconds, rate, *options):
        return self.command(
            url, "--rate", f"{rate}/s", "--for", f"{seconds}s", "--connections", str(connections),
            *options,
        )

    def http2(self, url, connections, streams, seconds):
        return self.command(
            url, "--http", "2", "--connections", str(connections), "--streams", str(streams),
            "--users", str(connections * streams), "--for", f"{seconds}s",
        )

    def read(self, used):
        try:
            summary = json.loads(used.out)
        except ValueError:
            return _loaded(self.name, used, 0, 0, None)
        completed, failed = summary["completed"], summary["offered"] - summary["succeeded"]
        rate = summary["rate_mean"]
        return _loaded(self.name, used, completed, failed, rate, summary=summary)

    def version(self):
        return _output([self.program, "--version"])


class Wrk:
    """wrk: closed loop only."""

    name = "wrk"

    def __init__(self, host):
        self.program = host.peer("wrk")

    def closed(self, url, connections, seconds):
        return [self.program, "-t1", f"-c{connections}", f"-d{seconds}s", url]

    def read(self, used):
        completed = _find(r"(\d+) requests in", used.out, int)
        errors = re.findall(r"(?:connect|read|write|timeout) (\d+)", used.out)
        failed = sum(map(int, errors)) + (_find(r"Non-2xx.*: (\d+)", used.out, int) or 0)
        return _loaded(
            self.name, used, completed, failed, _find(r"Requests/sec:\s*([\d.]+)", used.out)
        )

    def version(self):
        return _output([self.program, "-v"]).split(" Copyright")[0]


class H2load:
    """h2load of nghttp2, which paces each connection for itself."""

    name = "h2load"

    def __init__(self, host):
        self.program = host.peer("h2load")

    def closed(self, url, connections, seconds):
        return [self.program, "--h1", "-t1", f"-c{connections}", f"-D{seconds}", url]

    def open(self, url, connections, seconds, rate):
        command = self.closed(url, connections, seconds)
        return command[:-1] + [f"--rps={rate / connections:g}", url]

    def http2(self, url, connections, streams, seconds):
        return [self.program, "-t1", f"-c{connections}", f"-m{streams}", f"-D{seconds}", url]

    def read(self, used):
        completed = _find(r"(\d+) done", used.out, int)
        failed = _find(r"(\d+) failed", used.out, int)
        rate = _find(r"finished in .*?, ([\d.]+) req/s", used.out)
        return _loaded(self.name, used, completed, failed, rate)

    def version(self):
        return _output([self.program, "--version"])


class Ab:
    """ab of Apache: HTTP/1.0 with keep-alive."""

    name = "ab"

    def __init__(self, host):
        self.program = host.peer("ab")

    def closed(self, url, connections, seconds):
        # -t sets -n to 50,000 and must therefore come before it.
        return [
            self.program, "-q", "-k", "-t", str(seconds), "-n", "10000000", "-c", str(connections),
            url,
        ]

    def read(self, used):
        completed = _find(r"Complete requests:\s*(\d+)", used.out, int)
        failed = _find(r"Failed requests:\s*(\d+)", used.out, int)
        rate = _find(r"Requests per second:\s*([\d.]+)", used.out)
        return _loaded(self.name, used, completed, failed, rate)

    def version(self):
        return _find(r"Version ([\d.]+)", _output([self.program, "-V"], 5), str)


class Oha:
    """oha, with the option that measures from the due time."""

    name = "oha"

    def __init__(self, host):
        self.program = host.peer("oha")

    def closed(self, url, connections, seconds):
        return [
            self.program, "--no-tui", "--output-format", "json", "-c", str(connections),
            "-z", f"{seconds}s", url,
        ]

    def open(self, url, connections, seconds, rate):
        command = self.closed(url, connections, seconds)
        return command[:-1] + ["-q", str(rate), "--latency-correction", url]

    def read(self, used):
        try:
            said = json.loads(used.out)
        except ValueError:
            return _loaded(self.name, used, 0, 0, None)
        statuses = said["statusCodeDistribution"]
        completed = sum(statuses.values())
        failed = completed - statuses.get("200", 0)
        percentiles = said["latencyPercentiles"]
        return _loaded(
            self.name, used, completed, failed, said["summary"]["requestsPerSec"],
            p50_us=percentiles["p50"] * 1e6, p99_us=percentiles["p99"] * 1e6,
        )

    def version(self):
        return _output([self.program, "--version"])


def _output(command, lines=1):
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    said = (ran.stdout or ran.stderr).strip()
    return " ".join(said.splitlines()[:lines])


def peers(host, *kinds):
    """Those of the kinds that are installed, and the names of those that are not."""
    there, absent = [], []
    for kind in kinds:
        try:
            there.append(kind(host))
        except Absent:
            absent.append(kind.name)
    return there, absent


def interleaved(host, server, commands, rounds, **options):
    """Runs each tool once a round, the first one another each time; loads by tool's name.

    `commands` are pairs of tool and command.
    """
    loads = {tool.name: [] for tool, _ in commands}
    for turn in range(rounds):
        at = turn % len(commands)
        for tool, command in commands[at:] + commands[:at]:
            try:
                loads[tool.name].append(tool.read(host.run(command, server, **options)))
            except Absent as absent:
                if tool.name.startswith("plimsoll"):
                    raise
                print(f"  {absent}", flush=True)
    return {name: many for name, many in loads.items() if many}
