"""A network whose delay can be changed while it is in use: a namespace behind a TUN device.

    delayed_network.py NAMESPACE CONTROL

makes the namespace NAMESPACE with the address 10.77.0.2, reachable from 10.77.0.1, prints `ready`,
and carries packets until its standard input ends. The file CONTROL holds the milliseconds that are
added to a round trip. Needs root. Both TUN devices and the namespace are gone when it ends.
"""

import collections
import fcntl
import os
import select
import struct
import subprocess
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
# How often the control file is looked at, seconds.
LOOK = 0.02


def tun(name):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return fd


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def round_trip_added(control):
    try:
        with open(control, encoding="ascii") as file:
            return float(file.read()) / 1e3
    except (OSError, ValueError):
        return 0.0


def carry(here, there, control):
    """Packets in the order they came, each after half of what a round trip has more."""
    queues = {here: (there, collections.deque()), there: (here, collections.deque())}
    stdin = sys.stdin.fileno()
    looked, delay = 0.0, 0.0
    while True:
        now = time.monotonic()
        if now - looked >= LOOK:
            looked, delay = now, round_trip_added(control) / 2
        waiting = [queue[0][0] for _, queue in queues.values() if queue]
        timeout = max(0.0, min([LOOK, *(due - now for due in waiting)]))
        ready, _, _ = select.select([here, there, stdin], [], [], timeout)
        if stdin in ready and not os.read(stdin, 1):
            return
        now = time.monotonic()
        for fd in (here, there):
            to, queue = queues[fd]
            if fd in ready:
                try:
                    while True:
                        queue.append((now + delay, os.read(fd, 65536)))
                except BlockingIOError:
                    pass
            while queue and queue[0][0] <= now:
                os.write(to, queue.popleft()[1])


def main():
    namespace, control = sys.argv[1:]
    # Both of two would be ready, and all that is meant for either would go to the first.
    taken = ["ip", "-oneline", "address", "show", "to", "10.77.0.1"]
    if subprocess.run(taken, check=True, capture_output=True).stdout:
        sys.exit("10.77.0.1 is taken: another such network is here")
    ip("netns", "add", namespace)
    try:
        names = (f"pl{os.getpid()}a", f"pl{os.getpid()}b")
        here, there = tun(names[0]), tun(names[1])
        ip("link", "set", names[1], "netns", namespace)
        ip("address", "add", "10.77.0.1", "peer", "10.77.0.2", "dev", names[0])
        ip("link", "set", names[0], "up")
        within = ["-n", namespace]
        ip(*within, "address", "add", "10.77.0.2", "peer", "10.77.0.1", "dev", names[1])
        ip(*within, "link", "set", names[1], "up")
        ip(*within, "link", "set", "lo", "up")
        print("ready", flush=True)
        carry(here, there, control)
    finally:
        ip("netns", "delete", namespace)


if __name__ == "__main__":
    main()
