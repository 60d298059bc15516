#!/usr/bin/env python3
"""What a step costs two builds of the program, which take turns: the other is BASELINE.

    baseline.py URL [--runs 5] [--seconds 3]

URL is that of `plimsoll target --sessions`. Figures are steps a second of the generator's processor time;
the rule is that of benches/builds.py.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import builds

USERS = (1, 32, 256)


def steps(program, url, users, seconds, place):
    """Steps that succeeded by processor second of the kernel's own account."""
    command = [
        "taskset", "-c", "0", program, "load", url, "--scenario", f"{HERE}/steps.toml",
        "--users", str(users), "-t", "1", "--for", f"{seconds}s", "--json", "--quiet",
        "--out", place,
    ]
    with tempfile.TemporaryFile("w+") as out:
        going = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out)
        _, status, used = os.wait4(going.pid, 0)
        going.returncode = os.waitstatus_to_exitcode(status)
        # 5: the generator was busy all the time, which is what is asked for.
        if going.returncode not in (0, 5):
            sys.exit(f"no figures: {program} ended with {going.returncode}")
        out.seek(0)
        return json.load(out)["succeeded"] / (used.ru_utime + used.ru_stime)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    given = parser.parse_args()
    programs = (builds.before(), os.environ["PLIMSOLL"])
    if not programs[0]:
        sys.exit("BASELINE names no program")
    with tempfile.TemporaryDirectory() as place:

        def row(users):
            figure = lambda program: steps(program, given.url, users, given.seconds, place)
            name = f"steps of {users} users"
            return builds.compare(name, lambda: builds.taking_turns(given.runs, figure, programs))

        return builds.table(map(row, USERS)) > 0


if __name__ == "__main__":
    sys.exit(main())
