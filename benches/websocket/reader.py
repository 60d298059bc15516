"""Clients that only read, and tell the spread of what they have read: from its first receipt to its
last, by the kernel's stamps of arrival.

    reader.py PORT CLIENTS RATE BROADCASTS

Prints, as JSON, the spread of each message, when all clients have had all of them or half a minute
has passed without one; goes on until it is told to end. It shares no code with what it judges.
"""

import gc
import json
import re
import select
import signal
import socket
import struct
import sys
import time

# asm-generic/socket.h; Python has no names for them.
SO_TIMESTAMPNS = 35
NUMBER = re.compile(rb'"seq": (\d+)')
HELLO = (
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def joined(port):
    client = socket.create_connection(("127.0.0.1", port))
    client.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    client.sendall(HELLO)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += client.recv(1)
    assert answer.startswith(b"HTTP/1.1 101"), answer
    client.setblocking(False)
    return client


def stamped(client):
    """What has come, and when the kernel had it, nanoseconds since 1970."""
    data, control, _, _ = client.recvmsg(4096, socket.CMSG_SPACE(16))
    for level, kind, value in control:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
            seconds, nanoseconds = struct.unpack("qq", value)
            return data, seconds * 10**9 + nanoseconds
    raise SystemExit("the kernel stamps no arrivals")


def main():
    port, clients, rate, broadcasts = (int(text) for text in sys.argv[1:5])
    ends = []
    signal.signal(signal.SIGTERM, lambda *_: ends.append(True))
    epoll, sockets, began = select.epoll(), {}, time.monotonic()
    for number in range(clients):
        client = joined(port)
        sockets[client.fileno()] = client
        epoll.register(client, select.EPOLLIN)
        time.sleep(max(0, began + number / rate - time.monotonic()))
    gc.disable()
    first, last, received = {}, {}, 0
    heard = time.monotonic()
    while received < clients * broadcasts and time.monotonic() < heard + 30 and not ends:
        for number, _ in epoll.poll(0.1, 1024):
            data, at = stamped(sockets[number])
            if not data:
                raise SystemExit("the server has closed a connection")
            heard = time.monotonic()
            for found in NUMBER.finditer(data):
                of = int(found.group(1))
                first[of] = min(first.get(of, at), at)
                last[of] = max(last.get(of, at), at)
                received += 1
    spreads = [(last[of] - first[of]) / 1e3 for of in first]
    mean = sum(spreads) / len(spreads) if spreads else None
    print(json.dumps({"received": received, "spread_us": {"mean": mean}}), flush=True)
    while not ends:
        time.sleep(0.1)


main()
