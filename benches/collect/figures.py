#!/usr/bin/env python3
"""The host's figures by the agent and by the usual tools, side by side, under four known loads.

    figures.py PLIMSOLL [--seconds 30] [--disk FOLDER]

Needs sysstat (sar, sadf), iproute2 (ss, nstat) and root. The loads: a process at a quota of half a core,
writes to a disk, a transfer over the loopback, and 10,000 connections with 50 more opened and closed a
second. The agent samples once a second; sar reads once a second over the same time, nstat at its ends, ss
once in it. A rate of a counter is compared by its mean, and agrees within 1%, or within what it rose by in a
single sample: the two do not begin and end at the same moment. Processor time is a share of all that was
counted, as sar has it. A gauge agrees within 1%, or within what it changed by between two samples.
"""

import argparse
import json
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

ADDRESS = "127.0.0.1:18470"
CONNECTIONS = 10_000
# Within so long sar has started what it needs, and has read for the first time.
STARTS_S = 0.3
LISTENER = """
import selectors, socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=4096)
held = selectors.DefaultSelector()
held.register(listener, selectors.EVENT_READ)
while True:
    for key, _ in held.select():
        if key.fileobj is listener:
            held.register(listener.accept()[0], selectors.EVENT_READ)
        elif not key.fileobj.recv(1 << 20):
            held.unregister(key.fileobj)
            key.fileobj.close()
"""
SENDER = """
import socket, sys, time
stream = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
begin, chunk = time.monotonic(), bytes(1 << 20)
for sent in range(50 * int(sys.argv[2])):
    time.sleep(max(0, begin + sent / 50 - time.monotonic()))
    stream.sendall(chunk)
"""
OPENER = """
import socket, sys, time
at = ("127.0.0.1", int(sys.argv[1]))
held = [socket.create_connection(at) for _ in range(int(sys.argv[3]))]
print("held", flush=True)
begin = time.monotonic()
for opened in range(50 * int(sys.argv[2])):
    time.sleep(max(0, begin + opened / 50 - time.monotonic()))
    socket.create_connection(at).close()
"""
WRITER = """
import mmap, os, sys, time
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_DIRECT, 0o600)
os.unlink(sys.argv[1])
page, begin = mmap.mmap(-1, 1 << 18), time.monotonic()
for written in range(80 * int(sys.argv[2])):
    time.sleep(max(0, begin + written / 80 - time.monotonic()))
    os.pwrite(file, page, (written % 256) << 18)
"""


def python(source, *words, **others):
    return subprocess.Popen([sys.executable, "-c", source, *map(str, words)], **others)


def at_a_quota(seconds):
    group = pathlib.Path("/sys/fs/cgroup/cpu/plimsoll-bench-quota")
    group.mkdir(exist_ok=True)
    (group / "cpu.cfs_period_us").write_text("10000")
    (group / "cpu.cfs_quota_us").write_text("5000")
    script = f"echo $$ > {group}/cgroup.procs && exec timeout --foreground {seconds} sh -c 'while :; do :; done'"
    return [subprocess.Popen(["sh", "-c", script])]


def disk_writes(seconds, folder):
    return [python(WRITER, folder / "written", seconds)]


def a_transfer(seconds):
    return [listener := python(LISTENER, 18471), time.sleep(0.5), python(SENDER, 18471, seconds)][::2]


def connections(seconds):
    listener = python(LISTENER, 18472)
    time.sleep(0.5)
    opener = python(OPENER, 18472, seconds, CONNECTIONS, stdout=subprocess.PIPE)
    opener.stdout.readline()
    return [listener, opener]


def asked(path):
    with urllib.request.urlopen(f"http://{ADDRESS}{path}", timeout=5) as answer:
        return json.load(answer)


class Value:
    """A figure, and how far one sample may shift it."""

    def __init__(self, value, sample):
        self.value, self.sample = value, sample

    def by(self, factor):
        return Value(self.value * factor, self.sample * factor)


class Agent:
    """What the agent says of a time."""

    def __init__(self, begin, end):
        self.begin, self.end, self.known = begin, end, {}

    def series(self, name):
        if name not in self.known:
            told = asked(f"/json/{name}")
            times = [at / 1e9 for at in told["at_unix_ns"]]
            self.known[name] = [(each.get("labels") or {}, list(zip(times, each["values"]))) for each in told["series"]]
        return self.known[name]

    def inside(self, samples):
        # From when sar and what it starts are there until it ends: its own start is in none of its samples.
        return [(at, value) for at, value in samples if self.begin <= at <= self.end and value is not None]

    def rate(self, name, **labels):
        """The mean rise a second, and how much of it one sample can be."""
        total, most = 0.0, 0.0
        for has, samples in self.series(name):
            if all(has.get(key) in (value if isinstance(value, tuple) else (value,)) for key, value in labels.items()):
                inside = self.inside(samples)
                seconds = inside[-1][0] - inside[0][0]
                total += (inside[-1][1] - inside[0][1]) / seconds
                most += max(b[1] - a[1] for a, b in zip(inside, inside[1:])) / seconds
        return Value(total, most)

    def gauge(self, name, at=None, **labels):
        """The mean, or the value that was there at a moment, and the greatest change of one sample."""
        total, most = 0.0, 0.0
        for has, samples in self.series(name):
            if all(has.get(key) == value for key, value in labels.items()):
                inside = self.inside(samples)
                near = [value for time, value in inside if at is None or abs(time - at) < 0.6]
                total += sum(near) / len(near)
                most += max(abs(b[1] - a[1]) for a, b in zip(inside, inside[1:]))
        return Value(total, most)


def sar_means(file):
    """The mean of each figure of sar's file, by its path in sadf's JSON."""
    said = subprocess.run(["sadf", "-j", file, "--", "-A"], capture_output=True, text=True, check=True)
    sums, times = {}, 0
    def walk(path, node):
        if isinstance(node, dict):
            name = node.get("iface") or node.get("disk-device") or node.get("cpu")
            for key, value in node.items():
                walk(path + ((name,) if name else ()) + (key,), value)
        elif isinstance(node, list):
            for each in node:
                walk(path, each)
        elif isinstance(node, (int, float)):
            sums[path] = sums.get(path, 0) + node
    for host in json.loads(said.stdout)["sysstat"]["hosts"]:
        for each in host["statistics"]:
            times += 1
            walk((), {key: value for key, value in each.items() if key != "timestamp"})
    return {path: total / times for path, total in sums.items()}


def nstat():
    said = subprocess.run(["nstat", "-asz", "--json"], capture_output=True, text=True, check=True)
    return json.loads(said.stdout)["kernel"]


def rows(agent, sar, counted, states, disk):
    """(figure, by the agent, by the other tool, that tool)."""
    all_cpus = agent.rate("node_cpu_seconds_total").value
    share = lambda *modes: agent.rate("node_cpu_seconds_total", mode=modes).by(100 / all_cpus)
    # Where a figure has a path that ends so.
    of = lambda *end: next((value for path, value in sar.items() if path[-len(end):] == end), float("nan"))
    yield "CPU, user %", share("user", "nice"), of("all", "usr") + of("all", "nice"), "sar"
    yield "CPU, system and interrupts %", share("system", "irq", "softirq"), of("all", "sys") + of("all", "irq") + of("all", "soft"), "sar"
    yield "CPU, idle %", share("idle", "iowait"), of("all", "idle") + of("all", "iowait"), "sar"
    yield "context switches /s", agent.rate("node_context_switches_total"), of("process-and-context-switch", "cswch"), "sar"
    yield "forks /s", agent.rate("node_forks_total"), of("process-and-context-switch", "proc"), "sar"
    yield "memory free, kB", agent.gauge("node_memory_MemFree_bytes").by(1 / 1024), of("memory", "memfree"), "sar"
    yield "memory cached, kB", agent.gauge("node_memory_Cached_bytes").by(1 / 1024), of("memory", "cached"), "sar"
    yield "page faults /s", agent.rate("node_vmstat_pgfault"), of("paging", "fault"), "sar"
    yield "disk writes /s", agent.rate("node_disk_writes_completed_total", device=disk), of("io-writes", "wtps"), "sar"
    yield "disk writes kB/s", agent.rate("node_disk_written_bytes_total", device=disk).by(1 / 1024), of(disk, "wkB"), "sar"
    yield "disk busy %", agent.rate("node_disk_io_time_seconds_total", device=disk).by(100), of(disk, "util-percent"), "sar"
    yield "loopback packets /s", agent.rate("node_network_receive_packets_total", device="lo"), of("lo", "rxpck"), "sar"
    yield "loopback kB/s", agent.rate("node_network_receive_bytes_total", device="lo").by(1 / 1024), of("lo", "rxkB"), "sar"
    for ours, theirs in (("Tcp_ActiveOpens", "TcpActiveOpens"), ("Tcp_PassiveOpens", "TcpPassiveOpens"), ("Tcp_OutSegs", "TcpOutSegs"), ("Tcp_RetransSegs", "TcpRetransSegs")):
        yield f"{ours} /s", agent.rate(f"node_netstat_{ours}"), counted[theirs], "nstat"
    at, states = states
    for state, count in sorted(states.items()):
        yield f"sockets {state}", agent.gauge("node_tcp_connection_states", at, state=state), count, "ss"


def socket_states():
    names = {"ESTAB": "established", "LISTEN": "listen", "TIME-WAIT": "time_wait"}
    lines = subprocess.run(["ss", "-Htan"], capture_output=True, text=True, check=True).stdout.splitlines()
    found = [names.get(line.split()[0]) for line in lines]
    return time.time(), {name: found.count(name) for name in names.values()}


def agrees(ours, theirs):
    off = abs(ours.value - theirs)
    return "1%" if off <= 0.01 * abs(theirs) else "a sample" if off <= ours.sample else "NO"


def main():
    asked_for = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked_for.add_argument("plimsoll")
    asked_for.add_argument("--seconds", type=int, default=30)
    asked_for.add_argument("--disk", type=pathlib.Path, default=pathlib.Path("/var/tmp"))
    said = asked_for.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (20_000, 20_000))
    device = subprocess.run(["findmnt", "-nro", "SOURCE", "-T", said.disk], capture_output=True, text=True).stdout.strip()
    disk = pathlib.Path(device).name
    agent = subprocess.Popen([said.plimsoll, "agent", "--listen", ADDRESS])
    loads = {
        "CPU at a quota of 50%": at_a_quota,
        "disk, 80 writes of 256 KiB /s": lambda seconds: disk_writes(seconds, said.disk),
        "transfer, 50 MiB/s": a_transfer,
        "10,000 connections, 50 more /s": connections,
    }
    told = {True: 0, False: 0}
    try:
        time.sleep(3)
        for name, start in loads.items():
            running = start(said.seconds + 8)
            time.sleep(2)
            with tempfile.NamedTemporaryFile(suffix=".sar") as file:
                before, counts_from = nstat(), time.time()
                sar = subprocess.Popen(["sar", "-A", "-o", file.name, "1", str(said.seconds)], stdout=subprocess.DEVNULL)
                time.sleep(STARTS_S)
                begin = time.time()
                time.sleep(said.seconds / 2)
                states = socket_states()
                sar.wait()
                end = time.time()
                after, counts_to = nstat(), time.time()
                counted = {key: (after[key] - before[key]) / (counts_to - counts_from) for key in after}
                means = sar_means(file.name)
            time.sleep(1.5)
            print(f"\n{name}\n  {'figure':32}{'agent':>14}{'other':>14}  tool   within")
            for figure, ours, theirs, tool in rows(Agent(begin, end), means, counted, states, disk):
                verdict = agrees(ours, theirs)
                told[verdict != "NO"] += 1
                print(f"  {figure:32}{ours.value:14.2f}{theirs:14.2f}  {tool:6} {verdict}")
            for process in running:
                # One that goes by a time-out is asked, so that it ends what it has begun.
                process.terminate()
                process.wait()
            time.sleep(2)
    finally:
        agent.send_signal(signal.SIGTERM)
        agent.wait()
        group = pathlib.Path("/sys/fs/cgroup/cpu/plimsoll-bench-quota")
        if group.exists():
            group.rmdir()
    print(f"\n{told[True]} figures agree, {told[False]} do not")


if __name__ == "__main__":
    main()
