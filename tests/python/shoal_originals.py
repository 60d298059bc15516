"""Shoal's own agent and client, as released, with our server over a real RabbitMQ.

    shoal_originals.py PLIMSOLL [VENV]

PLIMSOLL is our program, VENV a virtual environment with shoal-agent 1.0.2 and shoal-client 1.0.4;
where it is absent it is made. All of it runs in namespaces of its own, in which every IPv4 address
is local, /etc is a copy and whatever was started ends with this program. Needs root, RabbitMQ as
Debian packs it and, for VENV, pip's registry; without them it says what is skipped. Ends with 0
only where everything was as it should be.
"""

import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

RABBIT = "/usr/lib/rabbitmq/bin/rabbitmq-server"
PACKAGES = ["shoal-agent==1.0.2", "shoal-client==1.0.4", "netifaces"]
PUBLIC = "142.104.6.10"
# Free, because nobody else is in the namespace.
AMQP_PORT, HTTP_PORT, CACHE_PORT = 5672, 8080, 3128
# How long anything may take, seconds.
MOST = 120


def skip(missing):
    print(f"skipped: shoal_originals: {missing}")
    sys.exit(0)


def outside(plimsoll, venv):
    if os.geteuid() != 0:
        skip("not root")
    if not os.path.exists(RABBIT):
        skip("no rabbitmq-server")
    venv = os.path.abspath(venv)
    if not os.path.exists(f"{venv}/bin/shoal-agent"):
        made = subprocess.run([sys.executable, "-m", "venv", venv])
        pip = [f"{venv}/bin/pip", "install", "--quiet", *PACKAGES]
        if made.returncode or subprocess.run(pip).returncode:
            skip("shoal-agent and shoal-client cannot be had")
    unshare = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    inner = [sys.executable, os.path.abspath(__file__), "inside", os.path.abspath(plimsoll), venv]
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(subprocess.run([*unshare, *inner, folder], timeout=5 * MOST).returncode)


class Cache(http.server.BaseHTTPRequestHandler):
    """A proxy as far as it is asked: any `/cvmfs/REPO/…` is REPO's white list."""

    def do_GET(self):
        repo = re.search(r"/cvmfs/([^/]+)/", self.path)
        body = f"N{repo.group(1) if repo else 'nothing'}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def until(what, is_so):
    end = time.monotonic() + MOST
    while time.monotonic() < end:
        try:
            found = is_so()
        except OSError:
            found = None
        if found:
            return found
        time.sleep(0.2)
    raise SystemExit(f"failed: waited in vain until {what}")


def get(path):
    with urllib.request.urlopen(f"http://127.0.0.1:{HTTP_PORT}{path}", timeout=10) as answer:
        return answer.read().decode()


def prepare(folder):
    """The network, and an /etc of our own."""
    for command in ("link set lo up", f"addr add {PUBLIC}/32 dev lo",
                    "route add local 0.0.0.0/0 dev lo"):
        subprocess.run(["ip", *command.split()], check=True)
    etc = folder / "etc"
    shutil.copytree("/etc", etc, symlinks=True, ignore_dangling_symlinks=True)
    (etc / "shoal").mkdir(exist_ok=True)
    (etc / "hosts").write_text(f"127.0.0.1 localhost\n{PUBLIC} squid.uvic.example\n")
    # Nobody answers at once, where a real resolver would be waited for.
    (etc / "resolv.conf").unlink(missing_ok=True)
    (etc / "resolv.conf").write_text("nameserver 127.0.0.1\n")
    (etc / "shoal/shoal_agent.conf").write_text(
        f"[general]\ninterval = 2\nexternal_ip = {PUBLIC}\n"
        f"[rabbitmq]\namqp_server_url = 127.0.0.1\namqp_port = {AMQP_PORT}\n"
        f"amqp_exchange = shoal\n[logging]\nlog_file = {folder}/agent.log\nlogging_level = DEBUG\n")
    (etc / "shoal/shoal_client.conf").write_text(
        f"[general]\nshoal_server_url = http://127.0.0.1:{HTTP_PORT}/nearest\n"
        "default_squid_proxy = DIRECT\n")
    subprocess.run(["mount", "--bind", etc, "/etc"], check=True)


def start(name, command, folder, **environment):
    log = open(folder / f"{name}.out", "w", encoding="utf-8")
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                            cwd=folder, env={**os.environ, "HOME": str(folder), **environment})


def rabbit(folder):
    (folder / "rabbitmq.conf").write_text(
        f"listeners.tcp.1 = 127.0.0.1:{AMQP_PORT}\nlog.file.level = warning\n")
    (folder / "enabled").write_text("[].")
    start("epmd", ["epmd"], folder)
    return start(
        "rabbit", [RABBIT], folder, RABBITMQ_NODENAME="plimsoll@localhost",
        RABBITMQ_MNESIA_BASE=f"{folder}/db", RABBITMQ_LOG_BASE=f"{folder}/log",
        RABBITMQ_CONFIG_FILE=f"{folder}/rabbitmq", RABBITMQ_CONF_ENV_FILE="/dev/null",
        RABBITMQ_ENABLED_PLUGINS_FILE=f"{folder}/enabled", RABBITMQ_PID_FILE=f"{folder}/pid")


def inside(plimsoll, venv, folder):
    folder = pathlib.Path(folder)
    prepare(folder)
    cache = http.server.ThreadingHTTPServer(("0.0.0.0", CACHE_PORT), Cache)
    threading.Thread(target=cache.serve_forever, daemon=True).start()
    rabbit(folder)
    start("server", [plimsoll, "shoal", "server", "--listen", f"0.0.0.0:{HTTP_PORT}",
                     "--amqp", f"amqp://127.0.0.1:{AMQP_PORT}"], folder)
    connected = lambda: re.search(r'shoal_broker_connected\{[^}]*\} 1', get("/metrics"))
    until("our server hears the broker", connected)
    agent = start("agent", [f"{venv}/bin/shoal-agent"], folder)
    try:
        listed = until("the real agent's cache is listed", lambda: json.loads(get("/nearest/5")))
    finally:
        print((folder / "agent.out").read_text()[-2000:], end="")
    print("listed:", json.dumps(listed))
    renewed = lambda: int(re.search(r"renewed_total (\d+)", get("/metrics")).group(1)) >= 3
    until("it was renewed three times", renewed)
    refused = re.findall(r"^shoal_refused_total.* [1-9][0-9]*$", get("/metrics"), re.M)
    assert not refused, refused
    for flags in (["-d", "-k"], ["-f", "-k"], ["-d", "-k", "-n", "1"]):
        client = subprocess.run([f"{venv}/bin/shoal-client", *flags], capture_output=True,
                                text=True, timeout=MOST, cwd=folder,
                                env={**os.environ, "HOME": str(folder)})
        print("shoal-client", *flags, "->", client.stdout.strip(), client.stderr.strip())
        assert f"{PUBLIC}:{CACHE_PORT}" in client.stdout, (flags, client)
    agent.terminate()
    agent.wait(timeout=MOST)
    print("the real agent 1.0.2 and client 1.0.4 work with our server over a real RabbitMQ")


if __name__ == "__main__":
    if sys.argv[1:2] == ["inside"]:
        inside(*sys.argv[2:])
    elif len(sys.argv) in (2, 3):
        outside(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else "target/shoal-originals")
    else:
        sys.exit(__doc__)
