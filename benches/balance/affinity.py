"""1,000 clients, each with an address of its own: how many are given to the same of eight servers
before and after a ninth joins. Goal for the built-in balancer: 80% or more."""

import argparse
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from rate import FRONT, KINDS, ends, pinned, shipped, waits

PORTS = range(18191, 18200)
CLIENTS = 1000
NGINX = "upstream pool {{ zone pool 1m; hash $remote_addr consistent; {} keepalive 256; }}\n"


def servers(folder):
    listens = "".join(f"server {{ listen 127.0.0.1:{port}; location / {{ return 200 '{port}'; }} }}\n"
                      for port in PORTS)
    conf = folder / "servers.conf"
    conf.write_text(f"""worker_processes 1; pid {folder}/servers.pid; error_log {folder}/servers.log crit;
events {{ worker_connections 4096; }}
http {{ access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; {listens} }}""")
    return pinned(1, "nginx", "-c", str(conf), "-e", f"{folder}/servers.log", "-g", "daemon off;")


def order(path, line):
    """Gives an order to a control socket; the answer is its first line."""
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(str(path))
        control.sendall(f"{line}\n".encode())
        return control.makefile().readline()


def upstream(folder, ports):
    lines = " ".join(f"server 127.0.0.1:{port} weight=10;" for port in ports)
    (folder / "upstream.conf").write_text(NGINX.format(lines))


def haproxy_server(folder, port):
    for line in (f"add server pool/web-{port} 127.0.0.1:{port} id {port} weight 100", f"enable server pool/web-{port}"):
        order(folder / "control", line)


def start(kind, folder):
    """The balancer with all servers but the last, and what adds that."""
    first, last = PORTS[:-1], PORTS[-1]
    if kind == "built-in":
        process = pinned(0, os.environ["PLIMSOLL"], "balance", "--listen", f"127.0.0.1:{FRONT}",
                         "--choose", "client-address", "--control", f"{folder}/control",
                         *[f"web-{port}=127.0.0.1:{port}" for port in first])
        add = {"do": "add", "name": f"web-{last}", "address": f"127.0.0.1:{last}"}
        return process, lambda: order(folder / "control", json.dumps(add))
    if kind == "nginx":
        shipped("nginx", folder, {})
        upstream(folder, first)
        process = pinned(0, "nginx", "-c", f"{folder}/nginx.conf", "-e", f"{folder}/error.log",
                         "-g", "daemon off;")

        def add():
            upstream(folder, PORTS)
            process.send_signal(1)
            time.sleep(1)
        return process, add
    shipped("haproxy", folder, {"rule": "source", "hash": "consistent sdbm avalanche"})
    process = pinned(0, "haproxy", "-db", "-f", f"{folder}/haproxy.cfg")
    for _ in range(100):
        if (folder / "control").exists():
            break
        time.sleep(0.05)
    for port in first:
        haproxy_server(folder, port)
    return process, lambda: haproxy_server(folder, last)


def given_to():
    """The server of each client."""
    of = []
    for n in range(CLIENTS):
        source = (f"127.1.{n // 250}.{n % 250 + 1}", 0)
        with socket.create_connection(("127.0.0.1", FRONT), timeout=5, source_address=source) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: pool\r\nConnection: close\r\n\r\n")
            answer = client.makefile().read()
        of.append(answer.rstrip().rsplit("\n", 1)[-1].strip())
    return of


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default=",".join(KINDS), help="balancers: built-in, nginx, haproxy")
    asked = options.parse_args()
    kinds = [kind for kind in asked.only.split(",") if kind == "built-in" or shutil.which(kind)]
    print("| balancer | the same server | moved to the newcomer | moved elsewhere |")
    print("| --- | --- | --- | --- |")
    holds = True
    with tempfile.TemporaryDirectory(prefix="plimsoll-affinity-") as name:
        serving = servers(Path(name))
        try:
            waits(f"http://127.0.0.1:{PORTS[0]}/")
            for kind in kinds:
                folder = Path(name) / kind
                folder.mkdir()
                process, add = start(kind, folder)
                waits(f"http://127.0.0.1:{FRONT}/")
                before = given_to()
                assert before == given_to(), "a client has the same server while nothing changes"
                add()
                after = given_to()
                ends(process)
                same = sum(a == b for a, b in zip(before, after))
                new = sum(a != b == str(PORTS[-1]) for a, b in zip(before, after))
                print(f"| {kind} | {100 * same / CLIENTS:.1f}% | {100 * new / CLIENTS:.1f}% "
                      f"| {100 * (CLIENTS - same - new) / CLIENTS:.1f}% |", flush=True)
                holds &= kind != "built-in" or same >= 0.8 * CLIENTS
        finally:
            ends(serving)
    print("holds" if holds else "does not hold")
    raise SystemExit(0 if holds else 3)


if __name__ == "__main__":
    main()
