#!/usr/bin/env python3
"""What watching costs: the agent beside node_exporter, and nginx with the agent and without.

    agent.py PLIMSOLL [--pairs 12] [--seconds 20] [--scraped 60]

Needs prometheus-node-exporter and nginx. First both exporters run side by side and are scraped once a
second; told is the processor time and the memory of each, and of the agent also while nobody asks it. Then
nginx, on core 0 with one worker, serves a page of 20 kB, which it compresses, at 70% of what it served a
closed load of 64 users, from core 1: windows with the agent and without it in pairs, in a random order
within each. Told are the processor time a request of nginx and its p99,
each as the mean of the ratios (with over without) and its 95% interval.
"""

import argparse
import json
import math
import os
import pathlib
import random
import signal
import statistics
import subprocess
import tempfile
import time
import urllib.request

TICK = os.sysconf("SC_CLK_TCK")
# Student's t at 97.5%, by degrees of freedom.
T = {1: 12.706, 2: 4.303, 3: 3.182, 5: 2.571, 7: 2.365, 11: 2.201, 15: 2.131, 19: 2.093}


def used(pid):
    """Processor time of a process, seconds."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def ended(process):
    process.send_signal(signal.SIGTERM)
    process.wait()


def scraped(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        return len(answer.read())


def exporters(plimsoll, seconds):
    agent = subprocess.Popen([plimsoll, "agent", "--listen", "127.0.0.1:18473"])
    other = subprocess.Popen(["prometheus-node-exporter", "--web.listen-address=127.0.0.1:18474"], stderr=subprocess.DEVNULL)
    time.sleep(3)
    before = used(agent.pid), used(other.pid)
    begin = time.monotonic()
    for second in range(seconds):
        time.sleep(max(0, begin + second - time.monotonic()))
        sizes = scraped(18473), scraped(18474)
    time.sleep(max(0, begin + seconds - time.monotonic()))
    for name, process, was, size in zip(("agent", "node_exporter"), (agent, other), before, sizes):
        share = (used(process.pid) - was) / seconds
        print(f"{name:14} {100 * share:5.2f}% of a core, {resident(process.pid):5.1f} MiB at most, {size} bytes a page", flush=True)
    ended(other)
    was = used(agent.pid)
    time.sleep(seconds)
    print(f"agent, unasked {100 * (used(agent.pid) - was) / seconds:5.2f}% of a core", flush=True)
    ended(agent)


CONF = """
daemon off; master_process on; worker_processes 1; worker_cpu_affinity 01; pid {0}/pid; error_log {0}/error;
events {{ worker_connections 4096; }}
http {{ access_log off; client_body_temp_path {0}/b; proxy_temp_path {0}/p; fastcgi_temp_path {0}/f;
  uwsgi_temp_path {0}/u; scgi_temp_path {0}/s; keepalive_requests 1000000;
  gzip on; gzip_types text/plain; default_type text/plain;
  server {{ listen 127.0.0.1:18475; location / {{ root {0}; }} }} }}
"""


def load(plimsoll, folder, *words):
    command = ["taskset", "-c", "1", plimsoll, "load", "http://127.0.0.1:18475/page", *words, "-H", "Accept-Encoding: gzip", "--out", folder, "--json", "--quiet"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def ratios(name, values):
    mean = statistics.fmean(values)
    half = T.get(len(values) - 1, 1.96) * statistics.stdev(values) / math.sqrt(len(values))
    print(f"{name:28} {mean:.4f} [{mean - half:.4f}, {mean + half:.4f}]", flush=True)


def served(plimsoll, pairs, seconds):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        pathlib.Path(folder, "page").write_text("".join(f"{line * 7919 % 10007} is a line of the page\n" for line in range(700)))
        pathlib.Path(folder, "conf").write_text(CONF.format(folder))
        nginx = subprocess.Popen(["nginx", "-e", f"{folder}/error", "-c", f"{folder}/conf"])
        time.sleep(1)
        worker = int(subprocess.run(["pgrep", "-P", str(nginx.pid)], capture_output=True, text=True, check=True).stdout)
        closed = load(plimsoll, f"{folder}/runs", "--users", "64", "--for", "8s", "--warm-up", "2s")
        rate = int(0.7 * closed["rate_mean"])
        print(f"nginx: 70% of its capacity is {rate} requests/s", flush=True)
        costs, tails = [], []
        rng = random.Random(1)
        for _ in range(pairs):
            found = {}
            for with_agent in rng.sample((True, False), 2):
                agent = with_agent and subprocess.Popen([plimsoll, "agent", "--listen", "127.0.0.1:18473"])
                before = used(worker)
                run = load(plimsoll, f"{folder}/runs", "--rate", f"{rate}/s", "--for", f"{seconds}s")
                found[with_agent] = ((used(worker) - before) / run["completed"], run["response_us"]["p99"])
                if agent:
                    ended(agent)
            costs.append(found[True][0] / found[False][0])
            tails.append(found[True][1] / found[False][1])
            print(f"  {costs[-1]:.4f} processor time a request, {tails[-1]:.3f} p99 ({found[False][1]} us without)", flush=True)
        ratios("processor time a request", costs)
        ratios("p99", tails)
        ended(nginx)


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("plimsoll")
    asked.add_argument("--pairs", type=int, default=12)
    asked.add_argument("--seconds", type=int, default=20)
    asked.add_argument("--scraped", type=int, default=60)
    said = asked.parse_args()
    exporters(said.plimsoll, said.scraped)
    served(said.plimsoll, said.pairs, said.seconds)


if __name__ == "__main__":
    main()
