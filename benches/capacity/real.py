#!/usr/bin/env python3
"""The search on real servers: how far repeated estimates scatter, whether another generator agrees,
whether sizes of a server are told apart, and whether one that saves up is found out.

    real.py [--times N] [--only PART,…] [--servers NAME,…] [--methods METHOD,…] [--window 10s]
            [--most 3m] [--lock FILE]

Parts: repeat (each server, both methods, N times), cross (nginx and Redis behind a link of their own,
at 90% and 110% of the estimate, asked by oha and resp-benchmark), sizes (nginx at 25, 50 and 100% of
a core), burst (an nginx with saved processor time, held). Servers come from the distribution, run on
ports of loopback in folders of their own and on a core of their own, and are ended by their ids.
nginx, Redis and memcached have 30% of that core: with all of it they serve more than one core of a
generator asks. Where others ask, the network is the limit: the clock makes such a line, and it stays
where it is while the speed of a virtual machine's cores changes from one second to the next.
Needs root for control groups (version 1 or 2) and network namespaces. `--lock`: each measurement
holds this file's lock, so that other work (`flock FILE COMMAND`) falls between two of them, never
beside one. Installs the other generators where they are absent, in the user's cache. Writes REAL.md
beside this file.
"""

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PLIMSOLL = os.environ.get("PLIMSOLL", os.path.join(ROOT, "target/release/plimsoll"))
PEERS = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")),
                     "plimsoll/peers")
SERVER_CORE, GENERATOR_CORE = "0", "1"
LONGEST_S = 900


class Absent(Exception):
    """Something that is needed is not there."""


class Alone:
    """Holds the lock of a file, where one is named, while a `with` block runs."""

    file = None

    def __enter__(self):
        self.held = contextlib.ExitStack()
        if self.file:
            lock = self.held.enter_context(open(self.file, "a", encoding="ascii"))
            fcntl.flock(lock, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.held.close()


def program(*names):
    path = f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin:{PEERS}/bin"
    for name in names:
        found = shutil.which(name, path=path)
        if found:
            return found
    raise Absent(f"{names[0]} is not installed")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Group:
    """A control group that limits the processor time of a server."""

    def __init__(self, name, cores, period_us=10_000):
        self.second = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
        base = "/sys/fs/cgroup" if self.second else "/sys/fs/cgroup/cpu"
        self.path = f"{base}/plimsoll-{os.getpid()}-{name}"
        os.mkdir(self.path)
        self.period_us = period_us
        self.limit(cores)

    def write(self, name, value):
        with open(f"{self.path}/{name}", "w", encoding="ascii") as file:
            file.write(str(value))

    def limit(self, cores):
        quota = int(cores * self.period_us)
        if self.second:
            self.write("cpu.max", f"{quota} {self.period_us}")
        else:
            self.write("cpu.cfs_period_us", self.period_us)
            self.write("cpu.cfs_quota_us", quota)

    def enter(self):
        self.write("cgroup.procs", os.getpid())

    def used_s(self):
        """Processor time that its processes have used, seconds."""
        with open(f"{self.path}/cgroup.procs", encoding="ascii") as file:
            pids = file.read().split()
        ticks = 0
        for pid in pids:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                # Behind the name, which may have spaces: user and system time are 14th and 15th.
                fields = file.read().rsplit(")", 1)[1].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def remove(self):
        for _ in range(100):
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.05)


class Link:
    """A host of its own, in a network namespace, whose answers pass a link of so many bits a second.
    The link queues more than all connections of a generator can have under way: nothing is lost."""

    HOST, GENERATOR = "10.79.0.2", "10.79.0.1"

    def __init__(self, rate):
        self.name, self.outside = f"plimsoll-{os.getpid()}", f"pl{os.getpid()}"
        self.command = ["ip", "netns", "exec", self.name]
        self.ip("netns", "add", self.name)
        try:
            self.ip("link", "add", self.outside, "type", "veth", "peer", "name", "eth0", "netns", self.name)
            self.ip("addr", "add", f"{self.GENERATOR}/30", "dev", self.outside)
            self.ip("link", "set", self.outside, "up")
            self.ip("-n", self.name, "addr", "add", f"{self.HOST}/30", "dev", "eth0")
            self.ip("-n", self.name, "link", "set", "eth0", "up")
            self.ip("-n", self.name, "link", "set", "lo", "up")
            subprocess.run(["tc", "-n", self.name, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate",
                            rate, "burst", "32kB", "limit", "16mb"], check=True)
        except BaseException:
            self.remove()
            raise

    def ip(self, *words):
        subprocess.run(["ip", *words], check=True)

    def remove(self):
        """A namespace goes only some time after its name, and with it a link that is left to it: the
        next one of that name could not be made then."""
        subprocess.run(["ip", "link", "delete", self.outside], stderr=subprocess.DEVNULL, check=False)
        self.ip("netns", "delete", self.name)


class Server:
    """Processes that serve while a `with` block runs; `url` and the search's arguments."""

    # Bytes of an answer of nginx, and of a value behind a link.
    answer = 1024
    # A search ends after so much load, with what it knows: a server that changes its speed
    # meanwhile, as those of a virtual machine do, may never be known as precisely as asked.
    most = "3m"

    def __init__(self, name, slo, start, more=(), group=None, link=None):
        self.name, self.slo, self.start, self.more = name, slo, start, list(more)
        self.group, self.link, self.processes = group, link, []
        self.host = link.HOST if link else "127.0.0.1"
        self.place = tempfile.mkdtemp(prefix=f"plimsoll-{name}-")
        self.port = free_port()

    def run(self, command, **more):
        enter = self.group.enter if self.group else None
        log = open(f"{self.place}/log", "ab")
        process = subprocess.Popen(
            [*(self.link.command if self.link else []), "taskset", "-c", SERVER_CORE, *command],
            stdout=log, stderr=log, cwd=self.place, preexec_fn=enter, **more,
        )
        self.processes.append(process)

    def wait(self):
        for _ in range(600):
            try:
                socket.create_connection((self.host, self.port), 1).close()
                return
            except OSError:
                if self.processes[-1].poll() is not None:
                    break
                time.sleep(0.05)
        with open(f"{self.place}/log", errors="replace") as log:
            raise Absent(f"{self.name} does not answer: {log.read()[-300:]}")

    def __enter__(self):
        try:
            getattr(self, f"start_{self.name.replace('-', '_')}")()
            self.wait()
            self.prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for limit in filter(None, (self.group, self.link)):
            limit.remove()
        shutil.rmtree(self.place, ignore_errors=True)

    def prepare(self):
        if "://" in self.url and not self.url.startswith("http"):
            values = ["--value-size", f"{self.answer}B"] if self.link else []
            subprocess.run([PLIMSOLL, "prepare", self.url, "--quiet", *values], check=True)

    def write(self, name, text):
        path = f"{self.place}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def nginx(self, locations):
        temporary = "".join(
            f"{kind}_temp_path {self.place}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        configuration = self.write("nginx.conf", f"""\
daemon off; master_process off; worker_processes 1; worker_rlimit_nofile 20000;
error_log {self.place}/error.log; pid {self.place}/nginx.pid;
events {{ worker_connections 8000; }}
http {{
access_log off; keepalive_requests 1000000000; sendfile on; tcp_nodelay on;
{temporary}
server {{ listen {self.host}:{self.port} backlog=4096; root {self.place}/www; {locations} }}
}}
""")
        self.run([program("nginx"), "-p", self.place, "-c", configuration])

    def start_nginx(self):
        self.write("www/index.html", "x" * self.answer)
        os.chmod(self.place, 0o755)
        self.nginx("")
        self.url = f"http://{self.host}:{self.port}/"

    def start_php(self):
        self.write("www/index.php", """\
<?php
// A page of some thousand operations: rows made, sorted, and put out as a table.
$rows = [];
for ($n = 0; $n < 1200; $n++) { $rows[] = [md5($n . $_SERVER['REQUEST_TIME_FLOAT']), $n]; }
usort($rows, fn($a, $b) => $a[0] <=> $b[0]);
echo '<table>';
foreach (array_slice($rows, 0, 50) as [$hash, $n]) { echo "<tr><td>$hash<td>$n"; }
echo '</table>';
""")
        pool = self.write("fpm.conf", f"""\
[global]
error_log = {self.place}/fpm.log
daemonize = no
[www]
user = root
group = root
listen = {self.place}/fpm.sock
pm = static
pm.max_children = 4
pm.max_requests = 0
""")
        fpm = program("php-fpm8.2", "php-fpm8.4", "php-fpm8.3", "php-fpm")
        self.run([fpm, "-R", "-F", "-n", "-y", pool])
        self.nginx(f"""location / {{ fastcgi_pass unix:{self.place}/fpm.sock;
fastcgi_param SCRIPT_FILENAME {self.place}/www/index.php; fastcgi_param REQUEST_METHOD GET; }}""")
        self.url = f"http://127.0.0.1:{self.port}/"

    def start_redis(self):
        self.run([program("redis-server"), "--port", str(self.port), "--bind", self.host,
                  "--protected-mode", "no", "--save", "", "--appendonly", "no"])
        self.url = f"redis://{self.host}:{self.port}"

    def start_memcached(self):
        self.run([program("memcached"), "-l", "127.0.0.1", "-p", str(self.port), "-U", "0",
                  "-u", "root", "-t", "1"])
        self.url = f"memcached://127.0.0.1:{self.port}"

    def start_mariadb(self, *more):
        data = f"{self.place}/data"
        subprocess.run([program("mariadb-install-db"), "--no-defaults", f"--datadir={data}",
                        "--auth-root-authentication-method=normal", "--user=root",
                        "--skip-test-db"], check=True, stdout=subprocess.DEVNULL)
        init = self.write("init.sql", "CREATE DATABASE IF NOT EXISTS bench;\n")
        self.run([program("mariadbd"), "--no-defaults", "--user=root", f"--datadir={data}",
                  f"--socket={self.place}/sock", f"--port={self.port}",
                  "--bind-address=127.0.0.1", "--skip-name-resolve", f"--init-file={init}",
                  "--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync", *more])
        self.url = f"mysql://root@127.0.0.1:{self.port}/bench"

    def start_mariadb_pool(self):
        """With a thread for the core instead of one for each connection."""
        self.start_mariadb("--thread-handling=pool-of-threads", "--thread-pool-size=1")


# Name: SLO, first rate of the ladder, further arguments, share of a core or None.
SERVERS = {
    "nginx": ("p90<20ms", "5000/s", [], 0.3),
    "php": ("p90<50ms", "200/s", [], None),
    "redis": ("p99<20ms", "10000/s", ["--workload", "read-heavy"], 0.3),
    "memcached": ("p99<20ms", "10000/s", ["--workload", "read-heavy"], 0.3),
    "mariadb": ("p99<20ms", "4000/s", ["--workload", "read-heavy"], None),
    "mariadb-pool": ("p99<20ms", "4000/s", ["--workload", "read-heavy"], None),
}


def serve(name, cores=None, **group):
    slo, start, more, share = SERVERS[name]
    cores = cores or share
    limited = Group(f"{name}-{int(cores * 100)}", cores, **group) if cores else None
    return Server(name, slo, start, more, limited)


def search(server, *arguments):
    """The result of one search: its JSON object, and its exit code."""
    with tempfile.TemporaryDirectory() as runs:
        command = ["taskset", "-c", GENERATOR_CORE, PLIMSOLL, "capacity", server.url, "--slo",
                   server.slo, *server.more, "--json", "--out", runs, "--max-time", server.most,
                   *arguments]
        with Alone():
            done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S * 4)
    if not done.stdout.strip():
        raise Absent(f"{server.name}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout), done.returncode


def show(rate):
    return "–" if rate is None else f"{rate:,.0f}/s"


def scatter(rates):
    """Median, and coefficient of variation."""
    if not rates:
        return "–", "–"
    variation = statistics.stdev(rates) / statistics.mean(rates) if len(rates) > 1 else 0.0
    return show(statistics.median(rates)), f"{100 * variation:.1f}%"


def repeat(times, names, methods, window, out):
    out.append(f"## Repeated {times} times\n")
    out.append("| server | SLO | method | median | CV | estimates, precise | load, mean | "
               "above, mean | checks (below held, above broken) |")
    out.append("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in names:
        for method in methods:
            results = []
            try:
                with serve(name) as server:
                    more = ["--start", "100/s"]
                    if method == "ladder":
                        more = ["--start", server.start, "--window", window]
                    for _ in range(times):
                        results.append(search(server, "--search", method, *more)[0])
                        print(name, method, show(results[-1]["estimate_per_s"]),
                              results[-1]["ended"], f"{results[-1]['seconds']:.0f} s", flush=True)
            except Absent as absent:
                print(f"skipped: {absent}", flush=True)
                out.append(f"| {name} | | {method} | not measured: {absent} | | | | | |")
                continue
            found = [r for r in results if r["ended"] == "found"]
            rates = [r["estimate_per_s"] for r in results if r["estimate_per_s"]]
            median, variation = scatter(rates)
            below = sum(r["check"]["below"] == "held" for r in found)
            above = sum(r["check"]["above"] == "broken" for r in found)
            mean = lambda key: statistics.mean([r[key] or 0.0 for r in results])
            checks = f"{below}, {above}" if method == "adaptive" else "–"
            out.append(f"| {name} | {SERVERS[name][0]} | {method} | {median} | {variation} | "
                       f"{len(rates)}, {len(found)} | {mean('seconds'):.0f} s | "
                       f"{mean('seconds_above_estimate'):.1f} s | {checks} |")
    out.append("")


def bound_s(server):
    return float(server.slo.split("<")[1].removesuffix("ms")) / 1e3


# The link of a server that others ask, and the bytes of an answer: some 1,900 a second, of which a
# core serves more than ten times as many.
LINK_MBIT, ANSWER = 160, 10_000
# So long another generator asks, seconds, and so often; and it keeps up where it lacks less than
# this share. A tenth too much is half a second late after 5 s.
ASKED_S = 5
ASKED_TIMES = 3
KEEPS_UP = 0.99
# So many times the last estimate is more than the server can do.
TOO_MUCH = 1.5


def oha(server, rate):
    """The SLO's percentile in seconds as oha sees it, corrected for what waited to be sent."""
    if not shutil.which("oha", path=f"{os.environ['PATH']}:{PEERS}/bin"):
        subprocess.run(["cargo", "install", "oha", "--version", "1.16.0", "--locked", "--root",
                        PEERS], check=True, capture_output=True)
    command = ["taskset", "-c", GENERATOR_CORE, program("oha"), "--no-tui", "-z", f"{ASKED_S}s",
               "-q", f"{rate:.0f}", "--latency-correction", "-c", "64", "--output-format", "json",
               server.url]
    with Alone():
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    return told["latencyPercentiles"][server.slo.split("<")[0]], told["summary"]["requestsPerSec"]


RESP = """
import json, sys
from resp_benchmark import Benchmark
host, port, rate, seconds, size = sys.argv[1:]
benchmark = Benchmark(host=host, port=int(port), cores="0")
benchmark.bench("SET {key sequence 1000} {value " + size + "}", connections=4, seconds=1, quiet=True)
told = benchmark.bench("GET {key uniform 1000}", connections=64, target=int(rate),
                       seconds=int(seconds), quiet=True)
print(json.dumps({"p99_ms": told.p99_latency_ms, "rate": told.qps}))
"""


def resp_benchmark(server, rate):
    """The p99 in seconds as resp-benchmark sees it, the only percentile that it tells, reading at a
    fixed rate. Its requests wait for a free client unseen: what is too much shows in the rate, which
    it does not reach."""
    python = f"{PEERS}/resp-benchmark/bin/python"
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", f"{PEERS}/resp-benchmark"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "resp-benchmark==0.2.5"],
                       check=True)
    command = ["taskset", "-c", GENERATOR_CORE, python, "-c", RESP, server.host,
               str(server.port), f"{rate:.0f}", str(ASKED_S), str(server.answer)]
    with Alone():
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout.strip().splitlines()[-1])
    return told["p99_ms"] / 1e3, told["rate"]


def itself(server, rate):
    """The SLO's percentile in seconds as `plimsoll load` sees it."""
    with tempfile.TemporaryDirectory() as runs:
        command = ["taskset", "-c", GENERATOR_CORE, PLIMSOLL, "load", server.url, "--rate",
                   f"{rate:.0f}/s", "--for", f"{ASKED_S}s", "--arrivals", "poisson", "--json",
                   "--out", runs, *server.more]
        with Alone():
            done = subprocess.run(command, capture_output=True, text=True)
    told = json.loads(done.stdout)
    return told["response_us"][server.slo.split("<")[0]] / 1e6, told["rate_mean"]


class Verdict:
    """Whether the SLO holds at a rate most of the times that it is asked, and what was seen."""

    def __init__(self):
        self.held, self.asked, self.seen = 0, 0, []

    def ask(self, server, asked, rate):
        at_s, reached = asked(server, rate)
        kept_up = reached >= KEEPS_UP * rate
        self.held += at_s <= bound_s(server) and kept_up
        self.asked += 1
        self.seen.append(f"{1e3 * at_s:.1f}" + ("" if kept_up else f" at {show(reached)}"))
        time.sleep(1)

    def most(self):
        return 2 * self.held > self.asked

    def __str__(self):
        word, count = ("held", self.held) if self.most() else ("broken", self.asked - self.held)
        return f"{word} in {count} ({'; '.join(self.seen)} ms)"


def around(server, asked, other, last):
    """What the other generator reaches that asks for too much, an estimate, and what is said directly
    after it at 90% and 110% in turns, then what is reached again: only so can a server that has changed
    be told from the search."""
    before = other(server, TOO_MUCH * last)[1]
    time.sleep(1)
    estimate = search(server, "--start", "100/s")[0]["estimate_per_s"]
    below, above = Verdict(), Verdict()
    for _ in range(ASKED_TIMES):
        below.ask(server, asked, 0.9 * estimate)
        above.ask(server, asked, 1.1 * estimate)
    after = other(server, TOO_MUCH * estimate)[1]
    time.sleep(1)
    return before, estimate, below, above, after


def cross(times, names, out):
    out.append("## Asked by another generator\n")
    out.append(f"Directly after each of {times} estimates {ASKED_TIMES} times {ASKED_S} s at each rate, in "
               "turns, with 64 connections; what is so most times counts; `load` is Plimsoll's own. A rate "
               "is named where it was not reached. *Reached* is what the other generator came to "
               f"that asked for {TOO_MUCH} times the estimate, directly before and after all of that. Answers "
               f"of {ANSWER:,} bytes over a link of {LINK_MBIT} Mbit/s.\n")
    out.append("| server | SLO | generator | reached | estimate | of what was reached | at 90% | at 110% |")
    out.append("| --- | --- | --- | --- | --- | --- | --- | --- |")
    asks = (("nginx", "oha", oha, []),
            ("redis", "resp-benchmark", resp_benchmark,
             ["--workload", "read-only", "--value-size", f"{ANSWER}B"]))
    for name, generator, ask, more in asks:
        if name not in names:
            continue
        right = {key: [0, 0] for key in (generator, "load")}
        try:
            # A tenth of the answers, not a hundredth: with p99 it is a stall of the machine in 5 s,
            # or none, that decides.
            server = Server(name, "p90<20ms", "", more, link=Link(f"{LINK_MBIT}mbit"))
            server.answer = ANSWER
            with server:
                last = search(server, "--start", "100/s")[0]["estimate_per_s"]
                for _ in range(times):
                    for key, asked in ((generator, ask), ("load", itself)):
                        before, last, below, above, after = around(server, asked, ask, last)
                        right[key][0] += below.most()
                        right[key][1] += not above.most()
                        out.append(f"| {name} | {server.slo} | {key} | {show(before)}, {show(after)} | "
                                   f"{show(last)} | {2 * last / (before + after):.1%} | {below} | {above} |")
                        print(out[-1], flush=True)
            for key, (below, above) in right.items():
                out.append(f"| {name} | | {key} | | all {times} | | held in {below} | "
                           f"broken in {above} |")
        except (Absent, subprocess.CalledProcessError, OSError) as absent:
            out.append(f"| {name} | not measured: {absent} | | | | | | |")
            print(out[-1], flush=True)
    out.append("")


def sizes(times, out):
    prices = {0.25: 0.03, 0.5: 0.06, 1.0: 0.12}
    out.append("## Sizes of a server\n")
    out.append("nginx with a share of a core (period 10 ms); prices are examples.\n")
    out.append("| core | estimates | median | CV | price | per million requests |")
    out.append("| --- | --- | --- | --- | --- | --- |")
    for cores, price in prices.items():
        try:
            with serve("nginx", cores) as server:
                rates = [search(server, "--start", "400/s")[0]["estimate_per_s"]
                         for _ in range(times)]
        except Absent as absent:
            out.append(f"| {cores:.0%} | not measured: {absent} | | | | |")
            continue
        rates = [rate for rate in rates if rate]
        median, variation = scatter(rates)
        each = ", ".join(show(rate) for rate in rates)
        cost = 1e6 * price / (3600 * statistics.median(rates))
        out.append(f"| {cores:.0%} | {each} | {median} | {variation} | {price}/h | {cost:.6f} |")
        print(out[-1], flush=True)
    out.append("")


class Saver:
    """Credits as burstable instances have them: the quota is high while there are some. The
    kernel's own burst (`cpu.cfs_burst_us`) saves no more than one period's quota, which no window
    sees."""

    def __init__(self, group, high, low, saved_s):
        self.group, self.high, self.low, self.saved_s = group, high, low, saved_s
        self.left, self.used, self.at = saved_s, group.used_s(), time.monotonic()
        self.now = high

    def look(self):
        used, at = self.group.used_s(), time.monotonic()
        self.left += self.low * (at - self.at) - (used - self.used)
        self.left = max(0.0, min(self.left, self.saved_s))
        self.used, self.at = used, at
        # Spent, it runs at the baseline until some are earned again.
        wanted = self.high if self.left > (0.0 if self.now == self.high else 0.5) else self.low
        if wanted != self.now:
            self.group.limit(wanted)
            self.now = wanted


def burst(out):
    out.append("## Saved processor time\n")
    out.append("| server | burst | sustained | exhausted after | held | warnings |")
    out.append("| --- | --- | --- | --- | --- | --- |")
    name, credits = "nginx, 60% of a core for 20 core seconds saved, 20% without", (0.6, 0.2, 20.0)
    try:
        with Alone(), serve("nginx", credits[0]) as server:
            told = held(server, credits)
    except Absent as absent:
        out.append(f"| {name} | not measured: {absent} | | | | |")
        return
    sustained = told["sustained"] or {}
    after = sustained.get("exhausted_after_s")
    out.append(f"| {name} | {show(sustained.get('burst_per_s'))} | "
               f"{show(sustained.get('sustained_per_s'))} | "
               f"{'–' if after is None else f'{after:.0f} s'} | "
               f"{sustained.get('held_s', 0):.0f} s | {'; '.join(told['warnings'])} |")
    print(out[-1], flush=True)
    out.append("")


def held(server, credits):
    """A search that holds what it found for two minutes, of a server with credits."""
    with tempfile.TemporaryDirectory() as runs:
        command = ["taskset", "-c", GENERATOR_CORE, PLIMSOLL, "capacity", server.url, "--slo",
                   server.slo, "--start", "400/s", "--sustain", "2m", "--json", "--out", runs]
        with open(f"{runs}/out", "w+", encoding="utf-8") as told:
            process = subprocess.Popen(command, stdout=told, stderr=subprocess.DEVNULL)
            saver = Saver(server.group, *credits)
            while process.poll() is None:
                saver.look()
                time.sleep(0.05)
            told.seek(0)
            text = told.read()
    if not text.strip():
        raise Absent(f"{server.name}: exit {process.returncode}")
    return json.loads(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--only", default="repeat,cross,sizes,burst")
    parser.add_argument("--servers", default=",".join(SERVERS))
    parser.add_argument("--methods", default="adaptive,ladder")
    parser.add_argument("--most", default="3m", help="the most load of a search")
    parser.add_argument("--window", default="10s", help="the ladder's windows")
    parser.add_argument("--lock", help="a file whose lock each measurement holds")
    parser.add_argument("--output", default=os.path.join(HERE, "REAL.md"))
    arguments = parser.parse_args()
    Server.most = arguments.most
    Alone.file = arguments.lock
    out = ["# Searches on real servers\n"]
    command = "benches/capacity/real.py " + " ".join(sys.argv[1:])
    out.append(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, by `{command.strip()}`: the "
               "server on one core, the search on the other.\n")
    parts = arguments.only.split(",")
    if "repeat" in parts:
        names, methods = arguments.servers.split(","), arguments.methods.split(",")
        repeat(arguments.times, names, methods, arguments.window, out)
    if "cross" in parts:
        cross(min(arguments.times, 4), arguments.servers.split(","), out)
    if "sizes" in parts:
        sizes(min(arguments.times, 3), out)
    if "burst" in parts:
        burst(out)
    with open(arguments.output, "w", encoding="utf-8") as file:
        file.write("\n".join(out).rstrip() + "\n")
    print(f"written: {arguments.output}")


if __name__ == "__main__":
    main()
