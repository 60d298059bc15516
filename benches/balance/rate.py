"""How many requests a second each balancer gives to two servers from one core, what a request takes
of that core, and what it adds to the response time at half of 20,000/s. All run in one go, in
turn, each on core 0; servers and generator are on core 1. Goal for the built-in one: 20,000/s or
more, p99 added at most 1 ms."""

import argparse
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
import tomllib
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHIPPED = HERE / "../../crates/testbed/src/balancers"
KINDS = ["built-in", "nginx", "haproxy"]
PORTS = [18181, 18182]
FRONT = 18180
GOAL = 20_000
TICKS = os.sysconf("SC_CLK_TCK")


def pinned(core, *words, **more):
    return subprocess.Popen(["taskset", "-c", str(core), *words], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, **more)


def filled(text, folder, values):
    """A template of the program, as it fills it in."""
    def choice(found):
        return found[2] if values.get(found[1]) else ""
    text = re.sub(r"{% if vars\.(\w+) %}(.*?){% endif %}", choice, text, flags=re.S)
    known = {"folder": str(folder), "address": "127.0.0.1", "port": str(FRONT)}
    values = {name: known["address"] if name == "listens" else value for name, value in values.items()}
    known |= {f"vars.{name}": str(value) for name, value in values.items()}
    return re.sub(r"{{\s*([\w.]+)\s*}}", lambda found: known[found[1]], text)


def shipped(kind, folder, values):
    recipe = tomllib.loads((SHIPPED / f"{kind}.toml").read_text())
    values = recipe["vars"] | values
    for file in recipe["write"]:
        (folder / file["path"]).write_text(filled(file["text"], folder, values))


def servers(folder):
    """Two servers that answer a byte at once."""
    listens = "".join(f"server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ return 200 'x'; }} }}\n"
                      for port in PORTS)
    conf = folder / "servers.conf"
    conf.write_text(f"""worker_processes 1; pid {folder}/servers.pid; error_log {folder}/servers.log crit;
events {{ worker_connections 4096; }}
http {{ access_log off; keepalive_requests 100000000; client_body_temp_path {folder}/b;
proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
{listens} }}""")
    return pinned(1, "nginx", "-c", str(conf), "-e", f"{folder}/servers.log", "-g", "daemon off;")


def balancer(kind, folder):
    if kind == "built-in":
        named = [f"web-{n}=127.0.0.1:{port}" for n, port in enumerate(PORTS, 1)]
        return pinned(0, os.environ["PLIMSOLL"], "balance", "--listen", f"127.0.0.1:{FRONT}",
                      "--choose", "least-connections", *named)
    if kind == "nginx":
        shipped("nginx", folder, {})
        lines = "\n".join(f"server 127.0.0.1:{port};" for port in PORTS)
        (folder / "upstream.conf").write_text(
            f"upstream pool {{ zone pool 1m; least_conn; {lines} keepalive 256; }}\n")
        return pinned(0, "nginx", "-c", f"{folder}/nginx.conf", "-e", f"{folder}/error.log",
                      "-g", "daemon off;")
    shipped("haproxy", folder, {})
    with (folder / "haproxy.cfg").open("a") as file:
        for n, port in enumerate(PORTS, 1):
            file.write(f"    server web-{n} 127.0.0.1:{port} check inter 1s fall 2 rise 1\n")
    return pinned(0, "haproxy", "-db", "-f", f"{folder}/haproxy.cfg")


def cpu_s(process):
    """Processor time of a process and those that it started."""
    of = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            of[int(entry.name)] = (int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS)
    return sum(used for pid, (parent, used) in of.items() if process.pid in (pid, parent))


def waits(url):
    for _ in range(200):
        try:
            return urllib.request.urlopen(url, timeout=1).read()
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"{url} does not answer")


def ends(process):
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def full(process, seconds):
    """Requests a second by wrk, and microseconds of the balancer's core a request."""
    before = cpu_s(process)
    said = subprocess.run(["taskset", "-c", "1", "wrk", "-t1", "-c64", f"-d{seconds}s",
                           f"http://127.0.0.1:{FRONT}/"], capture_output=True, text=True).stdout
    used = cpu_s(process) - before
    requests = int(re.search(r"(\d+) requests in", said)[1])
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])
    if "Non-2xx" in said or "Socket errors" in said:
        print("errors:", *[line for line in said.splitlines() if "Non-2xx" in line or "Socket" in line])
    return rate, 1e6 * used / requests


def response(url, rate, seconds, folder):
    """Percentiles of the response time at a rate, microseconds."""
    command = ["taskset", "-c", "1", os.environ["PLIMSOLL"], "load", url, "--rate", f"{rate}/s",
               "--for", f"{seconds}s", "--json", "--quiet", "--out", str(folder / "runs")]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    of = json.loads(said)["response_us"]
    return of["p50"], of["p99"]


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="once, 3 s each")
    options.add_argument("--only", default=",".join(KINDS), help="balancers: built-in, nginx, haproxy")
    asked = options.parse_args()
    times, seconds = (1, 3) if asked.quick else (5, 8)
    kinds = [kind for kind in asked.only.split(",") if kind == "built-in" or shutil.which(kind)]
    seen = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory(prefix="plimsoll-rate-") as name:
        serving = servers(Path(name))
        try:
            for turn in range(times):
                waits(f"http://127.0.0.1:{PORTS[0]}/")
                straight = response(f"http://127.0.0.1:{PORTS[0]}/", GOAL // 2, seconds, Path(name))
                for kind in random.Random(turn).sample(kinds, len(kinds)):
                    folder = Path(name) / f"{kind}-{turn}"
                    folder.mkdir()
                    process = balancer(kind, folder)
                    waits(f"http://127.0.0.1:{FRONT}/")
                    rate, cpu_us = full(process, seconds)
                    through = response(f"http://127.0.0.1:{FRONT}/", GOAL // 2, seconds, folder)
                    ends(process)
                    added = [b - a for a, b in zip(straight, through)]
                    seen[kind].append((rate, cpu_us, *added))
        finally:
            ends(serving)
    print(f"| balancer | requests/s by wrk, 64 connections | µs of its core a request | p50 added at {GOAL // 2:,}/s, µs | p99 added, µs |")
    print("| --- | --- | --- | --- | --- |")
    middle = {}
    for kind, rows in seen.items():
        columns = list(zip(*rows))
        middle[kind] = [statistics.median(column) for column in columns]
        cells = [f"{statistics.median(column):,.1f} ({min(column):,.1f} to {max(column):,.1f})"
                 for column in columns]
        print(f"| {kind} | " + " | ".join(cells) + " |")
    if "built-in" in middle:
        rate, cpu_us, _, p99 = middle["built-in"]
        holds = rate >= GOAL and p99 <= 1000
        print("holds" if holds else "does not hold")
        raise SystemExit(0 if holds else 3)


if __name__ == "__main__":
    main()
