"""A worker that does as its argument says, and answers a controller as a real one does else."""
import json
import os
import sys
import threading
import time

LOCK = threading.Lock()
SLICE = json.loads(open(sys.argv[2]).read() or "null")
how = sys.argv[1]


def say(what, before=""):
    with LOCK:
        sys.stdout.write(before + json.dumps(what) + "\n")
        sys.stdout.flush()


def text(line):
    with LOCK:
        sys.stdout.write(line)
        sys.stdout.flush()


def slice_of(number, **more):
    interval = dict(SLICE["interval"], start_ns=number * 250_000_000, len_ns=250_000_000)
    interval.update(more.pop("interval", {}))
    return {"slice": dict(SLICE, number=number, interval=interval, **more)}


def tell(number):
    """What it tells in the place of a slice."""
    if how == "hangs" and number == 2:
        return threading.Event().wait()
    if how == "out of order" and number == 2:
        return say(slice_of(1))
    if how == "of the future" and number == 2:
        return [say(slice_of(n)) for n in range(2, 100_000)]
    if how == "of unknown names" and number == 2:
        event = ["Whole", 9, 200, None, True, 1, 1, 0, 0]
        return say(slice_of(2, interval={"named": [event]}))
    if how == "contradicts itself" and number == 2:
        return text(json.dumps(slice_of(2)).replace('"number": 2', '"number": "x"') + "\n")
    if how == "shouts" and number == 2:
        return text("Broadcast message: this host goes down\n")
    if how == "endless" and number == 2:
        while True:
            text("y" * 65536)
    if how == "floods" and number == 2:
        while True:
            say({"pong": {"sent_ns": 0, "received_ns": 0, "answered_ns": 0}})
    if how == "greets twice" and number == 2:
        return say(GREETING, "plimsoll-worker ")
    if how == "leaves" and number == 2:
        print("no more of this", file=sys.stderr)
        sys.exit(3)
    return say(slice_of(number))


def go_on(at_ns):
    while time.monotonic_ns() < at_ns:
        time.sleep(0.01)
    say({"begun": {"late_ns": 0}})
    number = 0
    while not over.is_set():
        while time.monotonic_ns() < at_ns + (number + 1) * 250_000_000 and not over.is_set():
            time.sleep(0.01)
        try:
            tell(number)
        except SystemExit as end:
            os._exit(end.code)
        number += 1
    say({"ended": {"cpu_ns": 1000, "max_rss_bytes": 2000}})


def cell(attempt, number, **more):
    figures = [{"name": "lost", "bits": number, "low": None, "high": None}]
    of = {"attempt": attempt, "cell": number, "figures": figures, "took_ns": 1000, "run": None,
          "failed": None}
    say({"cell": dict(of, **more)})


def piece(attempt, number, file, base64):
    say({"piece": {"attempt": attempt, "cell": number, "file": file, "base64": base64}})


def execute(lease):
    """Does with a lease what it is told to."""
    attempt, numbers = lease["attempt"], [of["number"] for of in lease["cells"]]
    global leases
    leases += 1
    if how == "dies":
        os._exit(9)
    if how == "is away" and leases == 1:
        silent.set()
        while not os.path.exists(sys.argv[4]):
            time.sleep(0.01)
        silent.clear()
    if how == "is away" and leases == 2:
        while not os.path.exists(os.path.join(os.path.dirname(sys.argv[4]), "all are back")):
            time.sleep(0.01)
    for number in numbers:
        if how == "of another attempt":
            cell(attempt + 1000, number)
        if how == "of another cell":
            cell(attempt, number + 1000)
        if how == "no base64":
            piece(attempt, number, "run", "!")
        if how == "a piece":
            piece(attempt, number, "run", "eHl6")
        if how == "skips" and number == numbers[-1] and leases < 3:
            continue
        cell(attempt, number)
        if how == "twice":
            cell(attempt, number)
    end = {"attempt": attempt, "notes": [f"a note of {sys.argv[2][-1]}"], "fault": None}
    if how == "finds a fault":
        end["fault"] = {"why": "the plan is wrong", "hint": "mend it", "is_usage": True}
    say({"lease_ended": end})
    if how == "twice":
        say({"lease_ended": end})


leases = 0
silent = threading.Event()
over = threading.Event()
line = sys.stdin.readline
if how == "says nothing":
    line()
GREETING = {"version": "other" if how == "of another version" else "1.0", "schema": 4}
say(GREETING, "Welcome to this host\nplimsoll-worker ")
line()
host = {"boot": sys.argv[3] if len(sys.argv) > 3 else "", "network": "n", "processors": ""}
for order in iter(line, ""):
    received = time.monotonic_ns()
    order = json.loads(order)
    if order == "stop" or order == "abort":
        over.set()
        continue
    (kind, value), = order.items()
    if kind == "input":
        print(value, file=sys.stderr)
    elif kind == "job":
        if how == "early":
            say(slice_of(0))
        if how == "refuses":
            say({"refused": {"why": "not here", "hint": None, "is_usage": False}})
        else:
            say({"ready": {"host": host}})
    elif kind == "cells":
        say({"ready": {"host": host}})
    elif kind == "lease":
        threading.Thread(target=execute, args=(value,), daemon=True).start()
    elif kind == "ping" and silent.is_set():
        pass
    elif kind == "ping":
        say({"pong": {"sent_ns": value["sent_ns"], "received_ns": received,
                      "answered_ns": time.monotonic_ns()}})
    elif kind == "begin":
        threading.Thread(target=go_on, args=(value["at_ns"],), daemon=True).start()
    elif kind == "end_at":
        pass
