#!/usr/bin/env python3
"""A core made slower for all but this program, which takes a share of each millisecond of it in real
time. Unlike a control group's quota it stops a server for less than a millisecond, whatever that did
before.

    slower.py SHARE CORE    until the program that started it has ended (needs root)
"""

import os
import sys
import time

PERIOD_S = 1e-3
PRIORITY = 50


def take(share, core):
    os.sched_setaffinity(0, {core})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    parent, at = os.getppid(), time.monotonic()
    while os.getppid() == parent:
        while time.monotonic() < at + share * PERIOD_S:
            pass
        at = max(at + PERIOD_S, time.monotonic())
        time.sleep(max(at - time.monotonic(), 0.0))


if __name__ == "__main__":
    take(float(sys.argv[1]), int(sys.argv[2]))
