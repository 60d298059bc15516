"""A server of WebSockets that publishes to all who are connected, and knows when it sent what.

    server.py PORT CLIENTS BROADCASTS EVERY_S

When so many clients are there it publishes so many messages, each with its number and the time, and
sends it to one client after the other, from one that is drawn. Then it prints, as JSON, how long
after its publishing a message was sent: read behind each send(2), by the clock that the message has.
It goes on until it is told to end. It shares no code with what it judges.
"""

import base64
import gc
import hashlib
import json
import math
import random
import select
import signal
import socket
import sys
import time

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def accepted(head):
    """The answer to a client's handshake."""
    fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    key = {name.lower(): value for name, value in fields.items()}[b"sec-websocket-key"]
    proof = base64.b64encode(hashlib.sha1(key.strip() + GUID).digest())
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + proof + b"\r\n\r\n"
    )


def frame(text):
    """A text frame of a server: no mask, and fewer than 126 bytes."""
    payload = text.encode()
    assert len(payload) < 126
    return bytes([0x81, len(payload)]) + payload


class Server:
    def __init__(self, port):
        self.listener = socket.create_server(("127.0.0.1", port), backlog=4096)
        self.listener.setblocking(False)
        self.epoll = select.epoll()
        self.epoll.register(self.listener, select.EPOLLIN)
        self.sockets = {}
        self.heads = {}
        self.clients = []

    def turn(self, wait_s):
        for number, _ in self.epoll.poll(wait_s, 1024):
            if number == self.listener.fileno():
                self.accept()
            else:
                self.read(number)

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except BlockingIOError:
                return
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sockets[client.fileno()] = client
            self.heads[client.fileno()] = b""
            self.epoll.register(client, select.EPOLLIN)

    def read(self, number):
        client = self.sockets[number]
        try:
            data = client.recv(65536)
        except OSError:
            data = b""
        if not data:
            self.epoll.unregister(number)
            del self.sockets[number]
            if client in self.clients:
                self.clients.remove(client)
            client.close()
        elif number in self.heads:
            self.heads[number] += data
            if b"\r\n\r\n" in self.heads[number]:
                client.send(accepted(self.heads.pop(number)))
                self.clients.append(client)

    def publish(self, number):
        """Sends a message to all; returns how long after its publishing each was sent, in ns."""
        first = random.randrange(len(self.clients))
        order = self.clients[first:] + self.clients[:first]
        clock, sent = time.time_ns, []
        at = clock()
        data = frame(json.dumps({"type": "broadcast", "seq": number, "at": str(at)}))
        for client in order:
            client.send(data)
            sent.append(clock() - at)
        return sent


def at(ordered, quantile):
    """The smallest value at or below which so many lie, in microseconds."""
    return ordered[max(0, math.ceil(quantile * len(ordered)) - 1)] / 1e3


def main():
    port, clients, broadcasts, every_s = (float(text) for text in sys.argv[1:5])
    ends = []
    signal.signal(signal.SIGTERM, lambda *_: ends.append(True))
    server = Server(int(port))
    print("listening", flush=True)
    while len(server.clients) < clients and not ends:
        server.turn(0.1)
    gc.disable()
    logs, due = [], time.monotonic() + 1
    while len(logs) < broadcasts and server.clients and not ends:
        server.turn(max(0, due - time.monotonic()))
        if time.monotonic() >= due:
            logs.append(server.publish(len(logs)))
            due += every_s
    every = sorted(ns for log in logs for ns in log)
    spreads = [(log[-1] - log[0]) / 1e3 for log in logs]
    if every:
        print(json.dumps({
            "sent": len(every),
            "latency_us": {
                "p50": at(every, 0.5), "p99": at(every, 0.99),
                "mean": sum(every) / len(every) / 1e3,
            },
            "spread_us": {"mean": sum(spreads) / len(spreads)},
        }), flush=True)
    while not ends:
        server.turn(0.1)


main()
