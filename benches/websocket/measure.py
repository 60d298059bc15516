"""Measures the WebSocket driver: prints the tables of RESULTS.md.

    measure.py SECONDS CONNECTIONS CLIENTS

PLIMSOLL names the program, ARTILLERY that of Artillery where there is one. The generator has core 0,
the server core 1.
"""

import glob
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.environ["PLIMSOLL"]
GENERATOR, SERVER = "0", "1"
ARTILLERY_CONNECTIONS = 1000
JOIN_RATE = 2000
TSUNG_JOIN_RATE = 500
BROADCASTS, EVERY_S = 24, 1.0


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def start(core, command, **options):
    options = {"stdin": subprocess.DEVNULL, "text": True, **options}
    return subprocess.Popen(["taskset", "-c", core, *command], **options)


def family(pid):
    """A process and those that come of it."""
    parents = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as text:
                fields = text.read().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        parents.setdefault(int(fields[1]), []).append(int(path.split("/")[2]))
    found, ahead = [], [pid]
    while ahead:
        of = ahead.pop()
        found.append(of)
        ahead += parents.get(of, [])
    return found


def resident(pid):
    """What of a process and those that come of it is in memory, MB (VmRSS)."""
    kib = 0
    for of in family(pid):
        try:
            with open(f"/proc/{of}/status") as text:
                found = re.search(r"VmRSS:\s+(\d+)", text.read())
        except OSError:
            continue
        kib += int(found.group(1)) if found else 0
    return kib / 1000


def watched(command, **options):
    """Runs a generator to its end; its output, processor seconds by the kernel's own account of it
    and of those that came of it, and greatest memory."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        going = start(GENERATOR, command, stdout=out, stderr=err, **options)
        memory, ended = 0.0, (0, 0, None)
        while not ended[0]:
            memory = max(memory, resident(going.pid))
            time.sleep(0.5)
            ended = os.wait4(going.pid, os.WNOHANG)
        going.returncode = os.waitstatus_to_exitcode(ended[1])
        out.seek(0)
        err.seek(0)
        return out.read(), err.read(), ended[2].ru_utime + ended[2].ru_stime, memory


class Target:
    """`plimsoll target --websocket`, which counts what it receives."""

    def __enter__(self):
        self.port = free_port()
        command = [PROGRAM, "target", "--websocket", "--listen", f"127.0.0.1:{self.port}", "--json"]
        self.going = start(SERVER, command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.going.stderr.readline()
        return self

    def counted(self):
        self.going.send_signal(signal.SIGTERM)
        return json.loads(self.going.communicate()[0])

    def __exit__(self, *_):
        if self.going.poll() is None:
            self.going.kill()
            self.going.wait()


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def echoed(program, seconds, connections, place):
    """What our program tells of its echoes, what the server counted, processor seconds, memory."""
    warm_up = math.ceil(connections / JOIN_RATE) + 2
    with Target() as target:
        out, err, cpu, memory = watched([
            program, "load", f"ws://127.0.0.1:{target.port}/", "--scenario", f"{HERE}/echo.toml",
            "--users", str(connections), "--connect-rate", f"{JOIN_RATE}/s", "--threads", "1",
            "--warm-up", f"{warm_up}s", "--for", f"{seconds}s", "--json", "--quiet", "--out", place,
        ])
        counted = target.counted()
    try:
        return json.loads(out), counted, cpu, memory
    except ValueError:
        sys.exit(f"plimsoll has no figures: {err[-500:]}")


def echo_ours(seconds, connections, place):
    summary, counted, cpu, memory = echoed(PROGRAM, seconds, connections, place)
    echo = next(of for of in summary["by_name"] if of["name"] == "echo")
    rate = echo["succeeded"] / summary["duration_s"]
    failed = echo["count"] - echo["succeeded"]
    row(
        "plimsoll", f"{summary['websocket']['connected']:,}", f"{rate:,.0f}", f"{memory:.0f} MB",
        f"{cpu * 1e6 / counted['received']:.1f} µs", f"{failed}",
    )
    return rate


def echo_tsung(seconds, connections, place):
    if not shutil.which("tsung"):
        row("tsung", "not installed", "", "", "", "")
        return None
    # Who has not come when the time for it is over does not come at all: it has more than it needs.
    join = 2 * math.ceil(connections / TSUNG_JOIN_RATE) + 10
    wait = join + 5
    # It tells what it has counted every ten seconds.
    long = join + wait + max(seconds, 25)
    with Target() as target, open(f"{HERE}/tsung.xml") as template:
        text = template.read()
        for name, value in [
            ("PORT", target.port), ("LONG", long), ("JOIN", join), ("USERS", connections),
            ("RATE", TSUNG_JOIN_RATE), ("WAIT", wait),
        ]:
            text = text.replace(f"@{name}@", str(value))
        plan = os.path.join(place, "tsung.xml")
        with open(plan, "w") as file:
            file.write(text)
        out, err, cpu, memory = watched(
            ["tsung", "-n", "-f", plan, "-l", place, "start"], env={**os.environ, "HOME": place}
        )
        counted = target.counted()
    log = "".join(open(path).read() for path in glob.glob(f"{place}/*/tsung.log"))
    windows = [int(n) / 10 for n in re.findall(r"stats: request (\d+) ", log)]
    if not windows or not counted["received"]:
        row("tsung", "no figures", (out + err).strip()[-80:].replace("\n", " "), "", "", "")
        return None
    rate = max(windows)
    row(
        "tsung", f"{counted['connected']:,}", f"{rate:,.0f}", f"{memory:.0f} MB",
        f"{cpu * 1e6 / counted['received']:.1f} µs", "not told",
    )
    return rate


def echo_artillery():
    artillery = os.environ.get("ARTILLERY")
    if not artillery:
        row("Artillery", "not installed", "", "", "", "")
        return
    with Target() as target:
        settings = {"PORT": str(target.port), "ARTILLERY_DISABLE_TELEMETRY": "true"}
        command = [artillery, "run", "--quiet", f"{HERE}/artillery.yml"]
        out, err, cpu, memory = watched(command, env={**os.environ, **settings})
        counted = target.counted()
    if not counted["received"]:
        row("Artillery", "no figures", (out + err).strip()[-80:].replace("\n", " "), "", "", "")
        return
    row(
        "Artillery", f"{counted['connected']:,}", "does not wait", f"{memory:.0f} MB",
        f"{cpu * 1e6 / counted['received']:.1f} µs", "not told",
    )


def echo(seconds, connections, place):
    print(f"## Echo: one message under way on each of {connections:,} connections\n")
    row("", "connections", "answered a second", "memory", "processor a message", "failed")
    row(*["---"] * 6)
    ours = echo_ours(seconds, connections, place)
    tsung = echo_tsung(seconds, connections, place)
    echo_artillery()
    if tsung:
        print(f"\n{ours / tsung:.1f} times as many as tsung")


def finished(going):
    """The line that a program prints when it has its figures."""
    line = going.stdout.readline()
    if not line:
        sys.exit(f"no figures: {going.args}")
    return json.loads(line)


def ended(going):
    going.send_signal(signal.SIGTERM)
    going.wait(timeout=30)


def broadcast(ours, theirs, place, program=PROGRAM):
    """What our clients and those of reader.py tell of what server.py has published; our memory, and
    our processor seconds."""
    port = free_port()
    command = [sys.executable, f"{HERE}/server.py", port, ours + theirs, BROADCASTS, EVERY_S]
    server = start(SERVER, [str(part) for part in command], stdout=subprocess.PIPE)
    server.stdout.readline()
    rate = JOIN_RATE // 2 if theirs else JOIN_RATE
    long = math.ceil(max(ours, theirs) / rate + BROADCASTS * EVERY_S) + 6
    reader = None
    try:
        if theirs:
            command = [sys.executable, f"{HERE}/reader.py", port, theirs, rate, BROADCASTS]
            reader = start(GENERATOR, [str(part) for part in command], stdout=subprocess.PIPE)
        out, err, cpu, memory = watched([
            program, "load", f"ws://127.0.0.1:{port}/", "--scenario", f"{HERE}/listen.toml",
            "--users", str(ours), "--connect-rate", f"{rate}/s", "--threads", "1",
            "--for", f"{long}s", "--json", "--quiet", "--out", place,
        ])
        try:
            heard = json.loads(out)["websocket"]["broadcast"]
        except (ValueError, KeyError):
            sys.exit(f"plimsoll has no figures: {err[-500:]}")
        return heard, finished(server), finished(reader) if reader else None, memory, cpu
    finally:
        for going in filter(None, [reader, server]):
            if going.poll() is None:
                ended(going)


def bucket_us(us):
    """How wide the buckets are in which our percentiles are told: 256 to a doubling."""
    return 2 ** math.floor(math.log2(us * 1e3)) / 256 / 1e3


def broadcasts(clients, place):
    print(f"\n## Broadcast latency: {clients:,} connections, {BROADCASTS} broadcasts\n")
    heard, server, _, memory, _ = broadcast(clients, 0, place)
    print(f"{heard['received']:,} received of {server['sent']:,} sent, {memory:.0f} MB\n")
    row("", "told", "sent by the server", "off by", "width of a bucket")
    row(*["---"] * 5)
    for name in ("p50", "p99", "mean"):
        told, sent = heard["latency_us"][name], server["latency_us"][name]
        width = "exact" if name == "mean" else f"{bucket_us(sent) / 1e3:.3f} ms"
        row(name, *(f"{us / 1e3:.3f} ms" for us in (told, sent, abs(told - sent))), width)
    half = clients // 2
    print(f"\n## Broadcast spread: {half:,} connections of ours, {half:,} of a client that reads\n")
    heard, _, reader, *_ = broadcast(half, half, place)
    ours, theirs = heard["spread_us"]["mean"], reader["spread_us"]["mean"]
    row("", "received", "first to last, mean")
    row(*["---"] * 3)
    row("plimsoll", f"{heard['received']:,}", f"{ours / 1e3:.3f} ms")
    row("reader.py", f"{reader['received']:,}", f"{theirs / 1e3:.3f} ms")
    print(f"\nThey differ by {abs(ours - theirs) / theirs:.2%}.")


def main():
    seconds, connections, clients = (int(text) for text in sys.argv[1:4])
    with tempfile.TemporaryDirectory() as place:
        echo(seconds, connections, place)
        broadcasts(clients, place)


if __name__ == "__main__":
    main()
