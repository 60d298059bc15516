"""The servers that are asked: our trivial one, nginx, nghttpd. Each in a private folder."""

import os
import signal
import socket
import subprocess
import time

from host import Absent

NGINX = """\
daemon off;
master_process off;
worker_processes 1;
worker_rlimit_nofile 20000;
error_log {folder}/error.log;
pid {folder}/nginx.pid;
events {{ worker_connections 19000; }}
http {{
    access_log off;
    sendfile on;
    tcp_nodelay on;
    keepalive_requests 1000000000;
    keepalive_timeout 600s;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    types {{ text/html html; }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        root {folder}/www;
        location = /s {{ return 200 "x"; }}
        location /nopush/ {{ tcp_nopush on; alias {folder}/www/; }}
        location /push/ {{ tcp_nopush off; alias {folder}/www/; }}
    }}
    server {{
        listen 127.0.0.1:{port2} http2 backlog=4096;
        location = /s {{ return 200 "x"; }}
    }}
}}
"""


def free_port():
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(process, port):
    """Waits until a server accepts connections."""
    for _ in range(200):
        if process.poll() is not None:
            raise Absent(f"the server ended at once, with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise Absent("the server does not answer")


class Server:
    """A server that runs while the `with` block does."""

    def __init__(self, host, command, port, log):
        self.command, self.port, self.host = command, port, host
        self.log = open(log, "wb")

    def __enter__(self):
        self.process = self.host.server(self.command, stdout=self.log, stderr=self.log)
        wait_for(self.process, self.port)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    @property
    def pid(self):
        return self.process.pid

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.port}{path}"


def bare(name):
    """The path of one of the servers of crates/load/examples, where it has been built."""
    path = os.path.join(os.environ.get("SERVERS", ""), name)
    return path if os.access(path, os.X_OK) else None


def trivial(host, place):
    """A server so fast that generators are the limit: ours without service time, if need be."""
    program = bare("trivial")
    if not program:
        return target(host, place)
    port = free_port()
    return Server(host, [program, f"127.0.0.1:{port}"], port, os.path.join(place, "trivial.log"))


def http2_answer(host, place):
    """A server of HTTP/2 that looks at nothing but the heads of frames."""
    program = bare("http2_answer")
    if not program:
        raise Absent("crates/load/examples/http2_answer.rs was not built")
    port = free_port()
    return Server(host, [program, f"127.0.0.1:{port}"], port, os.path.join(place, "answer.log"))


def target(host, place, *options):
    """Our own server; without options it answers one byte at once."""
    port = free_port()
    command = [os.environ["PLIMSOLL"], "target", "--listen", f"127.0.0.1:{port}", *options]
    return Server(host, command, port, os.path.join(place, "target.log"))


def nginx(host, place):
    """nginx as one process, HTTP/1.1 on `.port` and HTTP/2 on `.port2`."""
    program = host.peer("nginx")
    folder = os.path.join(place, "nginx")
    os.makedirs(os.path.join(folder, "www"), exist_ok=True)
    for name, size in (("1k", 1024), ("100k", 100 * 1024)):
        with open(os.path.join(folder, "www", name), "wb") as file:
            file.write(b"x" * size)
    port, port2 = free_port(), free_port()
    config = os.path.join(folder, "nginx.conf")
    with open(config, "w") as file:
        file.write(NGINX.format(folder=folder, port=port, port2=port2))
    server = Server(host, [program, "-c", config, "-p", folder], port, os.path.join(folder, "out"))
    server.port2 = port2
    return server


def nginx_version():
    said = subprocess.run(["nginx", "-v"], capture_output=True, text=True, check=False).stderr
    return said.strip().removeprefix("nginx version: ")


def nghttpd(host, place):
    """The HTTP/2 server of nghttp2, one worker, without TLS."""
    program = host.peer("nghttpd")
    folder = os.path.join(place, "nghttpd")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "s"), "w") as file:
        file.write("x")
    port = free_port()
    command = [program, "--no-tls", "-n", "1", "-d", folder, str(port)]
    return Server(host, command, port, os.path.join(place, "nghttpd.log"))
